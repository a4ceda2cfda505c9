//! Why a request is refused or fails: the one place where errors become status
//! codes. Errors that a client cannot act on are logged here.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use colony_api::problem::{Fenced, Kind};
use colony_core::event::Incarnation;
use colony_core::margo::problem::{FieldError, MEDIA_TYPE, Problem, ProblemType, TryLater};

/// A problem on its way to a client.
#[derive(Debug)]
pub(crate) struct Fault {
    problem: Box<Problem>,
    /// For a fenced orchestrator: the incarnation that replaced it.
    current: Option<Incarnation>,
}

impl Fault {
    pub(crate) fn not_found(detail: impl Into<String>) -> Fault {
        Kind::NotFound.problem(detail).into()
    }

    pub(crate) fn refused(detail: impl Into<String>) -> Fault {
        Kind::Refused.problem(detail).into()
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Fault {
        Problem::new(ProblemType::InvalidRequest).detail(detail).into()
    }

    /// A request that was understood and is wrong, field by field.
    pub(crate) fn fields(errors: impl IntoIterator<Item = (String, String)>) -> Fault {
        let errors = errors.into_iter().map(|(field, message)| FieldError { field, message });
        let errors: Vec<FieldError> = errors.collect();
        let said: Vec<&str> = errors.iter().map(|it| it.message.as_str()).collect();
        let problem = Problem::new(ProblemType::SemanticError).detail(said.join("; "));
        Problem { errors, ..problem }.into()
    }

    pub(crate) fn field(field: &str, message: impl Into<String>) -> Fault {
        Fault::fields([(field.to_owned(), message.into())])
    }

    pub(crate) fn unknown_caller(detail: impl Into<String>) -> Fault {
        Problem::about_blank(401).detail(detail).into()
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Fault {
        Problem::new(ProblemType::NotAuthorized).detail(detail).into()
    }

    pub(crate) fn later(detail: impl Into<String>, seconds: u64) -> Fault {
        Problem::try_later(TryLater::Unavailable, seconds).detail(detail).into()
    }

    pub(crate) fn fenced(current: Incarnation) -> Fault {
        let detail = format!("incarnation {current} has taken over the site");
        let problem = Box::new(Kind::Fenced.problem(detail));
        Fault { problem, current: Some(current) }
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Fault {
        Fault { problem: Box::new(problem), current: None }
    }
}

impl From<colony_store::Error> for Fault {
    fn from(error: colony_store::Error) -> Fault {
        match &error {
            colony_store::Error::Used { .. } => return colony_wfm::join::token_used().into(),
            colony_store::Error::Exists { what } => {
                return Fault::refused(format!("there is a {what}"));
            }
            colony_store::Error::Missing { what } => {
                return Fault::not_found(format!("there is no {what}"));
            }
            colony_store::Error::Address
            | colony_store::Error::Database { .. }
            | colony_store::Error::Migration(_)
            | colony_store::Error::File(_)
            | colony_store::Error::Corrupt { .. }
            | colony_store::Error::Unwritable { .. }
            | colony_store::Error::EventStored
            | colony_store::Error::Uncommitted { .. }
            | colony_store::Error::Claimed { .. }
            | colony_store::Error::Fenced => {}
        }
        let error = anyhow::Error::from(error);
        tracing::warn!("the database failed a request: {error:#}");
        Fault::later("the database does not answer or refuses; nothing was changed", 5)
    }
}

impl From<colony_git::Error> for Fault {
    fn from(error: colony_git::Error) -> Fault {
        let error = crate::repo::error_text(&error);
        tracing::warn!("Git failed a request: {error}");
        Fault::later(format!("the deployments repository does not answer: {error}"), 5)
    }
}

impl From<anyhow::Error> for Fault {
    fn from(error: anyhow::Error) -> Fault {
        tracing::error!("a request failed: {error:#}");
        Problem::about_blank(500).detail("internal error; the log of this role says more").into()
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.problem.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let after = self.problem.retry_after_seconds;
        let body = match self.current {
            Some(current) => serde_json::to_vec(&Fenced { problem: *self.problem, current }),
            None => serde_json::to_vec(&*self.problem),
        };
        let kind = (header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        let mut response = (status, [kind], body.unwrap_or_default()).into_response();
        let headers = response.headers_mut();
        if let Some(after) = after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(after));
        }
        if status == StatusCode::UNAUTHORIZED {
            // Git sends a password only after a challenge.
            let ask = HeaderValue::from_static("Basic realm=\"colony\", Bearer");
            headers.insert(header::WWW_AUTHENTICATE, ask);
        }
        response
    }
}
