//! Shapes of types that come from crates without OpenAPI, for the document.
//!
//! Nothing here is ever built: these names stand in `value_type` and `body`.

use serde::Serialize;
use utoipa::ToSchema;

/// An error answer (RFC 9457), `application/problem+json`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// A URI that names the kind of problem.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    /// A sentence for people.
    pub detail: Option<String>,
    pub instance: Option<String>,
    pub retryable: Option<bool>,
    pub retry_after_seconds: Option<u64>,
    /// `none`, `fixed` or `exponential`.
    pub backoff_strategy: Option<String>,
    pub errors: Vec<FieldError>,
}

/// A flaw of one field of a request.
#[derive(Debug, Serialize, ToSchema)]
pub struct FieldError {
    pub field: String,
    pub message: String,
}

/// Whether a role can do its job.
#[derive(Debug, Serialize, ToSchema)]
pub struct Readiness {
    pub ready: bool,
    /// Why it cannot, or what it works on without.
    pub reasons: Vec<String>,
}

/// One thing that is wrong with a document. Line and column count from 1, and
/// are 0 where the position is unknown.
#[derive(Debug, Serialize, ToSchema)]
pub struct Finding {
    pub file: Option<String>,
    pub line: u32,
    pub column: u32,
    pub path: String,
    /// `error` or `warning`.
    pub severity: String,
    pub problem: String,
    pub expected: String,
}
