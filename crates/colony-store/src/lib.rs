//! Persistent storage: the central orchestrator's database (SQLite or Postgres,
//! with one SQL text) and a site's (SQLite).
//!
//! Owns the tables, their migrations and the transaction boundaries. Contains
//! no rules: `colony-core` defines the meaning of a row, and a row is stored as
//! the document that serde makes of it.

mod central;
mod claim;
mod database;
mod error;
mod local;
mod note;
mod used;

pub use central::{
    CentralStore, Change, ChangeEdit, EventFilter, NewEvent, OperatorToken, Package, PackageHead,
    Registry, StoredEvent, Write,
};
pub use claim::Claim;
pub use error::Error;
pub use local::{LocalStore, NodeIdentity};
