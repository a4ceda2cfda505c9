//! The rows of the projection, as `colony_core::fleet` names them.

use std::collections::BTreeMap;

use colony_core::fleet::{Row, RowKey};
use colony_core::id::SiteName;
use colony_core::margo::Digest;

use crate::database::bulk::Bulk;
use crate::database::document;
use crate::database::line::Line;
use crate::database::query::{Query, Value};
use crate::{CentralStore, Error};

impl CentralStore {
    /// Every row, in no order.
    pub async fn fleet_rows(&self) -> Result<Vec<Row>, Error> {
        let text = "SELECT site, name, body FROM fleet_row";
        self.db.fetch(Query::new("read the rows of the fleet", text), read).await
    }

    /// The rows of one site, in no order.
    pub async fn fleet_rows_of(&self, site: &SiteName) -> Result<Vec<Row>, Error> {
        let text = "SELECT site, name, body FROM fleet_row WHERE site = $1";
        self.db.fetch(Query::new("read the rows of a site", text).bind(site.as_str()), read).await
    }
}

/// Rows as they are written: those to store and those to delete.
#[derive(Debug)]
pub(super) struct Encoded {
    pub puts: Bulk,
    pub deletes: Vec<Query>,
}

/// Of several changes to a row the last one counts.
pub(super) fn encode(rows: Vec<(RowKey, Option<Row>)>) -> Result<Encoded, Error> {
    let (mut puts, mut deletes) = (Vec::new(), Vec::new());
    for (key, row) in BTreeMap::from_iter(rows) {
        match row {
            Some(row) => puts.push(put(&key, &row)?),
            None => deletes.push(delete(&key)),
        }
    }
    let puts = Bulk {
        doing: "store the rows of the fleet",
        head: "INSERT INTO fleet_row (site, name, body)",
        tail: "ON CONFLICT (site, name) DO UPDATE SET body = excluded.body",
        rows: puts,
    };
    Ok(Encoded { puts, deletes })
}

fn put(key: &RowKey, row: &Row) -> Result<Vec<Value>, Error> {
    let (site, name) = (key.site().as_str(), name(key));
    let body = document::write(&named(site, &name), row)?;
    Ok(vec![site.into(), name.into(), body])
}

fn delete(key: &RowKey) -> Query {
    let text = "DELETE FROM fleet_row WHERE site = $1 AND name = $2";
    Query::new("delete a row of the fleet", text).bind(key.site().as_str()).bind(name(key))
}

fn read(line: &Line) -> Result<Row, Error> {
    line.body(&named(&line.text("site")?, &line.text("name")?))
}

/// The name of a row inside its site.
fn name(key: &RowKey) -> String {
    match key {
        RowKey::Site(_) => "site".to_owned(),
        RowKey::Holds(_) => "holds".to_owned(),
        RowKey::File(_, path) => format!("file/{}", file_name(path)),
        RowKey::Node(_, node) => format!("node/{node}"),
        RowKey::Deployment(_, id) => format!("deployment/{id}"),
        RowKey::Placement(_, id) => format!("placement/{id}"),
        RowKey::Target(_, name) => format!("target/{name}"),
        RowKey::Command(_, number) => format!("command/{number}"),
        RowKey::Archive(_, id) => format!("archive/{id}"),
        RowKey::Answer(_, key) => format!("answer/{key}"),
    }
}

/// A path is arbitrary input of a site: shortened and escaped, because it is
/// indexed.
fn file_name(path: &str) -> String {
    let plain = path.escape_default().to_string();
    if plain.len() <= 255 { plain } else { Digest::of(path.as_bytes()).to_string() }
}

fn named(site: &str, name: &str) -> String {
    format!("row `{name}` of site `{site}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_kept_as_it_is_up_to_255_bytes() {
        let (short, long) = ("x".repeat(255), "x".repeat(256));
        check("sites/home.yaml", "sites/home.yaml");
        check("\u{e4}", "\\u{e4}");
        check(&short, &short);
        check(&long, &Digest::of(long.as_bytes()).to_string());
    }

    #[track_caller]
    fn check(path: &str, expected: &str) {
        assert_eq!(file_name(path), expected);
    }
}
