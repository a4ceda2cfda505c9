//! What colony remembers: the central orchestrator's database (SQLite or
//! Postgres, one SQL text) and a site's (SQLite).
//!
//! Owns the tables, their migrations and what is one transaction. Knows no
//! rule: what a row means is `colony-core`'s business, and a row is stored as
//! the document that serde makes of it.

mod bulk;
mod central;
mod claim;
mod db;
mod document;
mod error;
mod lease;
mod line;
mod local;
mod migration;
mod note;
mod open;
mod query;
mod tx;
mod used;

pub use central::{
    CentralStore, Change, ChangeEdit, EventFilter, NewEvent, OperatorToken, Package, PackageHead,
    Registry, StoredEvent, Write,
};
pub use claim::Claim;
pub use error::Error;
pub use local::{LocalStore, NodeIdentity};
