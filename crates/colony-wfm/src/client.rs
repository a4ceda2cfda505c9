//! The Margo client: the calls of the interface, on a link.
//!
//! Each call is one request; the caller decides when to call again. The digests
//! of content are checked here, because content with a wrong digest must not be
//! used. A wrong digest of a manifest is only logged: known servers compute it
//! over other bytes than they send.

use std::time::Duration;

use bytes::Bytes;
use colony_margo::manifest::{BUNDLE_MEDIA_TYPE, MEDIA_TYPE};
use colony_margo::{Capabilities, DeploymentId, DeploymentStatus, DeviceId, Digest, Problem};
use http::{HeaderMap, Method, StatusCode, header};
use serde::Serialize;

use crate::health::NodeReport;
use crate::join::{Joined, RenewRequest};
use crate::link::{Answer, Link, LinkError};
use crate::manager_request::{self, LogAnswer, ManagerRequests};

const TIMEOUT: Duration = Duration::from_secs(15);
/// A bundle may come over a slow connection.
const CONTENT_TIMEOUT: Duration = Duration::from_secs(300);
const MAX_MANIFEST: usize = 4 << 20;
const MAX_BUNDLE: usize = 64 << 20;
const MAX_DOCUMENT: usize = 4 << 20;
const MAX_ANSWER: usize = 64 * 1024;
const MAX_ETAG: usize = 256;
const JSON: (&str, &str) = ("content-type", "application/json");

/// A client of a workload fleet manager.
#[derive(Debug, Clone)]
pub struct Client {
    link: Link,
}

