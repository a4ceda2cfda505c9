//! Git over HTTP on a connection that stays open between fetches.
//!
//! gix brings a client per fetch; a handshake of TLS costs more than all the
//! rest of one. Here the client belongs to whoever fetches again and again,
//! and a request is sent when its answer is first asked for.

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
use crate::limit::Meter;
use crate::remote::Address;
use crate::{Auth, Remote};
use exchange::{Body, Exchange, Failure, Headers, PostBody};

/// Of one step: to connect, to be answered, to read on.
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
    builder.build().map_err(|it| Error::Remote { doing: "set TLS up", problem: problem::of(&it) })
}

/// Who shows a token or a certificate shows it to the address it was told, and to no other.
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

/// reqwest is built without a provider of its own and panics where there is none.
fn provide_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Somebody else may have been quicker.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

/// One conversation over the client.
pub(crate) struct Line {
    client: Client,
    authorization: Option<String>,
    /// Where the first answer came from, if that is elsewhere.
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

    /// gix wraps what it is told; here it stays as it was.
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
            // The agent is ours.
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
        // Where it was redirected to must be known before the next request is made.
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

    /// What is configured in files is for the git program.
    fn configure(&mut self, _config: &dyn Any) -> gix::Result {
        Ok(())
    }

    fn redirected_base_url(&self) -> Option<String> {
        self.moved.lock().clone()
    }
}
