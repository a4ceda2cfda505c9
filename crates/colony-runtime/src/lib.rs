//! Container engines.
