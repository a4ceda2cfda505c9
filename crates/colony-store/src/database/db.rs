//! Two engines behind one interface: connections, and statements outside of a
//! larger transaction.
//!
//! SQLite has one connection that writes and a few that read: with its
//! write-ahead log readers never wait. Postgres has one pool.

use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::{Connection, PgConnection, PgPool, SqlitePool};

use crate::Error;
use crate::database::lease::{Lease, limited};
use crate::database::line::Line;
use crate::database::query::{Query, bound};

/// How long to search for the reason of a failed connection.
const PROBE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub(crate) enum Db {
    Sqlite { write: SqlitePool, read: SqlitePool },
    Pg(PgPool),
}

impl Db {
    /// Every line of the answer, read as it arrives.
    pub(crate) async fn fetch<T>(
        &self,
        query: Query,
        read: impl Fn(&Line) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let (doing, mut found) = (query.doing, Vec::new());
        match self {
            Db::Sqlite { read: pool, .. } => {
                let mut rows = bound!(query).fetch(pool);
                while let Some(row) = self.checked(doing, rows.try_next().await).await? {
                    found.push(read(&Line::Sqlite(row))?);
                }
            }
            Db::Pg(pool) => {
                let mut lease = self.checked(doing, Lease::acquire(pool).await).await?;
                let mut rows = bound!(query).fetch(failed(doing, lease.work())?);
                while let Some(row) = failed(doing, limited(rows.try_next()).await)? {
                    found.push(read(&Line::Pg(row))?);
                }
                drop(rows);
                lease.rest();
            }
        }
        Ok(found)
    }

    /// The first line, of a query that has one at most.
    pub(crate) async fn fetch_one<T>(
        &self,
        query: Query,
        read: impl Fn(&Line) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        Ok(self.fetch(query, read).await?.into_iter().next())
    }

    /// Returns how many rows were touched.
    pub(crate) async fn execute(&self, query: Query) -> Result<u64, Error> {
        let doing = query.doing;
        match self {
            Db::Sqlite { write, .. } => {
                let done = bound!(query).execute(write).await.map(|it| it.rows_affected());
                failed(doing, done)
            }
            Db::Pg(pool) => {
                let mut lease = self.checked(doing, Lease::acquire(pool).await).await?;
                let connection = failed(doing, lease.work())?;
                let done = limited(bound!(query).execute(connection)).await;
                let done = failed(doing, done)?;
                lease.rest();
                Ok(done.rows_affected())
            }
        }
    }

    pub(crate) async fn ping(&self) -> Result<(), Error> {
        self.fetch(Query::new("reach the database", "SELECT 1"), |_| Ok(())).await.map(drop)
    }

    /// Closes readers first: the last connection of SQLite cleans up its log.
    pub(crate) async fn close(&self) {
        match self {
            Db::Sqlite { write, read } => {
                read.close().await;
                write.close().await;
            }
            Db::Pg(pool) => pool.close().await,
        }
    }

    pub(crate) async fn checked<T>(
        &self,
        doing: &'static str,
        result: Result<T, sqlx::Error>,
    ) -> Result<T, Error> {
        match result {
            Ok(it) => Ok(it),
            Err(error) => Err(Error::Database { doing, source: self.reason(error).await }),
        }
    }

    /// A pool that cannot connect reports only a timeout; a separate connection
    /// reports the reason.
    async fn reason(&self, error: sqlx::Error) -> sqlx::Error {
        match (self, error) {
            (Db::Pg(pool), sqlx::Error::PoolTimedOut) => {
                let options = pool.connect_options();
                let probe = PgConnection::connect_with(&options);
                match tokio::time::timeout(PROBE, probe).await {
                    Ok(Err(reason)) => reason,
                    Ok(Ok(_)) | Err(_) => sqlx::Error::PoolTimedOut,
                }
            }
            (_, error) => error,
        }
    }
}

pub(crate) fn failed<T>(doing: &'static str, result: Result<T, sqlx::Error>) -> Result<T, Error> {
    result.map_err(|source| Error::Database { doing, source })
}
