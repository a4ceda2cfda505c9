//! Changes to Git that are asked for and not done: the crash-safe queue
//! between "accepted" and "pushed". `Write` puts them in and takes them out.

use serde::{Deserialize, Serialize};

use colony_core::id::BlobId;
use colony_core::time::Wall;

use crate::line::Line;
use crate::query::{Query, Value};
use crate::{CentralStore, Error, document};

/// One commit that is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// A UUID of version 7.
    pub id: String,
    pub at: Wall,
    pub actor: String,
    pub message: String,
    pub trailers: Vec<(String, String)>,
    pub edits: Vec<ChangeEdit>,
}

/// One file of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeEdit {
    pub path: String,
    /// What the file held when the change was accepted.
    pub expected: Option<BlobId>,
    /// What it is to hold; `None` if it is to go.
    pub text: Option<String>,
}

impl CentralStore {
    /// What is not done yet, in the order it was accepted.
    pub async fn changes_open(&self) -> Result<Vec<Change>, Error> {
        let text = "SELECT id, body FROM git_change ORDER BY number";
        let read = |line: &Line| line.body(&named(&line.text("id")?));
        self.db.fetch(Query::new("read the open changes", text), read).await
    }
}

/// A change as it is written, but for its number.
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
    /// A change that is put again keeps its place.
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
