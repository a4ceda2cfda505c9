//! Changes to Git that were accepted and are not pushed yet, as a crash-safe
//! queue. `Write` adds and removes them.

use serde::{Deserialize, Serialize};

use colony_core::id::BlobId;
use colony_core::time::Timestamp;

use crate::database::document;
use crate::database::line::Line;
use crate::database::query::{Query, Value};
use crate::{CentralStore, Error};

/// A change that waits to be committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// A UUID of version 7.
    pub id: String,
    pub at: Timestamp,
    pub actor: String,
    pub message: String,
    pub trailers: Vec<(String, String)>,
    pub edits: Vec<ChangeEdit>,
}

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeEdit {
    pub path: String,
    /// The content of the file when the change was accepted.
    pub expected: Option<BlobId>,
    /// The content to write; `None` deletes the file.
    pub text: Option<String>,
    /// The edit is left out if the one of this path is in conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_with: Option<String>,
}

impl CentralStore {
    /// The open changes, in the order they were accepted.
    pub async fn changes_open(&self) -> Result<Vec<Change>, Error> {
        let text = "SELECT id, body FROM git_change ORDER BY number";
        let read = |line: &Line| line.body(&named(&line.text("id")?));
        self.db.fetch(Query::new("read the open changes", text), read).await
    }
}

/// A change in its stored form, except for its number.
#[derive(Debug)]
pub(super) struct Encoded {
    id: String,
    body: Value,
}

pub(super) fn encode(change: &Change) -> Result<Encoded, Error> {
    let body = document::write(&named(&change.id), change)?;
    Ok(Encoded { id: change.id.clone(), body })
}

impl Encoded {
    /// A change that is stored again keeps its place in the queue.
    pub(super) fn put(self, number: i64) -> Query {
        let text = "INSERT INTO git_change (id, body, number) VALUES ($1, $2, $3) \
                    ON CONFLICT (id) DO UPDATE SET body = excluded.body";
        Query::new("store a change", text).bind(self.id).bind(self.body).bind(number)
    }
}

pub(super) fn done(id: &str) -> Query {
    Query::new("mark a change as done", "DELETE FROM git_change WHERE id = $1").bind(id)
}

fn named(id: &str) -> String {
    format!("change `{id}`")
}
