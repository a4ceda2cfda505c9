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
use std::time::Duration;

use colony_core::time::Timestamp;
use tokio::sync::watch;

use crate::claim::{Claim, Lock};
use crate::database::db::Db;
use crate::database::line::corrupt;
use crate::database::migration;
use crate::database::open::Address;
use crate::database::query::Query;
use crate::{Error, note, used};

/// A handle to the database; clones share its connections.
#[derive(Clone)]
pub struct CentralStore {
    db: Db,
    epoch: Arc<str>,
    /// The number of the claim that writes belong to.
    holder: i64,
    /// Whether a write or the keeper of the claim has found another number.
    fenced: watch::Sender<bool>,
}

impl CentralStore {
    /// Opens `sqlite:/path/file.db` (created if missing) or `postgres://…` and
    /// brings its tables to this version. Fails at once if it cannot be reached.
    ///
    /// Takes no claim: once another process claims the database, this one can
    /// no longer write.
    pub async fn open(url: &str) -> Result<CentralStore, Error> {
        CentralStore::prepare(&Address::parse(url)?).await
    }

    /// Like `open`, for the one process that works with the database. Waits up
    /// to `patience` for the previous process to end; `Error::Claimed` if it
    /// does not.
    pub async fn open_claimed(
        url: &str,
        patience: Duration,
    ) -> Result<(CentralStore, Claim), Error> {
        let address = Address::parse(url)?;
        let lock = Lock::take(&address, patience).await?;
        let mut store = CentralStore::prepare(&address).await?;
        let text = "UPDATE event_head SET holder = holder + 1";
        store.db.execute(Query::new("claim the database", text)).await?;
        store.holder = holder(&store.db).await?;
        let claim = lock.hold(store.holder, store.fenced.clone());
        Ok((store, claim))
    }

    /// Opens an existing database to copy it: changes nothing.
    pub async fn open_as_is(url: &str) -> Result<CentralStore, Error> {
        let address = Address::parse(url)?;
        if let Address::Sqlite(path) = &address {
            std::fs::metadata(path).map_err(Error::File)?;
        }
        let db = address.open().await?;
        let epoch = read_epoch(&db).await?.into();
        // A number that no claim has, so every write is refused.
        Ok(CentralStore { db, epoch, holder: -1, fenced: watch::Sender::new(false) })
    }

    async fn prepare(address: &Address) -> Result<CentralStore, Error> {
        let db = address.open().await?;
        migration::run(&db, migration::CENTRAL).await?;
        let epoch = epoch(&db).await?.into();
        let holder = holder(&db).await?;
        Ok(CentralStore { db, epoch, holder, fenced: watch::Sender::new(false) })
    }

    /// Resolves when another process has claimed the database: this one can no
    /// longer write.
    pub async fn fenced(&self) {
        // The sender lives as long as this handle.
        let _ = self.fenced.subscribe().wait_for(|it| *it).await;
    }

    pub async fn close(&self) {
        self.db.close().await;
    }

    pub async fn ping(&self) -> Result<(), Error> {
        self.db.ping().await
    }

    /// The name of this database's positions: created once, 8 hex digits.
    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    /// Marks the id as used; true the first time.
    pub async fn once(&self, scope: &str, id: &str, at: Timestamp) -> Result<bool, Error> {
        Ok(self.execute(used::mark(scope, id, at)).await? == 1)
    }

    pub async fn note_get(&self, key: &str) -> Result<Option<serde_json::Value>, Error> {
        note::get(&self.db, key).await
    }

    pub async fn note_put(&self, key: &str, value: &serde_json::Value) -> Result<(), Error> {
        self.execute(note::put(key, value)?).await.map(drop)
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

/// Creates the row of the positions if it is missing: the first process wins.
async fn epoch(db: &Db) -> Result<String, Error> {
    let text = "INSERT INTO event_head (id, epoch, position, changes) VALUES (1, $1, 0, 0) \
                ON CONFLICT (id) DO NOTHING";
    db.execute(Query::new("name the database", text).bind(fresh_epoch())).await?;
    read_epoch(db).await
}

async fn read_epoch(db: &Db) -> Result<String, Error> {
    let query = Query::new("read the database's name", "SELECT epoch FROM event_head");
    let epoch = db.fetch_one(query, |line| line.text("epoch")).await?;
    epoch.ok_or_else(|| corrupt("the table `event_head`", &"it is empty"))
}

async fn holder(db: &Db) -> Result<i64, Error> {
    let query = Query::new("read who has claimed the database", "SELECT holder FROM event_head");
    let holder = db.fetch_one(query, |line| line.int("holder")).await?;
    holder.ok_or_else(|| corrupt("the table `event_head`", &"it is empty"))
}

fn fresh_epoch() -> String {
    let mut fresh = uuid::Uuid::new_v4().simple().to_string();
    fresh.truncate(8);
    fresh
}
