//! The right to write central's database, for one process at a time.
//!
//! Central keeps the fleet in memory and writes whole rows, so two processes
//! would overwrite each other. SQLite: a lock on a file beside the database.
//! Postgres: an advisory lock of a session of its own. A session can be lost
//! while its process lives on, so each claim also takes the next number of
//! `event_head.holder`, and every write checks that the number is still its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use colony_process::{LockError, LockFile};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection, Row};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::Error;
use crate::database::db::failed;
use crate::database::lease::limited;
use crate::database::open::{self, Address};

/// "colony" in ASCII; advisory locks are known by a number, per database.
const KEY: i64 = 0x636f_6c6f_6e79;
/// The time between two tries to take a lock that another process holds.
const PAUSE: Duration = Duration::from_millis(200);
/// How often the session is checked.
const LOOK: Duration = Duration::from_secs(10);
const CLAIM: &str = "claim the database";

/// A claim that was taken; dropping it releases it.
#[derive(Debug)]
pub struct Claim {
    _file: Option<LockFile>,
    /// Owns the session.
    keeper: Option<JoinHandle<()>>,
}

/// A lock that has no claim number yet.
#[derive(Debug)]
pub(crate) enum Lock {
    File(LockFile),
    Session(Box<(PgConnection, PgConnectOptions)>),
}

impl Lock {
    /// Waits up to `patience` for the previous process to end.
    pub(crate) async fn take(address: &Address, patience: Duration) -> Result<Lock, Error> {
        match address {
            Address::Sqlite(path) => file(path, patience).await.map(Lock::File),
            Address::Pg(options) => {
                let taken = session(options, patience).await?;
                Ok(Lock::Session(Box::new((taken, PgConnectOptions::clone(options)))))
            }
        }
    }

    /// Holds the lock for as long as the number in the database is this one.
    pub(crate) fn hold(self, number: i64, fenced: watch::Sender<bool>) -> Claim {
        match self {
            Lock::File(file) => Claim { _file: Some(file), keeper: None },
            Lock::Session(it) => {
                let (session, options) = *it;
                let keeper = Keeper { session: Some(session), options, number, fenced };
                Claim { _file: None, keeper: Some(tokio::spawn(keeper.run())) }
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(keeper) = &self.keeper {
            keeper.abort();
        }
    }
}

async fn file(path: &Path, patience: Duration) -> Result<LockFile, Error> {
    let mut name = OsString::from(path);
    name.push(".lock");
    LockFile::wait(&PathBuf::from(name), patience).await.map_err(|it| match it {
        LockError::Held { by: Some(by) } => Error::Claimed { by: format!("process {by}") },
        LockError::Held { by: None } => Error::Claimed { by: "another process".to_owned() },
        LockError::File(error) => Error::File(error),
    })
}

async fn session(options: &PgConnectOptions, patience: Duration) -> Result<PgConnection, Error> {
    let end = Instant::now() + patience;
    let mut session = open::connect(options).await?;
    loop {
        if try_lock(&mut session).await? {
            return Ok(session);
        }
        if Instant::now() >= end {
            return Err(Error::Claimed { by: holder(&mut session).await });
        }
        sleep(PAUSE).await;
    }
}

async fn try_lock(session: &mut PgConnection) -> Result<bool, Error> {
    let query = sqlx::query("SELECT pg_try_advisory_lock($1)").bind(KEY);
    let row = failed(CLAIM, limited(query.fetch_one(session)).await)?;
    failed(CLAIM, row.try_get(0))
}

/// The holder of the lock, as far as this user may see it.
async fn holder(session: &mut PgConnection) -> String {
    let text = "SELECT concat_ws(', ', nullif(a.application_name, ''), \
                'address ' || host(a.client_addr), 'session ' || l.pid) \
                FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid \
                WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 \
                AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
                AND (l.classid::bigint << 32) | l.objid::bigint = $1";
    let row = limited(sqlx::query(text).bind(KEY).fetch_optional(session)).await;
    let name = row.ok().flatten().and_then(|it| it.try_get::<String, _>(0).ok());
    name.unwrap_or_else(|| "another process".to_owned())
}

/// Keeps the session, and takes the lock again if the session was lost.
struct Keeper {
    session: Option<PgConnection>,
    options: PgConnectOptions,
    number: i64,
    fenced: watch::Sender<bool>,
}

impl Keeper {
    async fn run(mut self) {
        loop {
            sleep(LOOK).await;
            match self.look().await {
                Ok(true) => {}
                Ok(false) => {
                    self.fenced.send_replace(true);
                    return;
                }
                // Each write still checks the claim number.
                Err(error) => tracing::warn!("the claim on the database is not held: {error}"),
            }
        }
    }

    /// False if another process has claimed the database since.
    async fn look(&mut self) -> Result<bool, Error> {
        if let Some(mut session) = self.session.take()
            && limited(session.ping()).await.is_ok()
        {
            self.session = Some(session);
            return Ok(true);
        }
        let mut session = open::connect(&self.options).await?;
        let query = sqlx::query("SELECT holder FROM event_head");
        let row = failed(CLAIM, limited(query.fetch_one(&mut session)).await)?;
        if failed(CLAIM, row.try_get::<i64, _>(0))? != self.number {
            return Ok(false);
        }
        // The former session may exist for a while; the number decides.
        if try_lock(&mut session).await? {
            self.session = Some(session);
        }
        Ok(true)
    }
}
