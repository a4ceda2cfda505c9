//! Git over HTTP on a connection that stays open between fetches.
//!
//! gix creates a client per fetch; a TLS handshake costs more than the rest of
//! a fetch. Here the caller keeps the client between fetches, and a request is
//! sent when its answer is first read.

mod exchange;
mod problem;

use std::any::Any;
use std::io::BufReader;
use std::sync::Arc;
use std::time::Duration;

use gix::protocol::transport::client::blocking_io::http::{
    GetResponse, Http, PostBodyDataKind, PostResponse,
};
use parking_lot::Mutex;
use reqwest::blocking::{Client, RequestBuilder};
use reqwest::redirect::{Attempt, Policy};

use crate::error::Error;
use crate::transport::limit::Meter;
use crate::transport::remote::Address;
use crate::{Auth, Remote};
use exchange::{Body, Exchange, Failure, Headers, PostBody};

/// For each phase: to connect, to get an answer, to read on.
const TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a connection stays open. It outlasts the half minute between two
/// fetches of a site that gets no hints.
const IDLE: Duration = Duration::from_secs(75);
/// The same where fetches follow hints. Each open connection costs the central
/// orchestrator 25 kB, the next fetch may be days away, and the requests of one
/// fetch follow each other at once.
const IDLE_HINTED: Duration = Duration::from_secs(3);
const REDIRECTS: usize = 5;
const AGENT: &str = concat!("git/colony-", env!("CARGO_PKG_VERSION"));

/// A client for one remote; its connections are used again.
pub(crate) fn client(remote: &Remote, address: &Address) -> Result<Client, Error> {
    provide_crypto();
    let mut builder = Client::builder()
        .user_agent(AGENT)
        .timeout(TIMEOUT)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE)
        .redirect(redirects(&remote.auth, address));
    // A certificate is shown to the central orchestrator, which sends hints.
    if let Auth::Mtls { tls } = &remote.auth {
        builder = builder
            .pool_idle_timeout(IDLE_HINTED)
            .tls_backend_preconfigured(rustls::ClientConfig::clone(tls));
    }
    builder.build().map_err(|it| Error::Remote { doing: "set up TLS", problem: problem::of(&it) })
}

/// A token or a certificate is sent only to the configured address, so
/// redirects are not followed with either.
fn redirects(auth: &Auth, address: &Address) -> Policy {
    match (auth, &address.authorization) {
        (Auth::None | Auth::Ssh, None) => Policy::custom(redirect),
        (Auth::None | Auth::Ssh | Auth::Token(_) | Auth::Mtls { .. }, _) => Policy::none(),
    }
}

fn redirect(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let downgrade = attempt.url().scheme() == "http"
        && attempt.previous().iter().any(|it| it.scheme() == "https");
    match downgrade || attempt.previous().len() > REDIRECTS {
        true => attempt.stop(),
        false => attempt.follow(),
    }
}

/// reqwest is built without a crypto provider and panics if none is installed.
fn provide_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may have installed it first.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

/// One Git session over the client.
pub(crate) struct Line {
    client: Client,
    authorization: Option<String>,
    /// The base URL after a redirect, if there was one.
    moved: Arc<Mutex<Option<String>>>,
    failure: Failure,
    meter: Arc<Meter>,
}

impl Line {
    pub(crate) fn new(client: Client, authorization: Option<String>, meter: Arc<Meter>) -> Line {
        let (moved, failure) = (Arc::default(), Failure::default());
        Line { client, authorization, moved, failure, meter }
    }

    fn body(&self, exchange: &Arc<Mutex<Exchange>>) -> BufReader<Body> {
        let (exchange, meter) = (Arc::clone(exchange), Arc::clone(&self.meter));
        BufReader::new(Body { exchange, response: None, meter })
    }

    /// The original error of this session; gix wraps it.
    pub(crate) fn failure(&self) -> Failure {
        self.failure.clone()
    }

    fn exchange(
        &self,
        request: RequestBuilder,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
        tail: Option<String>,
    ) -> Arc<Mutex<Exchange>> {
        let mut request = request;
        for line in headers {
            // The user agent is set by the client.
            if let Some((name, value)) = line.as_ref().split_once(':')
                && !name.eq_ignore_ascii_case("user-agent")
            {
                request = request.header(name, value.trim());
            }
        }
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        Arc::new(Mutex::new(Exchange {
            request: Some(request),
            body: Vec::new(),
            answer: None,
            tail,
            moved: Arc::clone(&self.moved),
            failure: self.failure(),
        }))
    }
}

impl Http for Line {
    type Headers = BufReader<Headers>;
    type ResponseBody = BufReader<Body>;
    type PostBody = PostBody;

    fn get(
        &mut self,
        url: &str,
        base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> gix::Result<GetResponse<Self::Headers, Self::ResponseBody>> {
        let tail = url.strip_prefix(base_url).map(str::to_owned);
        let exchange = self.exchange(self.client.get(url), headers, tail);
        // The redirect target must be known before the next request is made.
        exchange.lock().send();
        let body = self.body(&exchange);
        Ok(GetResponse { headers: BufReader::new(Headers { exchange, text: None }), body })
    }

    fn post(
        &mut self,
        url: &str,
        _base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
        _body: PostBodyDataKind,
    ) -> gix::Result<PostResponse<Self::Headers, Self::ResponseBody, Self::PostBody>> {
        let exchange = self.exchange(self.client.post(url), headers, None);
        let body = self.body(&exchange);
        let post_body = PostBody(Arc::clone(&exchange));
        let headers = BufReader::new(Headers { exchange, text: None });
        Ok(PostResponse { post_body, headers, body })
    }

    /// The configuration files are for the git program.
    fn configure(&mut self, _config: &dyn Any) -> gix::Result {
        Ok(())
    }

    fn redirected_base_url(&self) -> Option<String> {
        self.moved.lock().clone()
    }
}
