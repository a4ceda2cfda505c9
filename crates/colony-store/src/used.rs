//! Ids that may be used once: join tokens.

use colony_core::time::Timestamp;

use crate::database::query::Query;

/// Touches one row the first time and none after.
pub(crate) fn mark(scope: &str, id: &str, at: Timestamp) -> Query {
    let text = "INSERT INTO used (scope, id, at_ms) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    Query::new("mark something as used", text).bind(scope).bind(id).bind(at)
}
