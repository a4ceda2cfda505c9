//! SQLite and Postgres behind one interface: opening and migrating a database,
//! connections, transactions, statements and the lines of their answers.

pub(crate) mod bulk;
pub(crate) mod db;
pub(crate) mod document;
pub(crate) mod lease;
pub(crate) mod line;
pub(crate) mod migration;
pub(crate) mod open;
pub(crate) mod query;
pub(crate) mod tx;
