//! A transaction on either engine. Dropped without `commit`, it has no effect.

use sqlx::{Sqlite, Transaction};

use crate::Error;
use crate::database::bulk::{Bulk, Style};
use crate::database::db::{Db, failed};
use crate::database::lease::{Lease, limited};
use crate::database::line::Line;
use crate::database::query::{Query, bound};

/// On Postgres the lease stays busy until the end: dropped earlier, it closes
/// its connection, which ends the transaction.
#[derive(Debug)]
pub(crate) enum Tx {
    Sqlite(Transaction<'static, Sqlite>),
    Pg(Lease),
}

impl Db {
    /// SQLite takes its write lock at once: a read transaction that begins to
    /// write fails if another connection wrote in between.
    pub(crate) async fn begin(&self) -> Result<Tx, Error> {
        let doing = "begin a transaction";
        match self {
            Db::Sqlite { write, .. } => {
                failed(doing, write.begin_with("BEGIN IMMEDIATE").await.map(Tx::Sqlite))
            }
            Db::Pg(pool) => {
                let mut lease = self.checked(doing, Lease::acquire(pool).await).await?;
                let begun = run(&mut lease, "BEGIN ISOLATION LEVEL READ COMMITTED").await;
                failed(doing, begun).map(|()| Tx::Pg(lease))
            }
        }
    }
}

/// A statement without values or an answer.
async fn run(lease: &mut Lease, text: &'static str) -> Result<(), sqlx::Error> {
    limited(sqlx::raw_sql(text).execute(lease.work()?)).await.map(drop)
}

impl Tx {
    /// Returns how many rows were touched.
    pub(crate) async fn execute(&mut self, query: Query) -> Result<u64, Error> {
        let doing = query.doing;
        let done = match self {
            Tx::Sqlite(tx) => bound!(query).execute(&mut **tx).await.map(|it| it.rows_affected()),
            Tx::Pg(lease) => {
                let connection = failed(doing, lease.work())?;
                limited(bound!(query).execute(connection)).await.map(|it| it.rows_affected())
            }
        };
        failed(doing, done)
    }

    pub(crate) async fn insert(&mut self, bulk: Bulk) -> Result<(), Error> {
        let style = match self {
            Tx::Sqlite(_) => Style::Plain,
            Tx::Pg(_) => Style::Numbered,
        };
        for query in bulk.statements(style) {
            self.execute(query).await?;
        }
        Ok(())
    }

    pub(crate) async fn fetch_optional(&mut self, query: Query) -> Result<Option<Line>, Error> {
        let doing = query.doing;
        let line = match self {
            Tx::Sqlite(tx) => {
                bound!(query).fetch_optional(&mut **tx).await.map(|it| it.map(Line::Sqlite))
            }
            Tx::Pg(lease) => {
                let connection = failed(doing, lease.work())?;
                let line = limited(bound!(query).fetch_optional(connection)).await;
                line.map(|it| it.map(Line::Pg))
            }
        };
        failed(doing, line)
    }

    pub(crate) async fn commit(self) -> Result<(), Error> {
        let done = match self {
            Tx::Sqlite(tx) => tx.commit().await,
            Tx::Pg(lease) => end(lease, "COMMIT").await,
        };
        failed("commit a transaction", done)
    }

    /// Rolls back. If that fails, closing the connection ends the transaction.
    pub(crate) async fn rollback(self) {
        let done = match self {
            Tx::Sqlite(tx) => tx.rollback().await,
            Tx::Pg(lease) => end(lease, "ROLLBACK").await,
        };
        drop(done);
    }
}

async fn end(mut lease: Lease, text: &'static str) -> Result<(), sqlx::Error> {
    run(&mut lease, text).await?;
    lease.rest();
    Ok(())
}
