//! Finding and opening a database.
//!
//! SQLite: every commit is on the disk before it is answered. The file is for
//! its owner only. Postgres: a session that hangs inside a transaction gives
//! the positions free again.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::pool::PoolConnectionMetadata;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, PgConnection, SqliteConnection};

use crate::Error;
use crate::db::Db;

/// How long a writer waits for another process that writes the same file.
const BUSY: Duration = Duration::from_secs(10);
/// How long a call waits for a connection.
const ACQUIRE: Duration = Duration::from_secs(10);
/// Connections for reading go when nobody has needed them for so long.
const IDLE: Duration = Duration::from_secs(60);
const PG_CONNECTIONS: u32 = 8;

/// What an open file may take of memory: connections that read, and KiB of
/// cache for each connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    readers: u32,
    cache: u32,
}

pub(crate) const CENTRAL: Size = Size { readers: 4, cache: 4_096 };
pub(crate) const LOCAL: Size = Size { readers: 2, cache: 128 };

pub(crate) async fn url(url: &str) -> Result<Db, Error> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return postgres(url).await;
    }
    let path = url.strip_prefix("sqlite:").ok_or(Error::Address)?;
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.starts_with(':') {
        return Err(Error::Address);
    }
    sqlite(Path::new(path), CENTRAL).await
}

pub(crate) async fn sqlite(path: &Path, size: Size) -> Result<Db, Error> {
    create(path).map_err(Error::File)?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY)
        .pragma("cache_size", format!("-{}", size.cache))
        .disable_statement_logging();
    let pool = SqlitePoolOptions::new()
        .acquire_timeout(ACQUIRE)
        .max_lifetime(None)
        .test_before_acquire(false);
    let write = pool.clone().max_connections(1).idle_timeout(None).after_release(is_at_rest);
    let write = write.connect_with(options.clone()).await;
    let write = write.map_err(|source| Error::Database { doing: "open the database", source })?;
    let read = pool.max_connections(size.readers).idle_timeout(IDLE).connect_lazy_with(options);
    Ok(Db::Sqlite { write, read })
}

/// Whether a connection can be used again. SQLite ends a transaction by itself
/// when the disk is full; the connection then counts one that nobody can end.
fn is_at_rest<'a>(
    connection: &'a mut SqliteConnection,
    _: PoolConnectionMetadata,
) -> BoxFuture<'a, Result<bool, sqlx::Error>> {
    Box::pin(async move {
        if connection.is_in_transaction() {
            // A rollback may be on its way.
            connection.ping().await?;
        }
        Ok(!connection.is_in_transaction())
    })
}

fn create(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// A first connection of its own, for the pool would wait for a server that
/// is not there.
async fn postgres(url: &str) -> Result<Db, Error> {
    let options = PgConnectOptions::from_str(url).map_err(|_| Error::Address)?;
    let options = options
        .options([("idle_in_transaction_session_timeout", "60s"), ("lock_timeout", "30s")])
        .application_name("colony")
        .disable_statement_logging();
    let doing = "connect to Postgres";
    let first = tokio::time::timeout(ACQUIRE, PgConnection::connect_with(&options)).await;
    let first = first.unwrap_or(Err(sqlx::Error::PoolTimedOut));
    let first = first.map_err(|source| Error::Database { doing, source })?;
    first.close().await.map_err(|source| Error::Database { doing, source })?;
    let pool = PgPoolOptions::new().max_connections(PG_CONNECTIONS).acquire_timeout(ACQUIRE);
    Ok(Db::Pg(pool.connect_lazy_with(options)))
}
