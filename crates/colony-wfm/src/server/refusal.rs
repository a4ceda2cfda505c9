//! Problems as answers.

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path};
use axum::response::{IntoResponse, Response};
use colony_margo::problem::MEDIA_TYPE;
use colony_margo::{Problem, ProblemType};
use http::{HeaderValue, StatusCode, header};

const DEFAULT_RETRY_SECONDS: u64 = 30;

/// A problem that is answered: `application/problem+json`, with `Retry-After`
/// where the specification wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub Problem);

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Refusal {
        Refusal(problem)
    }
}

impl From<PathRejection> for Refusal {
    fn from(rejection: PathRejection) -> Refusal {
        Refusal(Problem::new(ProblemType::InvalidRequest).detail(rejection.body_text()))
    }
}

/// The parameters in a path, or a problem.
#[derive(FromRequestParts)]
#[from_request(via(Path), rejection(Refusal))]
pub(super) struct At<T>(pub(super) T);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Refusal(mut problem) = self;
        let status = StatusCode::from_u16(problem.status).ok().filter(|it| it.as_u16() >= 400);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        problem.status = status.as_u16();
        if matches!(problem.status, 429 | 503) {
            problem.retry_after_seconds.get_or_insert(DEFAULT_RETRY_SECONDS);
        }
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let content_type = HeaderValue::from_static(MEDIA_TYPE);
        let mut response = (status, [(header::CONTENT_TYPE, content_type)], body).into_response();
        if let Some(seconds) = problem.retry_after_seconds {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// What is answered to a method that a path does not have.
pub(super) async fn method_not_allowed() -> Refusal {
    Refusal(Problem::about_blank(405))
}
