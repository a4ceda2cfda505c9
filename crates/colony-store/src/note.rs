//! Small documents by name, which a role reads back and never queries.

use crate::Error;
use crate::database::bulk::Bulk;
use crate::database::db::Db;
use crate::database::document;
use crate::database::query::{Query, Value};

type Json = serde_json::Value;

/// Of several notes with the same name the last one counts.
pub(crate) fn put_all(notes: Vec<(String, Json)>) -> Result<Bulk, Error> {
    let notes: std::collections::BTreeMap<String, Json> = notes.into_iter().collect();
    let rows: Result<Vec<Vec<Value>>, Error> =
        notes.into_iter().map(|(name, body)| row(&name, &body)).collect();
    Ok(Bulk {
        doing: "store notes",
        head: "INSERT INTO note (name, body)",
        tail: "ON CONFLICT (name) DO UPDATE SET body = excluded.body",
        rows: rows?,
    })
}

fn row(name: &str, body: &Json) -> Result<Vec<Value>, Error> {
    Ok(vec![name.into(), document::write(&what(name), body)?])
}

pub(crate) fn put(name: &str, body: &Json) -> Result<Query, Error> {
    let text = "INSERT INTO note (name, body) VALUES ($1, $2) \
                ON CONFLICT (name) DO UPDATE SET body = excluded.body";
    let body = document::write(&what(name), body)?;
    Ok(Query::new("store a note", text).bind(name).bind(body))
}

pub(crate) async fn get(db: &Db, name: &str) -> Result<Option<Json>, Error> {
    let query = Query::new("read a note", "SELECT body FROM note WHERE name = $1").bind(name);
    db.fetch_one(query, |line| line.body(&what(name))).await
}

/// Sorted here: engines differ in how they sort texts.
pub(crate) async fn with_prefix(db: &Db, prefix: &str) -> Result<Vec<(String, Json)>, Error> {
    let text = "SELECT name, body FROM note WHERE substr(name, 1, CAST($1 AS INTEGER)) = $2";
    let length = i64::try_from(prefix.chars().count()).unwrap_or(i64::from(i32::MAX));
    let query = Query::new("read notes", text).bind(length).bind(prefix);
    let read = |line: &crate::database::line::Line| {
        let name = line.text("name")?;
        let body = line.body(&what(&name))?;
        Ok((name, body))
    };
    let mut found: Vec<(String, Json)> = db.fetch(query, read).await?;
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

fn what(name: &str) -> String {
    format!("note `{name}`")
}
