//! The database of a site's orchestrator.

use std::path::Path;

use serde::{Deserialize, Serialize};

use colony_core::event::Event;
use colony_core::site::{Row, RowKey};
use colony_core::time::Wall;

use crate::Error;

/// A handle to the database; clones share its connections.
#[derive(Debug, Clone)]
pub struct LocalStore;

/// Which certificate a node was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeIdentity {
    pub name: String,
    pub fingerprint: String,
    pub issued: Wall,
    pub expires: Wall,
    pub retired: bool,
}

impl LocalStore {
    /// Opens the file, created if missing, and brings its tables to this version.
    pub async fn open(_path: &Path) -> Result<LocalStore, Error> {
        todo!()
    }

    pub async fn close(&self) {
        todo!()
    }

    pub async fn ping(&self) -> Result<(), Error> {
        todo!()
    }

    /// Every row, in no order.
    pub async fn rows(&self) -> Result<Vec<Row>, Error> {
        todo!()
    }

    /// Stores a step in one transaction; a row that is `None` is deleted.
    pub async fn commit(
        &self,
        _rows: Vec<(RowKey, Option<Row>)>,
        _events: &[Event],
    ) -> Result<(), Error> {
        todo!()
    }

    /// The first `limit` events of an incarnation, from `seq` on.
    pub async fn events_from(
        &self,
        _incarnation: u32,
        _seq: u64,
        _limit: u32,
    ) -> Result<Vec<Event>, Error> {
        todo!()
    }

    /// The newest `limit` events, oldest first.
    pub async fn events_last(&self, _limit: u32) -> Result<Vec<Event>, Error> {
        todo!()
    }

    /// Forgets events from before `before` that lie below `below_seq` of
    /// `incarnation` or in one before it; returns how many.
    pub async fn events_prune(
        &self,
        _incarnation: u32,
        _below_seq: u64,
        _before: Wall,
    ) -> Result<u64, Error> {
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

    pub async fn node_put(&self, _node: &NodeIdentity) -> Result<(), Error> {
        todo!()
    }

    pub async fn node_get(&self, _name: &str) -> Result<Option<NodeIdentity>, Error> {
        todo!()
    }

    /// All nodes, by name.
    pub async fn node_list(&self) -> Result<Vec<NodeIdentity>, Error> {
        todo!()
    }
}
