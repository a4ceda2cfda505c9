//! The database of a site's orchestrator: a SQLite file, small in memory.

mod event;
mod node;
mod row;

pub use node::NodeIdentity;

use std::fmt;
use std::path::Path;

use colony_core::event::Event;
use colony_core::site::{Row, RowKey};
use colony_core::time::Timestamp;

use crate::database::db::Db;
use crate::database::{migration, open};
use crate::{Error, note, used};

/// A handle to the database; clones share its connections.
#[derive(Clone)]
pub struct LocalStore {
    db: Db,
}

impl LocalStore {
    /// Opens the file, created if missing, and brings its tables to this version.
    pub async fn open(path: &Path) -> Result<LocalStore, Error> {
        let db = open::sqlite(path, open::LOCAL).await?;
        migration::run(&db, migration::LOCAL).await?;
        Ok(LocalStore { db })
    }

    pub async fn close(&self) {
        self.db.close().await;
    }

    pub async fn ping(&self) -> Result<(), Error> {
        self.db.ping().await
    }

    /// Stores a step in one transaction; a row that is `None` is deleted.
    pub async fn commit(
        &self,
        rows: Vec<(RowKey, Option<Row>)>,
        events: &[Event],
    ) -> Result<(), Error> {
        let (rows, events) = (row::encode(rows)?, event::encode(events)?);
        let mut tx = self.db.begin().await?;
        tx.insert(events).await.map_err(Error::or_event_stored)?;
        for query in rows.deletes {
            tx.execute(query).await?;
        }
        tx.insert(rows.puts).await?;
        colony_process::fail::hit(colony_process::fail::Point::LocalStepDecided);
        tx.commit().await?;
        colony_process::fail::hit(colony_process::fail::Point::LocalStepStored);
        Ok(())
    }

    /// True the first time the id is used; the note is stored in the same
    /// transaction.
    pub async fn once(
        &self,
        (scope, id): (&str, &str),
        at: Timestamp,
        note: (String, serde_json::Value),
    ) -> Result<bool, Error> {
        let notes = note::put_all(vec![note])?;
        let mut tx = self.db.begin().await?;
        if tx.execute(used::mark(scope, id, at)).await? == 0 {
            return Ok(false);
        }
        tx.insert(notes).await?;
        tx.commit().await?;
        Ok(true)
    }

    pub async fn note_get(&self, key: &str) -> Result<Option<serde_json::Value>, Error> {
        note::get(&self.db, key).await
    }

    pub async fn note_put(&self, key: &str, value: &serde_json::Value) -> Result<(), Error> {
        self.db.execute(note::put(key, value)?).await.map(drop)
    }

    /// All notes whose key begins with `prefix`, by key.
    pub async fn notes(&self, prefix: &str) -> Result<Vec<(String, serde_json::Value)>, Error> {
        note::with_prefix(&self.db, prefix).await
    }
}

impl fmt::Debug for LocalStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalStore")
    }
}
