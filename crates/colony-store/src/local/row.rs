//! The rows of a site, as `colony_core::site` names them.

use std::collections::BTreeMap;

use colony_core::site::{Row, RowKey};

use crate::database::bulk::Bulk;
use crate::database::document;
use crate::database::line::Line;
use crate::database::query::{Query, Value};
use crate::{Error, LocalStore};

impl LocalStore {
    /// Every row, in no order.
    pub async fn rows(&self) -> Result<Vec<Row>, Error> {
        let query = Query::new("read the rows of the site", "SELECT name, body FROM site_row");
        self.db.fetch(query, |line: &Line| line.body(&named(&line.text("name")?))).await
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
        doing: "store the rows of the site",
        head: "INSERT INTO site_row (name, body)",
        tail: "ON CONFLICT (name) DO UPDATE SET body = excluded.body",
        rows: puts,
    };
    Ok(Encoded { puts, deletes })
}

fn put(key: &RowKey, row: &Row) -> Result<Vec<Value>, Error> {
    let name = name(key);
    let body = document::write(&named(&name), row)?;
    Ok(vec![name.into(), body])
}

fn delete(key: &RowKey) -> Query {
    let text = "DELETE FROM site_row WHERE name = $1";
    Query::new("delete a row of the site", text).bind(name(key))
}

fn name(key: &RowKey) -> String {
    match key {
        RowKey::Meta => "meta".to_owned(),
        RowKey::Deployment(id) => format!("deployment/{id}"),
        RowKey::Placement(id) => format!("placement/{id}"),
        RowKey::SiteNode(node) => format!("node/{node}"),
    }
}

fn named(name: &str) -> String {
    format!("row `{name}` of the site")
}
