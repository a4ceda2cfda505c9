//! The link to the central orchestrator: one kept-alive client, as this site.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::{Method, StatusCode};
use parking_lot::RwLock;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use colony_api::path::{GIT_CURRENT, GIT_HEADER, INCARNATION_HEADER};
use colony_api::problem::{Fenced, Kind};
use colony_api::site::{SiteRenewRequest, SiteRenewed};
use colony_core::event::Incarnation;
use colony_core::margo::Problem;
use colony_wfm::{Answer, Credentials, Link, SpiffeId, Trust, tls};

use crate::home::Membership;

/// Timeout of a request that central does not hold.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The largest answer: a seed contains every deployment with its texts.
const LIMIT: usize = 64 * 1024 * 1024;

/// A client for the central orchestrator; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Central(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    site_node: Membership,
    links: RwLock<Vec<Link>>,
    /// The TLS configuration of this site, with its newest certificate.
    tls: watch::Sender<Arc<rustls::ClientConfig>>,
    /// The address that answered last.
    current: AtomicUsize,
    prefix: String,
    incarnation: String,
}

/// Why a request to central failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CentralError {
    #[error("could not reach the central orchestrator")]
    Away(#[source] anyhow::Error),
    #[error("incarnation {by} of this site has joined")]
    Fenced { by: Incarnation },
    #[error("{0}")]
    Diverged(String),
    #[error("it is too large for the central orchestrator: {0}")]
    TooLarge(String),
    #[error("the central orchestrator refused: {0}")]
    Refused(String),
    #[error("could not read the answer of the central orchestrator")]
    Unreadable(#[source] serde_json::Error),
}

impl CentralError {
    /// Whether central could not be reached, as opposed to an error it
    /// returned.
    pub(crate) fn is_away(&self) -> bool {
        matches!(self, CentralError::Away(_))
    }
}

impl Central {
    pub(crate) fn new(site_node: &Membership, own: &Credentials) -> anyhow::Result<Central> {
        let tls = tls(site_node, own)?;
        Ok(Central(Arc::new(Shared {
            links: RwLock::new(links(site_node, &tls)?),
            tls: watch::Sender::new(tls),
            current: AtomicUsize::new(0),
            prefix: format!("/api/v1/sites/{}", site_node.site),
            incarnation: site_node.incarnation.to_string(),
            site_node: site_node.clone(),
        })))
    }

    /// Uses another certificate from the next connection on.
    pub(crate) fn replace(&self, own: &Credentials) -> anyhow::Result<()> {
        let tls = tls(&self.0.site_node, own)?;
        let links = links(&self.0.site_node, &tls)?;
        *self.0.links.write() = links;
        self.0.tls.send_replace(tls);
        Ok(())
    }

    /// The TLS configuration of this site, also for the repository that central
    /// hosts.
    pub(crate) fn tls(&self) -> watch::Receiver<Arc<rustls::ClientConfig>> {
        self.0.tls.subscribe()
    }

    /// The next certificate of this site, for the key of the request.
    pub(crate) async fn renew(&self, csr: String) -> Result<SiteRenewed, CentralError> {
        let body = serde_json::to_vec(&SiteRenewRequest { csr });
        let body = Bytes::from(body.map_err(CentralError::Unreadable)?);
        let answer = self.send_to(Method::POST, "/colony/v1/renew", body, None).await?;
        serde_json::from_slice(&answer.body).map_err(CentralError::Unreadable)
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CentralError> {
        let answer = self.send(Method::GET, path, Bytes::new(), None).await?;
        serde_json::from_slice(&answer.body).map_err(CentralError::Unreadable)
    }

    /// Requests an answer that central may hold for `wait`; `None` if there was
    /// none in that time. Also returns whether central confirms that the site
    /// has everything that Git holds for it.
    pub(crate) async fn await_news<T: DeserializeOwned>(
        &self,
        path: &str,
        wait: Duration,
    ) -> Result<(Option<T>, bool), CentralError> {
        let answer = self.send(Method::GET, path, Bytes::new(), Some(wait)).await?;
        let current = answer.headers.get(GIT_HEADER).is_some_and(|it| it == GIT_CURRENT);
        if answer.status.as_u16() == 304 {
            return Ok((None, current));
        }
        let read = serde_json::from_slice(&answer.body).map_err(CentralError::Unreadable)?;
        Ok((Some(read), current))
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: Bytes,
    ) -> Result<T, CentralError> {
        let answer = self.send(Method::POST, path, body, None).await?;
        serde_json::from_slice(&answer.body).map_err(CentralError::Unreadable)
    }

    /// Sends a request whose answer has no body.
    pub(crate) async fn send_only(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<(), CentralError> {
        self.send(method, path, body, None).await.map(|_| ())
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        wait: Option<Duration>,
    ) -> Result<Answer, CentralError> {
        let path = format!("{}{path}", self.0.prefix);
        self.send_to(method, &path, body, wait).await
    }

    async fn send_to(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        wait: Option<Duration>,
    ) -> Result<Answer, CentralError> {
        let shared = &*self.0;
        let mut headers = vec![(INCARNATION_HEADER, shared.incarnation.as_str())];
        if !body.is_empty() {
            headers.push(("content-type", "application/json"));
        }
        let prefer = wait.map(|it| format!("wait={}", it.as_secs()));
        headers.extend(prefer.as_deref().map(|it| ("prefer", it)));
        let timeout = TIMEOUT + wait.unwrap_or_default();
        let answer = shared.try_all(&method, path, &headers, &body, timeout).await?;
        check(answer)
    }
}

impl Shared {
    async fn try_all(
        &self,
        method: &Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &Bytes,
        timeout: Duration,
    ) -> Result<Answer, CentralError> {
        let first = self.current.load(Ordering::Relaxed);
        let mut last = None;
        let links = self.links.read().clone();
        for turn in 0..links.len() {
            let at = (first + turn) % links.len();
            let sent = links[at].send(method.clone(), path, headers, body.clone(), LIMIT, timeout);
            match sent.await {
                Ok(answer) => {
                    self.current.store(at, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(error) => last = Some(error.into()),
            }
        }
        Err(CentralError::Away(last.unwrap_or_else(|| anyhow::anyhow!("no address is known"))))
    }
}

fn links(site_node: &Membership, tls: &Arc<rustls::ClientConfig>) -> anyhow::Result<Vec<Link>> {
    let link = |url: &String| {
        let link = Link::new(url, Arc::clone(tls));
        link.with_context(|| format!("`{url}` is not an address of a central orchestrator"))
    };
    site_node.central.iter().map(link).collect()
}

/// The TLS configuration of this site for central and for the repository that
/// it hosts.
fn tls(site_node: &Membership, own: &Credentials) -> anyhow::Result<Arc<rustls::ClientConfig>> {
    let expect = SpiffeId::central(&site_node.domain).context("the fleet has no usable name")?;
    let trust = Trust::Roots { pem: &own.roots_pem, expect };
    tls::client_config(Some(own), trust).context("could not use the identity of the site")
}

fn check(answer: Answer) -> Result<Answer, CentralError> {
    if answer.status.is_success() || answer.status.as_u16() == 304 {
        return Ok(answer);
    }
    if answer.status.is_server_error() {
        let said = anyhow::anyhow!("it answered {}: {}", answer.status, detail(&answer));
        return Err(CentralError::Away(said));
    }
    if answer.status == StatusCode::PAYLOAD_TOO_LARGE {
        return Err(CentralError::TooLarge(detail(&answer)));
    }
    let problem = serde_json::from_slice::<Problem>(&answer.body).ok();
    match problem.as_ref().and_then(Kind::of) {
        Some(Kind::Fenced) => Err(fenced(&answer)),
        Some(Kind::Diverged) => Err(CentralError::Diverged(detail(&answer))),
        Some(_) | None => Err(CentralError::Refused(detail(&answer))),
    }
}

fn fenced(answer: &Answer) -> CentralError {
    match serde_json::from_slice::<Fenced>(&answer.body) {
        Ok(it) => CentralError::Fenced { by: it.current },
        Err(error) => CentralError::Unreadable(error),
    }
}

fn detail(answer: &Answer) -> String {
    let problem = serde_json::from_slice::<Problem>(&answer.body).ok();
    let said = problem.map(|it| it.detail.unwrap_or(it.title)).filter(|it| !it.is_empty());
    said.unwrap_or_else(|| format!("status {}", answer.status))
}
