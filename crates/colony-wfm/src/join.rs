//! Joining: a token is exchanged for a certificate.
//!
//! The token names the servers and the authority to expect there, so the first
//! connection is already verified. The answer is checked against the token and
//! the request before it is used. The server decides whether a join is allowed,
//! and that a token is used once.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use colony_margo::{Digest, Problem, ProblemType};
use http::{Method, StatusCode};
use rustls::ClientConfig;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::client::read_problem;
use crate::identity::svid;
use crate::identity::token::{self, TokenError};
use crate::link::{Answer, Link, LinkError};
use crate::tls::{Trust, client_config};

/// The path of join requests.
pub const PATH: &str = "/colony/v1/join";
/// The type of the problem that an invitation was already used; the same at sites and
/// at the central orchestrator.
pub const TOKEN_USED: &str = "https://colony.dev/problems/token-used";

const MAX_ANSWER: usize = 256 * 1024;
const MAX_URLS: usize = 16;
const TIMEOUT: Duration = Duration::from_secs(15);

/// The join request of a node.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRequest {
    pub token: String,
    /// The certificate request, in PEM.
    pub csr: String,
    /// The name it prefers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The token is a secret: it is not printed.
impl fmt::Debug for JoinRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinRequest").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The answer to a join or a renewal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// The SVID and its issuers, in PEM.
    pub chain: String,
    /// In PEM.
    pub roots: String,
    pub name: String,
    pub site: String,
}

/// A member's request for another certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenewRequest {
    /// The certificate request, in PEM.
    pub csr: String,
}

/// Why a join failed.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(
        "invitation was already used; create another one with `colony node invite` or `colony site invite`"
    )]
    Used,
    #[error("{url} refused to join: {reason}")]
    Refused { url: String, reason: String },
    #[error("{url} cannot join yet: {reason}")]
    Later { url: String, reason: String },
    #[error("no server of the invitation could be reached: {}", list(.0))]
    Unreachable(Vec<(String, LinkError)>),
    #[error("answer from {url} cannot be trusted: {reason}")]
    Answer { url: String, reason: String },
}

impl JoinError {
    /// The same request may succeed at another time, also after a lost answer:
    /// a repeated request with the same key is accepted again.
    pub fn is_passing(&self) -> bool {
        match self {
            JoinError::Later { .. } | JoinError::Unreachable(_) => true,
            JoinError::Token(_)
            | JoinError::Used
            | JoinError::Refused { .. }
            | JoinError::Answer { .. } => false,
        }
    }
}

/// Joins as a node. Returns the answer and the URL that sent it.
pub async fn join(
    token: &str,
    csr_pem: &str,
    name: Option<&str>,
    now_unix: i64,
) -> Result<(Joined, String), JoinError> {
    let (token, csr) = (token.trim().to_owned(), csr_pem.to_owned());
    let request = JoinRequest { token, csr, name: name.map(str::to_owned) };
    let (joined, url) = ask::<Joined>(&request.token, &request, now_unix).await?;
    let pin = token::read(&request.token)?.pin;
    match check(&joined, &pin) {
        Ok(()) => Ok((joined, url)),
        Err(reason) => Err(JoinError::Answer { url, reason }),
    }
}

/// Sends a join request to the first server of its token that answers.
pub async fn ask<T: DeserializeOwned>(
    token: &str,
    request: &impl Serialize,
    now_unix: i64,
) -> Result<(T, String), JoinError> {
    let claims = token::read(token)?;
    claims.check_expiry(now_unix)?;
    let trust = Trust::Pin { fingerprint: &claims.pin };
    let tls = client_config(None, trust).map_err(|_| TokenError::Malformed)?;
    let body: Bytes = serde_json::to_vec(request).map_err(|_| TokenError::Malformed)?.into();
    let mut tried = Vec::new();
    for url in claims.urls.iter().take(MAX_URLS) {
        match call(url, tls.clone(), body.clone()).await {
            Ok(answer) => return read(&answer, url).map(|it| (it, url.clone())),
            Err(error) => tried.push((url.clone(), error)),
        }
    }
    Err(JoinError::Unreachable(tried))
}

/// The problem of an invitation that was already used.
pub fn token_used() -> Problem {
    let problem = Problem::about_blank(409).detail("invitation was already used");
    Problem {
        kind: TOKEN_USED.to_owned(),
        title: "The invitation was already used".to_owned(),
        ..problem
    }
}

/// The problem of a token that is not accepted.
pub fn token_refused(error: &TokenError) -> Problem {
    Problem::new(ProblemType::NotAuthorized).detail(error.to_string())
}

async fn call(url: &str, tls: Arc<ClientConfig>, body: Bytes) -> Result<Answer, LinkError> {
    let headers = [("content-type", "application/json")];
    Link::new(url, tls)?.send(Method::POST, PATH, &headers, body, MAX_ANSWER, TIMEOUT).await
}

fn read<T: DeserializeOwned>(answer: &Answer, url: &str) -> Result<T, JoinError> {
    if answer.status.is_success() {
        return serde_json::from_slice(&answer.body)
            .map_err(|error| JoinError::Answer { url: url.to_owned(), reason: error.to_string() });
    }
    let problem = read_problem(answer);
    if problem.kind == TOKEN_USED {
        return Err(JoinError::Used);
    }
    let (url, reason) = (url.to_owned(), problem.detail.unwrap_or(problem.title));
    let passing = answer.status.is_server_error() || answer.status == StatusCode::TOO_MANY_REQUESTS;
    Err(if passing { JoinError::Later { url, reason } } else { JoinError::Refused { url, reason } })
}

/// The pinned authority must be among the roots, and the certificate must be an
/// SVID.
fn check(joined: &Joined, pin: &str) -> Result<(), String> {
    let text = |error: crate::identity::IdentityError| error.to_string();
    let roots = svid::certificates(&joined.roots).map_err(text)?;
    if !roots.iter().any(|it| Digest::of(it).to_string() == pin) {
        return Err("its roots are not those of the invitation".to_owned());
    }
    let leaf = svid::leaf(&joined.chain).map_err(text)?;
    svid::id(&leaf).map(drop).map_err(text)
}

fn list(tried: &[(String, LinkError)]) -> String {
    if tried.is_empty() {
        return "it names none".to_owned();
    }
    let one = |(url, error): &(String, LinkError)| format!("{url}: {}", chain(error));
    tried.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(it) = cause {
        text = format!("{text}: {it}");
        cause = it.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    #[test]
    fn only_what_may_pass_is_worth_another_request() {
        check(503, true);
        check(500, true);
        check(429, true);
        check(403, false);
        check(409, false);
        check(200, false);
        assert!(JoinError::Unreachable(Vec::new()).is_passing());
        assert!(!JoinError::Used.is_passing());
        assert!(!JoinError::Token(TokenError::Malformed).is_passing());
        assert_eq!(token_used().title, "The invitation was already used");
    }

    #[track_caller]
    fn check(status: u16, passing: bool) {
        let status = StatusCode::from_u16(status).unwrap();
        let answer = Answer { status, headers: HeaderMap::new(), body: Bytes::from("x") };
        let error = read::<Joined>(&answer, "https://hub").unwrap_err();
        assert_eq!(error.is_passing(), passing, "{status}: {error}");
    }
}
