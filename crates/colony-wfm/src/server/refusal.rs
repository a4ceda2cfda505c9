//! Problems as HTTP responses.

use axum::body::to_bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use colony_margo::problem::MEDIA_TYPE;
use colony_margo::{Problem, ProblemType};
use http::{HeaderValue, StatusCode, header};

const DEFAULT_RETRY_SECONDS: u64 = 30;
/// The longest text that becomes the detail of a problem.
const TEXT_LIMIT: usize = 64 * 1024;

/// A problem as a response: `application/problem+json`, with `Retry-After`
/// where the specification requires it.
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

/// Turns an error from before the handler (a wrong method, a path that is not
/// UTF-8) into a problem.
pub async fn problems_only(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_problem = kind.is_some_and(|it| it.as_bytes() == MEDIA_TYPE.as_bytes());
    if is_problem || response.status().as_u16() < 400 {
        return response;
    }
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, TEXT_LIMIT).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&body).trim().to_owned();
    let problem = Problem::about_blank(parts.status.as_u16());
    let problem = if text.is_empty() { problem } else { problem.detail(text) };
    let mut response = Refusal(problem).into_response();
    if let Some(allow) = parts.headers.get(header::ALLOW) {
        response.headers_mut().insert(header::ALLOW, allow.clone());
    }
    response
}

/// The response to a method that a path does not support.
pub(super) async fn method_not_allowed() -> Refusal {
    Refusal(Problem::about_blank(405))
}
