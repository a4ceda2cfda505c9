//! Container engines.

pub mod compose;