/// The answer to a poll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Poll {
    Unchanged {
        asks: ManagerRequests,
    },
    Manifest {
        bytes: Bytes,
        /// To be sent unchanged with the next poll.
        etag: Option<String>,
        asks: ManagerRequests,
    },
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("manager answers {} {}", problem.status, problem_text(problem))]
    Problem { problem: Box<Problem>, retry_after: Option<Duration> },
    #[error("could not talk to the manager")]
    Link(#[from] LinkError),
    #[error("manager sent content with digest {found}, not {expected}")]
    Digest { expected: Digest, found: Digest },
    #[error("manager's answer is not readable")]
    Answer(#[source] serde_json::Error),
    #[error("`{0}` is not an id of a log request")]
    Request(String),
}

fn problem_text(problem: &Problem) -> &str {
    problem.detail.as_deref().unwrap_or(&problem.title)
}

impl Client {
    /// A client on this link, whose TLS configuration has its identity.
    pub fn new(link: Link) -> Client {
        Client { link }
    }

    /// The link it talks on.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Requests the manifest, unless it is still the one with `etag`. A manager
    /// that supports it waits up to `wait` for a change. `version` is the
    /// adopted one.
    pub async fn manifest(
        &self,
        etag: Option<&str>,
        version: Option<u64>,
        wait: Duration,
    ) -> Result<Poll, ClientError> {
        let prefer = format!("wait={}", wait.as_secs());
        let version = version.map(|it| it.to_string());
        let mut headers = vec![("accept", MEDIA_TYPE)];
        headers.extend(etag.map(|it| ("if-none-match", it)));
        headers.extend(version.as_deref().map(|it| (manager_request::VERSION_HEADER, it)));
        if wait.as_secs() > 0 {
            headers.push(("prefer", &prefer));
        }
        let path = "/api/v1/deployments";
        let answer = self
            .link
            .send(Method::GET, path, &headers, Bytes::new(), MAX_MANIFEST, wait + TIMEOUT)
            .await?;
        poll(answer)
    }

    /// Fetches a bundle.
    pub async fn bundle(&self, digest: &Digest) -> Result<Bytes, ClientError> {
        let path = format!("/api/v1/bundles/{digest}");
        self.content(&path, BUNDLE_MEDIA_TYPE, digest, MAX_BUNDLE).await
    }

    /// Fetches a deployment.
    pub async fn document(&self, id: &DeploymentId, digest: &Digest) -> Result<Bytes, ClientError> {
        let path = format!("/api/v1/deployments/{id}/{digest}");
        self.content(&path, "application/yaml", digest, MAX_DOCUMENT).await
    }

    /// Reports the status of a deployment.
    pub async fn status(&self, status: &DeploymentStatus) -> Result<(), ClientError> {
        let path = format!("/api/v1/deployments/{}/status", segment(&status.deployment_id));
        self.send_only(Method::POST, &path, status).await.map(drop)
    }

    /// Sends the capabilities of a device.
    pub async fn capabilities(
        &self,
        device: &DeviceId,
        body: &Capabilities,
    ) -> Result<(), ClientError> {
        let path = format!("/api/v1/capabilities/{device}");
        self.send_only(Method::PUT, &path, body).await.map(drop)
    }

    /// Answers a request for logs.
    pub async fn logs(&self, request: &str, answer: &LogAnswer) -> Result<(), ClientError> {
        if !manager_request::is_request_id(request) {
            return Err(ClientError::Request(request.chars().take(64).collect()));
        }
        let path = format!("/colony/v1/logs/{request}");
        self.send_only(Method::POST, &path, &answer.clone().bounded()).await.map(drop)
    }

    /// Reports the health of the node and the progress of its image pulls.
    pub async fn health(&self, report: &NodeReport) -> Result<(), ClientError> {
        self.send_only(Method::POST, "/colony/v1/health", &report.clone().bounded()).await.map(drop)
    }

    /// Requests another certificate for the same identity.
    pub async fn renew(&self, csr_pem: &str) -> Result<Joined, ClientError> {
        let request = RenewRequest { csr: csr_pem.to_owned() };
        let answer = self.send_only(Method::POST, "/colony/v1/renew", &request).await?;
        serde_json::from_slice(&answer.body).map_err(ClientError::Answer)
    }

    async fn content(
        &self,
        path: &str,
        accept: &str,
        expected: &Digest,
        limit: usize,
    ) -> Result<Bytes, ClientError> {
        let headers = [("accept", accept)];
        let answer = self
            .link
            .send(Method::GET, path, &headers, Bytes::new(), limit, CONTENT_TIMEOUT)
            .await?;
        let body = accepted(answer)?.body;
        let found = Digest::of(&body);
        if found != *expected {
            return Err(ClientError::Digest { expected: *expected, found });
        }
        Ok(body)
    }

    async fn send_only(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Answer, ClientError> {
        let body = serde_json::to_vec(body).map_err(ClientError::Answer)?;
        let answer =
            self.link.send(method, path, &[JSON], body.into(), MAX_ANSWER, TIMEOUT).await?;
        accepted(answer)
    }
}

/// One segment of a path. The id of a foreign deployment can be any text.
fn segment(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    text.bytes().map(escape).collect()
}

fn poll(answer: Answer) -> Result<Poll, ClientError> {
    let asks = answer.headers.get(manager_request::HEADER);
    let asks = asks.map(|it| ManagerRequests::from_header(it.as_bytes())).unwrap_or_default();
    if answer.status == StatusCode::NOT_MODIFIED {
        return Ok(Poll::Unchanged { asks });
    }
    let answer = accepted(answer)?;
    let etag = text(&answer.headers, header::ETAG).filter(|it| it.len() <= MAX_ETAG);
    let digest = Digest::of(&answer.body);
    if etag.as_deref().is_some_and(|it| it.trim_matches('"') != digest.to_string()) {
        tracing::warn!(?etag, %digest, "manifest's ETag is not the digest of its bytes");
    }
    Ok(Poll::Manifest { bytes: answer.body, etag, asks })
}

/// The answer, if it is not a problem.
fn accepted(answer: Answer) -> Result<Answer, ClientError> {
    if answer.status.is_success() {
        return Ok(answer);
    }
    let problem = read_problem(&answer);
    let seconds = text(&answer.headers, header::RETRY_AFTER).and_then(|it| it.parse().ok());
    let seconds = seconds.or(problem.retry_after_seconds.filter(|_| problem.may_retry()));
    let retry_after = seconds.map(Duration::from_secs);
    Err(ClientError::Problem { problem: Box::new(problem), retry_after })
}

/// The problem in an answer; for an answer without one, made from its status.
pub fn read_problem(answer: &Answer) -> Problem {
    let status = answer.status.as_u16();
    let kind = text(&answer.headers, header::CONTENT_TYPE).unwrap_or_default();
    if kind.starts_with(colony_margo::problem::MEDIA_TYPE)
        && let Ok(problem) = serde_json::from_slice::<Problem>(&answer.body)
    {
        // The status of the HTTP response takes precedence over that in the
        // body.
        return Problem { status, ..problem };
    }
    let body = String::from_utf8_lossy(&answer.body);
    let body: String = body.chars().filter(|it| !it.is_control()).take(200).collect();
    match body.trim() {
        "" => Problem::about_blank(status),
        body => Problem::about_blank(status).detail(body),
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}
