//! The caller of a request, identified by the certificate of its connection.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, FromRequestParts, Request};
use axum::middleware::Next;
use axum::response::Response;
use colony_margo::{Problem, ProblemType};
use http::request::Parts;
use http::{HeaderValue, header};

use super::{Manager, Refusal};
use crate::tls::Peer;

/// A certificate is checked against its authority only when a connection
/// begins, so the age of a connection is limited.
const MAX_AGE: Duration = Duration::from_secs(3600);

/// The name under which the manager knows the caller.
pub(super) struct Caller(pub(super) String);

impl FromRequestParts<Arc<dyn Manager>> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(
        parts: &mut Parts,
        manager: &Arc<dyn Manager>,
    ) -> Result<Caller, Refusal> {
        let peer = parts.extensions.get::<ConnectInfo<Peer>>();
        let ConnectInfo(peer) = peer.ok_or_else(nobody)?;
        let id = peer.id.as_ref().ok_or_else(nobody)?;
        if peer.has_expired(unix()) {
            return Err(expired().into());
        }
        Ok(Caller(manager.accepts(id, peer.key)?))
    }
}

fn nobody() -> Problem {
    let problem = Problem::new(ProblemType::NotAuthorized);
    problem.detail("the connection shows no client certificate")
}

fn expired() -> Problem {
    let problem = Problem::new(ProblemType::NotAuthorized);
    problem.detail("the client certificate of the connection has expired")
}

#[expect(clippy::disallowed_methods, reason = "certificates end by the clock of the machine")]
fn unix() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |it| i64::try_from(it.as_secs()).unwrap_or(i64::MAX))
}

/// Asks the client to connect again after a while.
pub async fn cap_age(request: Request, next: Next) -> Response {
    let since = request.extensions().get::<ConnectInfo<Peer>>().map(|it| it.0.since);
    let mut response = next.run(request).await;
    if since.is_some_and(|it| it.elapsed() > MAX_AGE) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
