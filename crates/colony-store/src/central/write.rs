//! The one transaction of CO: all of a `Write`, or nothing of it.

use colony_core::fleet::{Row, RowKey};
use colony_core::time::Wall;

use crate::{CentralStore, Change, Error, NewEvent};

/// What belongs together.
#[derive(Debug, Clone, Default)]
pub struct Write {
    /// `None` deletes the row.
    pub rows: Vec<(RowKey, Option<Row>)>,
    pub events: Vec<NewEvent>,
    pub changes_put: Vec<Change>,
    /// Ids of changes.
    pub changes_done: Vec<String>,
    pub notes: Vec<(String, serde_json::Value)>,
    /// Scope, id and time: the whole write is refused with `Error::Used` if
    /// that id was used in that scope before.
    pub once: Option<(String, String, Wall)>,
}

impl CentralStore {
    /// Stores everything in one transaction. Returns the position of the
    /// newest event, of this write or of one before.
    pub async fn commit(&self, _write: Write) -> Result<i64, Error> {
        todo!()
    }
}
