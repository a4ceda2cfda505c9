//! A Postgres connection of the pool with a time limit on every statement.
//!
//! A database host that vanishes after it accepted a statement never answers.
//! The limits of the server do not help then, and a pool waits without end for
//! a connection that is returned in the middle of a statement. So a statement
//! that takes too long, fails on the wire or is dropped halfway closes its
//! connection, which also ends its transaction.

use std::time::Duration;

use sqlx::pool::{PoolConnection, PoolConnectionMetadata};
use sqlx::{Connection, PgConnection, PgPool, Postgres};

use futures_util::future::BoxFuture;

/// How long a statement or a commit may take, measured by the client. The
/// server's own limits are shorter and give better errors.
pub(crate) const LIMIT: Duration = Duration::from_secs(15);
/// How long an idle connection may take to show that it still works.
const PING: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Lease {
    /// `None` once it was closed.
    connection: Option<PoolConnection<Postgres>>,
    /// A statement is under way, or a transaction is open.
    busy: bool,
}

impl Lease {
    pub(crate) async fn acquire(pool: &PgPool) -> Result<Lease, sqlx::Error> {
        Ok(Lease { connection: Some(pool.acquire().await?), busy: false })
    }

    /// The connection for one statement; it is closed unless `rest` is called
    /// after.
    pub(crate) fn work(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        self.busy = true;
        self.connection.as_deref_mut().ok_or(sqlx::Error::PoolClosed)
    }

    /// The statement or transaction has ended.
    pub(crate) fn rest(&mut self) {
        self.busy = false;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take_if(|_| self.busy) {
            // Its place in the pool is free at once.
            drop(connection.detach());
        }
    }
}

/// The answer of the server, or an error when it takes too long.
pub(crate) async fn limited<T>(
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    within(LIMIT, work).await
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
        let said = format!("the server did not answer within {} s", limit.as_secs());
        Err(sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, said)))
    })
}

/// Whether an idle connection still works; if not, it is closed.
pub(crate) fn is_alive<'a>(
    connection: &'a mut PgConnection,
    _: PoolConnectionMetadata,
) -> BoxFuture<'a, Result<bool, sqlx::Error>> {
    Box::pin(async move { within(PING, connection.ping()).await.map(|()| true) })
}
