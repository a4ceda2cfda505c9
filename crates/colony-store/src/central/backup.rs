//! Copies of the database, and the name that a copy gets when it is used.

use std::path::Path;

use crate::db::Db;
use crate::query::Query;
use crate::{CentralStore, Error};

impl CentralStore {
    /// Writes the database as it is at this moment to a file that is not there
    /// or empty. False for Postgres, which has tools of its own.
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

    /// Gives the positions another name: after a restore they are used again,
    /// and whoever follows them has to begin anew.
    pub async fn epoch_renew(mut self) -> Result<CentralStore, Error> {
        let fresh = super::fresh_epoch();
        let query = Query::new("rename the database", "UPDATE event_head SET epoch = $1");
        self.execute(query.bind(fresh.as_str())).await?;
        self.epoch = fresh.into();
        Ok(self)
    }
}
