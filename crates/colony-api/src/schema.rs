//! Shapes of types that come from crates without OpenAPI, for the document.
//!
//! Nothing here is ever built: these names stand in `value_type` and `body`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use colony_core::fleet::RollupStatus;
use colony_core::state::State;
use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// The state of a placement, as the state machine names it.
#[derive(Debug)]
pub struct PlacementState;

impl PartialSchema for PlacementState {
    fn schema() -> RefOr<Schema> {
        names(State::all().map(|it| it.to_string()))
    }
}

impl ToSchema for PlacementState {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("PlacementState")
    }
}

/// Where a deployment stands at a site.
#[derive(Debug)]
pub struct DeploymentStatus;

impl PartialSchema for DeploymentStatus {
    fn schema() -> RefOr<Schema> {
        let mut all: Vec<String> = RollupStatus::all().map(|it| it.to_string()).collect();
        let mut seen = BTreeSet::new();
        all.retain(|it| seen.insert(it.clone()));
        names(all.into_iter())
    }
}

impl ToSchema for DeploymentStatus {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("DeploymentStatus")
    }
}

/// A text that is one of these.
fn names(all: impl Iterator<Item = String>) -> RefOr<Schema> {
    let all: Vec<String> = all.collect();
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(all)).into()
}

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
