//! A statement with its values, for either engine.
//!
//! All columns are integers or texts, so two kinds of values are enough, and
//! no code above this has to exist once per engine.

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

use colony_core::time::Timestamp;

/// The value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Int(Option<i64>),
    Text(Option<String>),
}

#[derive(Debug)]
pub(crate) struct Query {
    /// Completes "could not …".
    pub doing: &'static str,
    pub text: SqlStr,
    pub values: Vec<Value>,
    /// Whether connections keep the statement prepared.
    pub kept: bool,
}

impl Query {
    /// Placeholders are `$1`, `$2`, …
    pub(crate) fn new(doing: &'static str, text: &'static str) -> Query {
        Query { doing, text: SqlStr::from_static(text), values: Vec::new(), kept: true }
    }

    /// For a text that is built from constants of this crate.
    pub(crate) fn built(
        doing: &'static str,
        text: String,
        values: Vec<Value>,
        kept: bool,
    ) -> Query {
        Query { doing, text: AssertSqlSafe(text).into_sql_str(), values, kept }
    }

    pub(crate) fn bind(mut self, value: impl Into<Value>) -> Query {
        self.values.push(value.into());
        self
    }
}

/// Builds sqlx's query from ours; the engine follows from where it is used.
macro_rules! bound {
    ($query:expr) => {
        $query.values.into_iter().fold(
            sqlx::query($query.text).persistent($query.kept),
            |query, value| match value {
                $crate::database::query::Value::Int(it) => query.bind(it),
                $crate::database::query::Value::Text(it) => query.bind(it),
            },
        )
    };
}
pub(crate) use bound;

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(Some(number))
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Value {
        Value::from(i64::from(number))
    }
}

impl From<u64> for Value {
    /// A number too large for an integer column becomes the largest it can
    /// hold.
    fn from(number: u64) -> Value {
        Value::from(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<Timestamp> for Value {
    fn from(at: Timestamp) -> Value {
        Value::from(at.0)
    }
}

impl From<String> for Value {
    /// Postgres supports no NUL in texts, neither stored nor as a parameter.
    fn from(text: String) -> Value {
        let text = if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text };
        Value::Text(Some(text))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::from(text.to_owned())
    }
}

impl From<Option<u32>> for Value {
    fn from(number: Option<u32>) -> Value {
        number.map_or(Value::Int(None), Value::from)
    }
}

impl From<Option<u64>> for Value {
    fn from(number: Option<u64>) -> Value {
        number.map_or(Value::Int(None), Value::from)
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Value {
        text.map_or(Value::Text(None), Value::from)
    }
}
