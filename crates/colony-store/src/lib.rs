//! Durable state in SQL.
