//! Git over HTTP on a connection that stays open between fetches.
//!
//! gix brings a client per fetch; a handshake of TLS costs more than all the
//! rest of one. Here the client belongs to whoever fetches again and again,
//! and a request is sent when its answer is first asked for.

mod problem;

use std::any::Any;
use std::io::{self, BufReader, Cursor, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gix::protocol::transport::client::blocking_io::http::{
    GetResponse, Http, PostBodyDataKind, PostResponse,
};
use reqwest::blocking::{Client, RequestBuilder, Response};
use reqwest::redirect::{Attempt, Policy};

use crate::error::Error;
use crate::remote::Address;
use crate::{Auth, Remote};

/// Of one step: to connect, to be answered, to read on.
const TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Longer than the pause between two fetches that nobody asked for.
const IDLE: Duration = Duration::from_secs(75);
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
    if let Auth::Mtls { tls } = &remote.auth {
        builder = builder.tls_backend_preconfigured(rustls::ClientConfig::clone(tls));
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
}

/// What went wrong in a conversation, as the server or the connection said it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<(String, bool)>>>);

impl Failure {
    /// The problem, and whether we were not let in.
    pub(crate) fn take(&self) -> Option<(String, bool)> {
        lock(&self.0).take()
    }

    fn note(&self, error: &io::Error) {
        let refused = error.kind() == io::ErrorKind::PermissionDenied;
        *lock(&self.0) = Some((error.to_string(), refused));
    }
}

impl Line {
    pub(crate) fn new(client: Client, authorization: Option<String>) -> Line {
        Line { client, authorization, moved: Arc::default(), failure: Failure::default() }
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
        lock(&exchange).send();
        let body = BufReader::new(Body { exchange: Arc::clone(&exchange), response: None });
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
        let body = BufReader::new(Body { exchange: Arc::clone(&exchange), response: None });
        let post_body = PostBody(Arc::clone(&exchange));
        let headers = BufReader::new(Headers { exchange, text: None });
        Ok(PostResponse { post_body, headers, body })
    }

    /// What is configured in files is for the git program.
    fn configure(&mut self, _config: &dyn Any) -> gix::Result {
        Ok(())
    }

    fn redirected_base_url(&self) -> Option<String> {
        lock(&self.moved).clone()
    }
}

/// A request with its answer.
pub(crate) struct Exchange {
    request: Option<RequestBuilder>,
    body: Vec<u8>,
    answer: Option<io::Result<Response>>,
    tail: Option<String>,
    moved: Arc<Mutex<Option<String>>>,
    failure: Failure,
}

impl Exchange {
    fn send(&mut self) {
        let Some(request) = self.request.take() else { return };
        let answer = request.body(std::mem::take(&mut self.body)).send();
        let answer = answer.map_err(|it| problem::error(&it)).and_then(problem::judged);
        if let (Ok(it), Some(tail)) = (&answer, &self.tail) {
            // The same as before if nobody redirected.
            *lock(&self.moved) = it.url().as_str().strip_suffix(tail.as_str()).map(str::to_owned);
        }
        if let Err(error) = &answer {
            self.failure.note(error);
        }
        self.answer = Some(answer);
    }

    fn headers(&mut self) -> io::Result<Vec<u8>> {
        self.send();
        let answer = match self.answer.as_mut() {
            Some(Ok(it)) => it,
            Some(Err(_)) | None => return Err(self.failure()),
        };
        let line =
            |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
                [name.as_str().as_bytes(), b":", value.as_bytes(), b"\n"].concat()
            };
        Ok(answer.headers().iter().flat_map(line).collect())
    }

    fn response(&mut self) -> io::Result<Response> {
        self.send();
        match self.answer.take() {
            Some(answer) => answer,
            None => Err(self.failure()),
        }
    }

    fn failure(&mut self) -> io::Error {
        match self.answer.take() {
            Some(Err(error)) => error,
            Some(Ok(_)) | None => io::Error::other("the answer was read before"),
        }
    }
}

/// The answer's headers, a line each.
pub(crate) struct Headers {
    exchange: Arc<Mutex<Exchange>>,
    text: Option<Cursor<Vec<u8>>>,
}

impl Read for Headers {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.text.is_none() {
            self.text = Some(Cursor::new(lock(&self.exchange).headers()?));
        }
        self.text.as_mut().map_or(Ok(0), |it| it.read(buf))
    }
}

/// The answer itself.
pub(crate) struct Body {
    exchange: Arc<Mutex<Exchange>>,
    response: Option<Response>,
}

impl Read for Body {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.response.is_none() {
            self.response = Some(lock(&self.exchange).response()?);
        }
        self.response.as_mut().map_or(Ok(0), |it| it.read(buf))
    }
}

/// A connection is used again only if its last answer was read to the end.
impl Drop for Body {
    fn drop(&mut self) {
        const REST: u64 = 1024;
        if let Some(response) = &mut self.response {
            // What cannot be read ends the connection, no more.
            let _ = io::copy(&mut response.take(REST), &mut io::sink());
        }
    }
}

/// What is asked, kept until the answer is wanted.
pub(crate) struct PostBody(Arc<Mutex<Exchange>>);

impl Write for PostBody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).body.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
