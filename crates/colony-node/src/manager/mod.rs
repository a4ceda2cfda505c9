//! The connection to the manager: the site's orchestrator, or any Margo
//! manager. Beside it: the tasks that use it, to poll, report, send the health
//! of the node and answer requests for logs.

pub(crate) mod logs;
pub(crate) mod poll;
pub(crate) mod relay;
pub(crate) mod report;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::Method;
use parking_lot::RwLock;

use colony_process::Signal;
use colony_runtime::{Fetched, Source};
use colony_wfm::{Client, ClientError, Credentials, Link, SpiffeId, Trust, tls};

use crate::Identity;

/// How long the fetch of an image part may take.
const FETCH_LIMIT: Duration = Duration::from_secs(120);

/// After this many responses in a row that refuse the node, it counts as refused
/// for good.
const REFUSALS: usize = 5;

/// The site no longer accepts this node, so the process ends. It leaves its
/// containers alone, and only another invitation helps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "site {site} refuses this node ({said}): it was retired, or its name was given to another \
     machine. Its containers keep running. To let it join again, print an invitation with \
     `colony node invite --site {site}` and run here: colony node --join <invitation>"
)]
pub struct NodeRefused {
    pub site: String,
    pub said: String,
}

/// The connections to the manager, over whichever address works.
#[derive(Debug)]
pub(crate) struct Manager {
    site: String,
    urls: Vec<String>,
    links: RwLock<Vec<Link>>,
    current: AtomicUsize,
    reachable: AtomicBool,
    /// The number of refusals in a row.
    refusals: AtomicUsize,
    /// The certificate should be renewed.
    pub(crate) renew: Signal,
    /// The manager requests a health report.
    pub(crate) health: Signal,
    credentials: RwLock<Credentials>,
}

impl Manager {
    pub(crate) fn new(identity: &Identity) -> anyhow::Result<Manager> {
        let links = connect(&identity.urls, &identity.credentials)?;
        Ok(Manager {
            site: identity.site.clone(),
            urls: identity.urls.clone(),
            links: RwLock::new(links),
            current: AtomicUsize::new(0),
            reachable: AtomicBool::new(false),
            refusals: AtomicUsize::new(0),
            renew: Signal::default(),
            health: Signal::default(),
            credentials: RwLock::new(identity.credentials.clone()),
        })
    }

    pub(crate) fn link(&self) -> Link {
        let links = self.links.read();
        links[self.current.load(Ordering::Relaxed) % links.len()].clone()
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.link())
    }

    /// Tries another address next time.
    pub(crate) fn try_next_address(&self) {
        self.current.fetch_add(1, Ordering::Relaxed);
    }

    /// Records the outcome of a call. Fails after so many refusals in a row
    /// that further calls would change nothing.
    pub(crate) fn record_result(&self, error: Option<&ClientError>) -> Result<(), NodeRefused> {
        match error.filter(|it| refuses_node(it)) {
            None => {
                self.refusals.store(0, Ordering::Relaxed);
                Ok(())
            }
            Some(error) => {
                let before = self.refusals.fetch_add(1, Ordering::Relaxed);
                if before + 1 < REFUSALS {
                    return Ok(());
                }
                let (said, site) = (error.to_string(), self.site.clone());
                Err(NodeRefused { site, said })
            }
        }
    }

    pub(crate) fn set_reachable(&self, reachable: bool) {
        self.reachable.store(reachable, Ordering::Relaxed);
    }

    pub(crate) fn is_reachable(&self) -> bool {
        self.reachable.load(Ordering::Relaxed)
    }

    pub(crate) fn credentials(&self) -> Credentials {
        self.credentials.read().clone()
    }

    /// Uses other credentials from the next connection on.
    pub(crate) fn replace(&self, credentials: Credentials) -> anyhow::Result<()> {
        let links = connect(&self.urls, &credentials)?;
        *self.links.write() = links;
        *self.credentials.write() = credentials;
        Ok(())
    }
}

fn connect(urls: &[String], credentials: &Credentials) -> anyhow::Result<Vec<Link>> {
    anyhow::ensure!(!urls.is_empty(), "the invitation named no address of the site");
    let own = credentials.id().context("the node's certificate has no identity")?;
    let (wfm, _) = own.as_wfm_client().context("the certificate is not that of a node")?;
    let expect = SpiffeId::wfm(own.trust_domain(), wfm)?;
    let trust = Trust::Roots { pem: &credentials.roots_pem, expect };
    let config = tls::client_config(Some(credentials), trust)?;
    let link = |url: &String| Link::new(url, config.clone()).with_context(|| format!("bad {url}"));
    urls.iter().map(link).collect()
}

/// The manager has identified the node and refuses to serve it.
pub(crate) fn refuses_node(error: &ClientError) -> bool {
    matches!(error, ClientError::Problem { problem, .. } if problem.status == 403)
}

#[async_trait::async_trait]
impl Source for Manager {
    async fn fetch(&self, path: &str, accept: &str, limit: usize) -> Result<Fetched, String> {
        let headers = [("accept", accept)];
        let link = self.link();
        let sent = link.send(Method::GET, path, &headers, Bytes::new(), limit, FETCH_LIMIT).await;
        let answer = sent.map_err(|it| it.to_string())?;
        let content_type = answer.headers.get(http::header::CONTENT_TYPE);
        let content_type = content_type.and_then(|it| it.to_str().ok()).unwrap_or_default();
        Ok(Fetched {
            status: answer.status.as_u16(),
            content_type: content_type.to_owned(),
            bytes: answer.body,
        })
    }
}

#[cfg(test)]
mod tests {
    use colony_core::margo::Problem;

    use super::*;

    #[test]
    fn a_node_that_is_refused_again_and_again_ends() {
        let (_, manager) = crate::kit::sample::joined();
        let said = |status| {
            let problem = Box::new(Problem::about_blank(status));
            ClientError::Problem { problem, retry_after: None }
        };
        for _ in 1..REFUSALS {
            assert_eq!(manager.record_result(Some(&said(403))), Ok(()));
        }
        assert_eq!(manager.record_result(Some(&said(503))), Ok(()), "that is not a refusal");
        for _ in 1..REFUSALS {
            assert_eq!(manager.record_result(Some(&said(403))), Ok(()));
        }
        let refused = manager.record_result(Some(&said(403))).expect_err("it is refused");
        assert!(refused.to_string().contains("colony node invite --site home"), "{refused}");
    }

    #[test]
    fn manager_is_reachable_as_the_last_call_says() {
        let (_, manager) = crate::kit::sample::joined();
        assert!(!manager.is_reachable(), "nothing was asked yet");
        for reachable in [true, false] {
            manager.set_reachable(reachable);
            assert_eq!(manager.is_reachable(), reachable);
        }
    }
}
