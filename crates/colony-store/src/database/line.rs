//! One line of an answer, from either engine.

use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;

use crate::Error;
use crate::database::document;

#[derive(Debug)]
pub(crate) enum Line {
    Sqlite(SqliteRow),
    Pg(PgRow),
}

macro_rules! column {
    ($line:expr, $column:expr) => {
        match $line {
            Line::Sqlite(row) => row.try_get($column),
            Line::Pg(row) => row.try_get($column),
        }
        .map_err(|it| corrupt(&format!("column `{}`", $column), &it))
    };
}

impl Line {
    pub(crate) fn int(&self, column: &str) -> Result<i64, Error> {
        column!(self, column)
    }

    /// An integer that was stored from an unsigned one.
    pub(crate) fn unsigned<T: TryFrom<i64>>(&self, column: &str) -> Result<Option<T>, Error> {
        let number: Option<i64> = column!(self, column)?;
        let narrow = |it| T::try_from(it).map_err(|_| corrupt(&format!("column `{column}`"), &it));
        number.map(narrow).transpose()
    }

    pub(crate) fn text(&self, column: &str) -> Result<String, Error> {
        column!(self, column)
    }

    pub(crate) fn text_or_none(&self, column: &str) -> Result<Option<String>, Error> {
        column!(self, column)
    }

    /// The document in the column `body`; `what` names it in errors.
    pub(crate) fn body<T: DeserializeOwned>(&self, what: &str) -> Result<T, Error> {
        let text = self.text("body").map_err(|it| corrupt(what, &it))?;
        document::read(what, &text)
    }
}

pub(crate) fn corrupt(what: &str, reason: &impl ToString) -> Error {
    Error::Corrupt { what: what.to_owned(), reason: reason.to_string() }
}
