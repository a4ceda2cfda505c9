//! Errors on the wire (RFC 9457), with the types that Margo registers.
//!
//! Whether and how a client retries follows from the status alone, so the
//! constructors derive it.

use serde::{Deserialize, Serialize};

use crate::finding::Finding;

const BASE: &str = "https://docs.margo.org/specification/problem-types#";
/// The media type of a problem.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// The registered kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemType {
    InvalidRequest,
    NotAuthorized,
    GatewayNotFound,
    DeviceNotFound,
    InvalidBundle,
    DeploymentNotFound,
    DiscoveryDocumentNotFound,
    SpiffeBundleNotFound,
    ServerCannotGenerateResponse,
    SemanticError,
}

/// How a client should space its retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backoff {
    None,
    Fixed,
    Exponential,
}

/// An error in one field of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldError {
    #[serde(default)]
    pub field: String,
    #[serde(default)]
    pub message: String,
}

/// An error response. Unknown types, unknown members and missing members are
/// accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    #[serde(rename = "type", default = "about_blank")]
    pub kind: String,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_strategy: Option<Backoff>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
}

impl ProblemType {
    const ALL: [(ProblemType, &'static str, &'static str, u16); 10] = [
        (ProblemType::InvalidRequest, "invalid-request", "Invalid request", 400),
        (ProblemType::NotAuthorized, "not-authorized", "Not authorized", 403),
        (ProblemType::GatewayNotFound, "gateway-not-found", "Gateway not found", 404),
        (ProblemType::DeviceNotFound, "device-not-found", "Device not found", 404),
        (ProblemType::InvalidBundle, "invalid-bundle", "Bundle not found", 404),
        (ProblemType::DeploymentNotFound, "deployment-not-found", "Deployment not found", 404),
        (
            ProblemType::DiscoveryDocumentNotFound,
            "discovery-document-not-found",
            "Discovery document not found",
            404,
        ),
        (
            ProblemType::SpiffeBundleNotFound,
            "spiffe-bundle-not-found",
            "SPIFFE bundle not found",
            404,
        ),
        (
            ProblemType::ServerCannotGenerateResponse,
            "server-cannot-generate-response",
            "Server cannot generate an acceptable response",
            406,
        ),
        (ProblemType::SemanticError, "semantic-error", "Semantic error", 422),
    ];

    fn row(self) -> (&'static str, &'static str, u16) {
        let row = ProblemType::ALL.iter().find(|it| it.0 == self);
        row.map_or(("", "", 500), |it| (it.1, it.2, it.3))
    }

    /// The URI of the type. It is compared, never fetched.
    pub fn uri(self) -> String {
        format!("{BASE}{}", self.row().0)
    }

    /// The short text for people.
    pub fn title(self) -> &'static str {
        self.row().1
    }

    /// The status that goes with the type.
    pub fn status(self) -> u16 {
        self.row().2
    }

    /// The type of a URI, if it is a registered one.
    pub fn from_uri(uri: &str) -> Option<ProblemType> {
        let name = uri.strip_prefix(BASE)?;
        ProblemType::ALL.iter().find(|it| it.1 == name).map(|it| it.0)
    }
}

impl Problem {
    /// A problem of a registered type.
    pub fn new(kind: ProblemType) -> Problem {
        Problem::of(kind.uri(), kind.title(), kind.status())
    }

    /// A problem that is fully described by its status, with the phrase of
    /// HTTP.
    pub fn about_blank(status: u16) -> Problem {
        Problem::of(about_blank(), phrase(status), status)
    }

    /// A temporary problem: 429 or 503, with the time of a retry.
    pub fn try_later(status: TryLater, after_seconds: u64) -> Problem {
        let status = match status {
            TryLater::TooManyRequests => 429,
            TryLater::Unavailable => 503,
        };
        Problem { retry_after_seconds: Some(after_seconds), ..Problem::about_blank(status) }
    }

    /// A document that can be parsed but is invalid, with its findings.
    pub fn semantic(findings: &[Finding]) -> Problem {
        let error = |it: &Finding| FieldError {
            field: it.path.clone(),
            message: Finding { path: String::new(), ..it.clone() }.to_string(),
        };
        let errors = findings.iter().map(error).collect();
        Problem { errors, ..Problem::new(ProblemType::SemanticError) }
    }

