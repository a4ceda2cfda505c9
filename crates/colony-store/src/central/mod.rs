//! The database of the central orchestrator.

mod backup;
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

use std::fmt;
use std::sync::Arc;

use colony_core::time::Wall;

use crate::db::Db;
use crate::line::corrupt;
use crate::query::Query;
use crate::{Error, migration, note, open, used};

/// A handle to the database; clones share its connections.
#[derive(Clone)]
pub struct CentralStore {
    db: Db,
    epoch: Arc<str>,
}

impl CentralStore {
    /// Opens `sqlite:/path/file.db` (created if missing) or `postgres://…` and
    /// brings its tables to this version. Fails at once if it cannot be reached.
    pub async fn open(url: &str) -> Result<CentralStore, Error> {
        let db = open::url(url).await?;
        migration::run(&db, migration::CENTRAL).await?;
        let epoch = epoch(&db).await?.into();
        Ok(CentralStore { db, epoch })
    }

    pub async fn close(&self) {
        self.db.close().await;
    }

    pub async fn ping(&self) -> Result<(), Error> {
        self.db.ping().await
    }

    /// Names this database's positions: made once, 8 hex digits.
    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    /// True the first time.
    pub async fn once(&self, scope: &str, id: &str, at: Wall) -> Result<bool, Error> {
        used::once(&self.db, scope, id, at).await
    }

    pub async fn note_get(&self, key: &str) -> Result<Option<serde_json::Value>, Error> {
        note::get(&self.db, key).await
    }

    pub async fn note_put(&self, key: &str, value: &serde_json::Value) -> Result<(), Error> {
        note::put(&self.db, key, value).await
    }

    /// All notes whose key begins with `prefix`, by key.
    pub async fn notes(&self, prefix: &str) -> Result<Vec<(String, serde_json::Value)>, Error> {
        note::with_prefix(&self.db, prefix).await
    }
}

impl fmt::Debug for CentralStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = match self.db {
            Db::Sqlite { .. } => "sqlite",
            Db::Pg(_) => "postgres",
        };
        write!(f, "CentralStore({engine}, epoch {})", self.epoch)
    }
}

/// Makes the row of the positions if it is not there: whoever is first wins.
async fn epoch(db: &Db) -> Result<String, Error> {
    let text = "INSERT INTO event_head (id, epoch, position, changes) VALUES (1, $1, 0, 0) \
                ON CONFLICT (id) DO NOTHING";
    db.execute(Query::new("name the database", text).bind(fresh_epoch())).await?;
    let query = Query::new("read the database's name", "SELECT epoch FROM event_head");
    let epoch = db.fetch_one(query, |line| line.text("epoch")).await?;
    epoch.ok_or_else(|| corrupt("the table `event_head`", &"it is empty"))
}

fn fresh_epoch() -> String {
    let mut fresh = uuid::Uuid::new_v4().simple().to_string();
    fresh.truncate(8);
    fresh
}
