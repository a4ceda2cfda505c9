//! A site with its authority, its members and a server at a free port.

pub(crate) mod manager;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::{Next, from_fn};
use bytes::Bytes;
use colony_wfm::{
    Answer, Authority, ClientAuth, Credentials, Link, LinkError, Peer, PrivateKey, Reloader,
    SpiffeId, TlsListener, Trust, tls,
};
use http::Method;
use rustls::pki_types::UnixTime;
use tokio::task::JoinHandle;

pub(crate) const DAY: Duration = Duration::from_secs(86_400);

/// A trust domain with one manager, `a`.
pub(crate) struct Site {
    pub(crate) authority: Authority,
}

impl Site {
    pub(crate) fn new(domain: &str) -> Site {
        Site { authority: Authority::create(domain, now()).unwrap() }
    }

    pub(crate) fn wfm(&self) -> SpiffeId {
        SpiffeId::wfm(self.authority.trust_domain(), "a").unwrap()
    }

    pub(crate) fn server(&self) -> Credentials {
        self.member(&self.wfm(), now())
    }

    pub(crate) fn node(&self, name: &str) -> Credentials {
        let id = SpiffeId::wfm_client(self.authority.trust_domain(), "a", name).unwrap();
        self.member(&id, now())
    }

    /// A peer whose certificate was made at `from` for a day.
    pub(crate) fn member(&self, id: &SpiffeId, from: i64) -> Credentials {
        let key = PrivateKey::generate().unwrap();
        let chain = self.authority.sign(&key.csr().unwrap(), id, &[], from, DAY).unwrap();
        self.credentials(chain, key.to_pem())
    }

    pub(crate) fn credentials(&self, chain_pem: String, key_pem: String) -> Credentials {
        Credentials { chain_pem, key_pem, roots_pem: self.authority.root_pem().to_owned() }
    }

    /// A link of a member to the site's manager.
    pub(crate) fn link(&self, own: &Credentials, server: &Server) -> Link {
        let trust = Trust::Roots { pem: self.authority.root_pem(), expect: self.wfm() };
        Link::new(&server.url, tls::client_config(Some(own), trust).unwrap()).unwrap()
    }
}

/// A server that ends when it is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) addr: SocketAddr,
    pub(crate) reloader: Reloader,
    task: JoinHandle<()>,
    seen: Arc<Mutex<BTreeSet<SocketAddr>>>,
}

impl Server {
    pub(crate) async fn start(app: Router, own: &Credentials, clients: ClientAuth) -> Server {
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let noted = seen.clone();
        let note = move |ConnectInfo(peer): ConnectInfo<Peer>, request: Request, next: Next| {
            noted.lock().unwrap().insert(peer.addr);
            next.run(request)
        };
        let config = tls::server_config(own, clients).unwrap();
        let listener = TlsListener::bind(([127, 0, 0, 1], 0).into(), config).await.unwrap();
        let (addr, reloader) = (listener.local_addr(), listener.reloader());
        let (app, stop) = (app.layer(from_fn(note)), std::future::pending());
        let task = tokio::spawn(colony_wfm::serve(listener, app, Peer::of, stop, Duration::ZERO));
        Server { url: format!("https://{addr}"), addr, reloader, task, seen }
    }

    /// How many connections had requests.
    pub(crate) fn connections(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) async fn get(link: &Link, path: &str) -> Result<Answer, LinkError> {
    send(link, Method::GET, path, &[], "").await
}

pub(crate) async fn send(
    link: &Link,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<String>,
) -> Result<Answer, LinkError> {
    let body = Bytes::from(body.into());
    link.send(method, path, headers, body, 1 << 20, Duration::from_secs(10)).await
}

/// An error with all its causes.
pub(crate) fn error_text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(it) = cause {
        text = format!("{text}: {it}");
        cause = it.source();
    }
    text
}

pub(crate) fn now() -> i64 {
    UnixTime::now().as_secs().try_into().unwrap()
}