    /// A request that can be parsed but is invalid in one field.
    pub fn field(field: &str, message: impl Into<String>) -> Problem {
        let (field, message) = (field.to_owned(), message.into());
        let problem = Problem::new(ProblemType::SemanticError).detail(message.clone());
        Problem { errors: vec![FieldError { field, message }], ..problem }
    }

    /// The same problem with a detail for people.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Problem {
        self.detail = Some(detail.into());
        self
    }

    /// The same problem with the path of its request.
    #[must_use]
    pub fn instance(mut self, instance: impl Into<String>) -> Problem {
        self.instance = Some(instance.into());
        self
    }

    /// The registered type, if it is one.
    pub fn problem_type(&self) -> Option<ProblemType> {
        ProblemType::from_uri(&self.kind)
    }

    /// Whether the sender allows a retry; by default this depends on the
    /// status.
    pub fn may_retry(&self) -> bool {
        self.retryable.unwrap_or_else(|| is_passing(self.status))
    }

    fn of(kind: String, title: &str, status: u16) -> Problem {
        let passing = is_passing(status);
        Problem {
            kind,
            title: title.to_owned(),
            status,
            detail: None,
            instance: None,
            retryable: Some(passing),
            retry_after_seconds: passing.then_some(DEFAULT_RETRY_SECONDS),
            backoff_strategy: Some(if passing { Backoff::Exponential } else { Backoff::None }),
            errors: Vec::new(),
        }
    }
}

/// The statuses that require a time of a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryLater {
    TooManyRequests,
    Unavailable,
}

const DEFAULT_RETRY_SECONDS: u64 = 30;

fn is_passing(status: u16) -> bool {
    matches!(status, 429 | 500 | 503)
}

fn about_blank() -> String {
    "about:blank".to_owned()
}

fn phrase(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        409 => "Conflict",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_registered_type_is_found_by_its_uri() {
        for (kind, name, ..) in ProblemType::ALL {
            assert_eq!(ProblemType::from_uri(&kind.uri()), Some(kind), "{name}");
        }
        assert_eq!(ProblemType::from_uri("https://docs.margo.org/other"), None);
    }

    #[test]
    fn retry_follows_the_status() {
        check(Problem::new(ProblemType::NotAuthorized), "403 retryable false none");
        check(Problem::new(ProblemType::SemanticError), "422 retryable false none");
        check(Problem::about_blank(404), "404 retryable false none");
        check(Problem::about_blank(500), "500 retryable true after 30 exponential");
        check(Problem::about_blank(501), "501 retryable false none");
        let later = Problem::try_later(TryLater::TooManyRequests, 7);
        check(later, "429 retryable true after 7 exponential");
        let later = Problem::try_later(TryLater::Unavailable, 60);
        check(later, "503 retryable true after 60 exponential");
    }

    #[test]
    fn foreign_problems_are_read_leniently() {
        let text = r#"{"type":"https://example.com/odd","status":503,"vendor_code":7}"#;
        let problem: Problem = serde_json::from_str(text).unwrap();
        assert_eq!((problem.problem_type(), problem.may_retry()), (None, true));
        let problem: Problem = serde_json::from_str("{}").unwrap();
        assert_eq!((problem.kind.as_str(), problem.may_retry()), ("about:blank", false));
    }

    #[track_caller]
    fn check(problem: Problem, expected: &str) {
        let after = problem.retry_after_seconds.map(|it| format!(" after {it}"));
        let backoff = serde_json::to_value(problem.backoff_strategy).unwrap();
        let (status, retryable) = (problem.status, problem.may_retry());
        let after = after.unwrap_or_default();
        let backoff = backoff.as_str().unwrap_or_default();
        assert_eq!(format!("{status} retryable {retryable}{after} {backoff}"), expected);
        let text = serde_json::to_string(&problem).unwrap();
        assert_eq!(serde_json::from_str::<Problem>(&text).unwrap(), problem);
    }
}
