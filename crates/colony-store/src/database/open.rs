//! Finding and opening a database.
//!
//! SQLite: every commit is on disk before it is answered, and only the owner
//! may read the file. Postgres: a session that hangs inside a transaction is
//! ended, which unlocks the positions, and a server on another machine has to
//! authenticate itself unless the address configures TLS differently.

use std::fs::OpenOptions;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::pool::PoolConnectionMetadata;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions, PgSslMode};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, PgConnection, SqliteConnection};

use crate::Error;
use crate::database::db::{Db, failed};
use crate::database::lease;

/// How long a writer waits for another process that writes the same file.
const BUSY: Duration = Duration::from_secs(10);
/// How long a call waits for a connection.
const ACQUIRE: Duration = Duration::from_secs(10);
/// Idle time after which a connection for reading is closed.
const IDLE: Duration = Duration::from_secs(60);
const PG_CONNECTIONS: u32 = 8;
/// Limits that the server enforces, each below the limit of `lease`. Keepalives
/// end the session of a machine that is gone, and with it its claim.
const PG_LIMITS: [(&str, &str); 6] = [
    ("statement_timeout", "12s"),
    ("lock_timeout", "10s"),
    ("idle_in_transaction_session_timeout", "30s"),
    ("tcp_keepalives_idle", "20"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_keepalives_count", "4"),
];
const CONNECT: &str = "connect to Postgres";

/// Memory limits of an open file: the number of connections that read, and KiB
/// of cache for each connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    readers: u32,
    cache: u32,
}

pub(crate) const CENTRAL: Size = Size { readers: 4, cache: 4_096 };
pub(crate) const LOCAL: Size = Size { readers: 2, cache: 128 };

/// A parsed address.
#[derive(Debug)]
pub(crate) enum Address {
    Sqlite(PathBuf),
    Pg(Box<PgConnectOptions>),
}

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Address, Error> {
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            let options = PgConnectOptions::from_str(url).map_err(|_| Error::Address)?;
            let chosen = chooses_tls(url) || std::env::var_os("PGSSLMODE").is_some();
            return Ok(Address::Pg(Box::new(prepared(options, chosen))));
        }
        let path = url.strip_prefix("sqlite:").ok_or(Error::Address)?;
        let path = path.strip_prefix("//").unwrap_or(path);
        if path.is_empty() || path.starts_with(':') {
            return Err(Error::Address);
        }
        Ok(Address::Sqlite(PathBuf::from(path)))
    }

    pub(crate) async fn open(&self) -> Result<Db, Error> {
        match self {
            Address::Sqlite(path) => sqlite(path, CENTRAL).await,
            Address::Pg(options) => postgres(options).await,
        }
    }
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
/// when the disk is full; the connection then still counts a transaction that
/// cannot be ended.
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

/// Opens a first connection outside the pool, because the pool would wait for a
/// server that is missing.
async fn postgres(options: &PgConnectOptions) -> Result<Db, Error> {
    let first = connect(options).await?;
    failed(CONNECT, first.close().await)?;
    let pool = PgPoolOptions::new()
        .max_connections(PG_CONNECTIONS)
        .acquire_timeout(ACQUIRE)
        .test_before_acquire(false)
        .before_acquire(lease::is_alive);
    Ok(Db::Pg(pool.connect_lazy_with(options.clone())))
}

pub(crate) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, Error> {
    let connected = tokio::time::timeout(ACQUIRE, PgConnection::connect_with(options)).await;
    failed(CONNECT, connected.unwrap_or(Err(sqlx::Error::PoolTimedOut)))
}

/// A connection without time limits on statements: migrations can take long.
pub(crate) async fn patient(pool: &PgPool) -> Result<PgConnection, Error> {
    let options = PgConnectOptions::clone(&pool.connect_options());
    connect(&options.options([("statement_timeout", "0")])).await
}

fn prepared(options: PgConnectOptions, tls_chosen: bool) -> PgConnectOptions {
    let options = match tls_chosen || is_local(&options) {
        true => options,
        false => options.ssl_mode(PgSslMode::VerifyFull),
    };
    options.options(PG_LIMITS).application_name(&application_name()).disable_statement_logging()
}

/// Whether the address itself configures TLS.
fn chooses_tls(url: &str) -> bool {
    let query = url.split_once('?').map_or("", |it| it.1);
    let mut names = query.split('&').filter_map(|it| it.split('=').next());
    names.any(|it| matches!(it, "sslmode" | "ssl-mode"))
}

/// A socket of this machine, or an address that never leaves it.
fn is_local(options: &PgConnectOptions) -> bool {
    let host = options.get_host();
    let host = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    let loopback = host.parse::<IpAddr>().is_ok_and(|it| it.is_loopback());
    options.get_socket().is_some() || host.starts_with('/') || host == "localhost" || loopback
}

/// Shows a database administrator which process a session belongs to.
fn application_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String = host.trim().chars().filter(char::is_ascii_graphic).take(40).collect();
    format!("colony {host} pid {}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::query::Query;

    #[test]
    fn a_server_on_another_machine_has_to_prove_who_it_is() {
        check("postgres://colony@db.example/colony", PgSslMode::VerifyFull);
        check("postgresql://colony@10.0.0.7:5432/colony?x=sslmode", PgSslMode::VerifyFull);
        check("postgres://colony@db.example/colony?sslmode=require", PgSslMode::Require);
        check("postgres://colony@db.example/c?a=b&ssl-mode=disable", PgSslMode::Disable);
        for local in ["localhost", "127.0.0.1:5432", "[::1]:5432", "%2Frun%2Fpostgresql"] {
            check(&format!("postgres://colony@{local}/colony"), PgSslMode::Prefer);
        }
        check("postgres://colony@db.example/colony?host=/run/postgresql", PgSslMode::Prefer);
    }

    #[tokio::test]
    async fn a_full_disk_leaves_no_connection_that_cannot_write() {
        let folder = tempfile::tempdir().expect("a folder");
        let db = sqlite(&folder.path().join("a.db"), LOCAL).await.expect("it opens");
        for text in ["CREATE TABLE t (a TEXT)", "PRAGMA max_page_count = 1"] {
            db.execute(Query::new("prepare", text)).await.expect("the statement runs");
        }
        let insert = |text: String| Query::new("insert", "INSERT INTO t VALUES ($1)").bind(text);

        let mut tx = db.begin().await.expect("it begins");
        tx.execute(insert("x".repeat(100_000))).await.expect_err("there is no room");
        drop(tx);

        let mut tx = db.begin().await.expect("it begins again");
        tx.execute(insert("x".to_owned())).await.expect("there is room");
        tx.commit().await.expect("it is stored");
    }

    #[track_caller]
    fn check(url: &str, expected: PgSslMode) {
        let Ok(Address::Pg(options)) = Address::parse(url) else { panic!("{url}") };
        let actual = options.get_ssl_mode();
        assert_eq!(format!("{actual:?}"), format!("{expected:?}"), "{url}");
    }
}
