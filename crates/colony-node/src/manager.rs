//! The way to the manager: the site's orchestrator, or any Margo manager.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::Method;

use colony_runtime::{Fetched, Source};
use colony_task::Signal;
use colony_wfm::{Client, Credentials, Link, SpiffeId, Trust, tls};

use crate::Identity;

/// How long a part of an image may take.
const FETCH_LIMIT: Duration = Duration::from_secs(120);

/// The connections to the manager, over whichever address works.
#[derive(Debug)]
pub(crate) struct Manager {
    urls: Vec<String>,
    links: RwLock<Vec<Link>>,
    current: AtomicUsize,
    heard: AtomicBool,
    /// The certificate should be renewed.
    pub(crate) renew: Signal,
    /// It wants to know how the node is.
    pub(crate) health: Signal,
    credentials: RwLock<Credentials>,
}

impl Manager {
    pub(crate) fn new(identity: &Identity) -> anyhow::Result<Manager> {
        let links = connect(&identity.urls, &identity.credentials)?;
        Ok(Manager {
            urls: identity.urls.clone(),
            links: RwLock::new(links),
            current: AtomicUsize::new(0),
            heard: AtomicBool::new(false),
            renew: Signal::default(),
            health: Signal::default(),
            credentials: RwLock::new(identity.credentials.clone()),
        })
    }

    pub(crate) fn link(&self) -> Link {
        let links = self.links.read().unwrap_or_else(PoisonError::into_inner);
        links[self.current.load(Ordering::Relaxed) % links.len()].clone()
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.link())
    }

    /// Tries another address next time.
    pub(crate) fn rotate(&self) {
        self.current.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn heard(&self, heard: bool) {
        self.heard.store(heard, Ordering::Relaxed);
    }

    pub(crate) fn is_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    pub(crate) fn credentials(&self) -> Credentials {
        self.credentials.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Uses other credentials from the next connection on.
    pub(crate) fn replace(&self, credentials: Credentials) -> anyhow::Result<()> {
        let links = connect(&self.urls, &credentials)?;
        *self.links.write().unwrap_or_else(PoisonError::into_inner) = links;
        *self.credentials.write().unwrap_or_else(PoisonError::into_inner) = credentials;
        Ok(())
    }
}

fn connect(urls: &[String], credentials: &Credentials) -> anyhow::Result<Vec<Link>> {
    anyhow::ensure!(!urls.is_empty(), "the invitation named no address of the site");
    let own = credentials.id().context("the node's certificate names nobody")?;
    let (wfm, _) = own.as_wfm_client().context("the certificate is not that of a node")?;
    let expect = SpiffeId::wfm(own.trust_domain(), wfm)?;
    let trust = Trust::Roots { pem: &credentials.roots_pem, expect };
    let config = tls::client_config(Some(credentials), trust)?;
    let link = |url: &String| Link::new(url, config.clone()).with_context(|| format!("bad {url}"));
    urls.iter().map(link).collect()
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
