//! Copies of the database, and the epoch of a copy that is restored.

use std::path::Path;

use crate::database::db::Db;
use crate::database::query::Query;
use crate::{CentralStore, Error};

impl CentralStore {
    /// Writes a snapshot of the database to a file that is missing or empty.
    /// False for Postgres, which has its own tools.
    pub async fn copy_to(&self, file: &Path) -> Result<bool, Error> {
        match self.db {
            Db::Pg(_) => Ok(false),
            Db::Sqlite { .. } => {
                let text = file.to_str().ok_or(Error::Address)?;
                let query = Query::new("copy the database", "VACUUM INTO $1").bind(text);
                self.db.execute(query).await.map(|_| true)
            }
        }
    }

    /// Replaces the epoch of the positions: after a restore, positions are used
    /// a second time, so their readers have to start over.
    pub async fn epoch_renew(mut self) -> Result<CentralStore, Error> {
        let fresh = super::fresh_epoch();
        let query = Query::new("rename the database", "UPDATE event_head SET epoch = $1");
        self.execute(query.bind(fresh.as_str())).await?;
        self.epoch = fresh.into();
        Ok(self)
    }
}
