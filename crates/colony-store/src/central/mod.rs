//! The database of the central orchestrator.

mod catalog;
mod change;
mod event;
mod operator;
mod row;
mod write;

pub use catalog::{Package, PackageHead, Registry};
pub use change::{Change, ChangeEdit};
pub use event::{EventFilter, NewEvent, StoredEvent};
pub use operator::OperatorToken;
pub use write::Write;

use colony_core::time::Wall;

use crate::Error;

/// A handle to the database; clones share its connections.
#[derive(Debug, Clone)]
pub struct CentralStore;

impl CentralStore {
    /// Opens `sqlite:/path/file.db` (created if missing) or `postgres://…` and
    /// brings its tables to this version. Fails at once if it cannot be reached.
    pub async fn open(_url: &str) -> Result<CentralStore, Error> {
        todo!()
    }

    pub async fn close(&self) {
        todo!()
    }

    pub async fn ping(&self) -> Result<(), Error> {
        todo!()
    }

    /// Names this database's positions: made once, 8 hex digits.
    pub fn epoch(&self) -> &str {
        todo!()
    }

    /// True the first time.
    pub async fn once(&self, _scope: &str, _id: &str, _at: Wall) -> Result<bool, Error> {
        todo!()
    }

    pub async fn note_get(&self, _key: &str) -> Result<Option<serde_json::Value>, Error> {
        todo!()
    }

    pub async fn note_put(&self, _key: &str, _value: &serde_json::Value) -> Result<(), Error> {
        todo!()
    }

    /// All notes whose key begins with `prefix`, by key.
    pub async fn notes(&self, _prefix: &str) -> Result<Vec<(String, serde_json::Value)>, Error> {
        todo!()
    }
}
