//! A transaction on either engine. Dropped without `commit`, it never was.

use sqlx::{Postgres, Sqlite, Transaction};

use crate::Error;
use crate::bulk::{Bulk, Style};
use crate::db::Db;
use crate::line::Line;
use crate::query::{Query, bound};

#[derive(Debug)]
pub(crate) enum Tx {
    Sqlite(Transaction<'static, Sqlite>),
    Pg(Transaction<'static, Postgres>),
}

impl Db {
    /// SQLite takes its write lock at once: a reader that turns writer fails
    /// if somebody else wrote in between.
    pub(crate) async fn begin(&self) -> Result<Tx, Error> {
        let tx = match self {
            Db::Sqlite { write, .. } => write.begin_with("BEGIN IMMEDIATE").await.map(Tx::Sqlite),
            Db::Pg(pool) => {
                pool.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED").await.map(Tx::Pg)
            }
        };
        self.checked("begin a transaction", tx).await
    }
}

impl Tx {
    /// Returns how many rows were touched.
    pub(crate) async fn execute(&mut self, query: Query) -> Result<u64, Error> {
        let doing = query.doing;
        let done = match self {
            Tx::Sqlite(tx) => bound!(query).execute(&mut **tx).await.map(|it| it.rows_affected()),
            Tx::Pg(tx) => bound!(query).execute(&mut **tx).await.map(|it| it.rows_affected()),
        };
        done.map_err(|source| Error::Database { doing, source })
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

    pub(crate) async fn fetch_one(&mut self, query: Query) -> Result<Line, Error> {
        let doing = query.doing;
        let line = match self {
            Tx::Sqlite(tx) => bound!(query).fetch_one(&mut **tx).await.map(Line::Sqlite),
            Tx::Pg(tx) => bound!(query).fetch_one(&mut **tx).await.map(Line::Pg),
        };
        line.map_err(|source| Error::Database { doing, source })
    }

    pub(crate) async fn fetch_optional(&mut self, query: Query) -> Result<Option<Line>, Error> {
        let doing = query.doing;
        let line = match self {
            Tx::Sqlite(tx) => {
                bound!(query).fetch_optional(&mut **tx).await.map(|it| it.map(Line::Sqlite))
            }
            Tx::Pg(tx) => bound!(query).fetch_optional(&mut **tx).await.map(|it| it.map(Line::Pg)),
        };
        line.map_err(|source| Error::Database { doing, source })
    }

    pub(crate) async fn commit(self) -> Result<(), Error> {
        let done = match self {
            Tx::Sqlite(tx) => tx.commit().await,
            Tx::Pg(tx) => tx.commit().await,
        };
        done.map_err(|source| Error::Database { doing: "commit a transaction", source })
    }
}
