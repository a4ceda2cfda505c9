//! HTTP/1.1, with TLS except for loopback and hosts listed as insecure.
//! Redirects of a GET are followed; a credential is never sent to another host.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, LOCATION, USER_AGENT};
use http::uri::{Authority, Scheme, Uri};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::blob_feed::BlobFeed;

const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How long an answer may take to begin.
const HEAD_TIME: Duration = Duration::from_secs(30);
const REDIRECTS: usize = 5;
/// The most bytes that `send` reads of an answer.
const CALL_LIMIT: usize = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    #[error("{0}")]
    Unreachable(String),
    #[error("it did not arrive in time")]
    Slow,
    #[error("it is larger than {0} bytes")]
    TooLarge(usize),
    #[error("{0}")]
    Odd(String),
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) bytes: Bytes,
}

/// A request to send. Its body may hold a token.
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) content_type: Option<&'static str>,
    pub(super) body: Bytes,
}

/// Where the body of an answer goes.
#[derive(Clone, Copy)]
pub(super) enum Sink<'a> {
    /// To memory, up to so many bytes.
    Memory(usize),
    /// On to its receiver, if the answer is good.
    Feed(&'a BlobFeed<'a>),
}

#[derive(Debug)]
pub(super) struct Client {
    insecure: BTreeSet<String>,
    tls: OnceLock<Arc<rustls::ClientConfig>>,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Client {
    pub(super) fn new(insecure: BTreeSet<String>) -> Client {
        Client { insecure, tls: OnceLock::new() }
    }

    pub(super) fn url(&self, host: &str, path: &str) -> Result<Uri, HttpError> {
        let scheme = if self.is_insecure(host) { "http" } else { "https" };
        self.absolute(&format!("{scheme}://{host}{path}"))
    }

    /// Parses a URL from another server; without TLS only for insecure hosts.
    pub(super) fn absolute(&self, text: &str) -> Result<Uri, HttpError> {
        let odd = |why: &str| HttpError::Odd(format!("`{text}` {why}"));
        let url: Uri = text.parse().map_err(|_| odd("is not a URL"))?;
        let host = url.authority().ok_or_else(|| odd("names no host"))?;
        match url.scheme_str() {
            Some("https") => Ok(url),
            Some("http") if self.is_insecure(host.as_str()) => Ok(url),
            Some("http") => Err(odd("is without TLS, and its host is not listed as insecure")),
            Some(_) | None => Err(odd("is not on the web")),
        }
    }

    pub(super) fn is_insecure(&self, host: &str) -> bool {
        let name = host.parse::<Authority>().ok();
        let name = name.as_ref().map_or(host, |it| it.host()).trim_matches(['[', ']']);
        let loopback = name.parse::<IpAddr>().is_ok_and(|it| it.is_loopback());
        name == "localhost" || loopback || self.insecure.contains(host)
    }

    pub(super) async fn get(
        &self,
        url: &Uri,
        accept: &str,
        mut authorization: Option<String>,
        sink: Sink<'_>,
    ) -> Result<Answer, HttpError> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS {
            let answer = self.get_once(&url, accept, authorization.as_deref(), sink).await?;
            if !answer.status.is_redirection() {
                return Ok(answer);
            }
            let next = self.redirected(&url, &answer.headers)?;
            authorization = authorization.filter(|_| is_same_host(&url, &next));
            url = next;
        }
        Err(HttpError::Odd(format!("more than {REDIRECTS} redirects")))
    }

    /// Sends a request other than a GET. A redirect is returned as the answer.
    pub(super) async fn send(
        &self,
        url: &Uri,
        call: &Call,
        authorization: Option<&str>,
    ) -> Result<Answer, HttpError> {
        let mut request = request(url, "*/*", authorization)?;
        *request.method_mut() = call.method.clone();
        if let Some(kind) = call.content_type {
            request.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
        }
        *request.body_mut() = Full::new(call.body.clone());
        self.exchange(url, request, Sink::Memory(CALL_LIMIT)).await
    }

    /// The URL an answer's `Location` names, relative or not.
    pub(super) fn redirected(&self, url: &Uri, headers: &HeaderMap) -> Result<Uri, HttpError> {
        let location = headers.get(LOCATION).and_then(|it| it.to_str().ok());
        let location = location.ok_or_else(|| HttpError::Odd("a redirect to nowhere".into()))?;
        if !location.starts_with('/') || location.starts_with("//") {
            return self.absolute(location);
        }
        let host = url.authority().map_or("", Authority::as_str);
        self.absolute(&format!("{}://{host}{location}", url.scheme_str().unwrap_or("https")))
    }

    async fn get_once(
        &self,
        url: &Uri,
        accept: &str,
        authorization: Option<&str>,
        sink: Sink<'_>,
    ) -> Result<Answer, HttpError> {
        self.exchange(url, request(url, accept, authorization)?, sink).await
    }

    async fn exchange(
        &self,
        url: &Uri,
        request: Request<Full<Bytes>>,
        sink: Sink<'_>,
    ) -> Result<Answer, HttpError> {
        let stream = tokio::time::timeout(CONNECT_TIME, self.connect(url)).await;
        let unreachable = |it: io::Error| HttpError::Unreachable(format!("{}: {it}", host(url)));
        let silent = |_| HttpError::Unreachable(format!("{} does not answer", host(url)));
        let stream = stream.map_err(silent)?.map_err(unreachable)?;
        let broken = |it: hyper::Error| HttpError::Unreachable(format!("{}: {it}", host(url)));
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(broken)?;
        let answer = async {
            let head = tokio::time::timeout(HEAD_TIME, sender.send_request(request)).await;
            let head = head.map_err(|_| HttpError::Slow)?.map_err(broken)?;
            let (head, body) = head.into_parts();
            let bytes = match sink {
                Sink::Feed(feed) if head.status == StatusCode::OK => {
                    feed.pass(body).await.map(|()| Bytes::new())?
                }
                Sink::Feed(_) => in_memory(body, url, CALL_LIMIT).await?,
                Sink::Memory(limit) => in_memory(body, url, limit).await?,
            };
            Ok(Answer { status: head.status, headers: head.headers, bytes })
        };
        // The connection has no task of its own: it lives as long as the answer.
        tokio::pin!(answer);
        tokio::select! {
            biased;
            answer = &mut answer => answer,
            _ = connection => answer.await,
        }
    }

    async fn connect(&self, url: &Uri) -> io::Result<Box<dyn Stream>> {
        let name = url.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let secure = url.scheme() == Some(&Scheme::HTTPS);
        let port = url.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let stream = TcpStream::connect((name.as_str(), port)).await?;
        stream.set_nodelay(true)?;
        if !secure {
            return Ok(Box::new(stream));
        }
        let name = ServerName::try_from(name).map_err(io::Error::other)?;
        let connector = TlsConnector::from(self.tls()?);
        Ok(Box::new(connector.connect(name, stream).await?))
    }

    fn tls(&self) -> io::Result<Arc<rustls::ClientConfig>> {
        if let Some(config) = self.tls.get() {
            return Ok(Arc::clone(config));
        }
        let mut roots = rustls::RootCertStore::empty();
        // One unreadable certificate must not make all others useless.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
        let config = Arc::new(builder.with_root_certificates(roots).with_no_client_auth());
        Ok(Arc::clone(self.tls.get_or_init(|| config)))
    }
}

async fn in_memory(body: Incoming, url: &Uri, limit: usize) -> Result<Bytes, HttpError> {
    let body = Limited::new(body, limit).collect().await;
    let body = body.map_err(|it| too_large_or_broken(it.as_ref(), url, limit))?;
    Ok(body.to_bytes())
}

fn request(
    url: &Uri,
    accept: &str,
    authorization: Option<&str>,
) -> Result<Request<Full<Bytes>>, HttpError> {
    let path = url.path_and_query().map_or("/", |it| it.as_str());
    let mut request = Request::get(path)
        .header(HOST, host(url))
        .header(USER_AGENT, concat!("colony/", env!("CARGO_PKG_VERSION")))
        .header(ACCEPT, accept);
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    request.body(Full::default()).map_err(|it| HttpError::Odd(it.to_string()))
}

fn host(url: &Uri) -> &str {
    url.authority().map_or("", Authority::as_str)
}

/// A credential is for one host with its port: it does not follow a redirect elsewhere.
fn is_same_host(one: &Uri, other: &Uri) -> bool {
    one.authority() == other.authority()
}

fn too_large_or_broken(
    error: &(dyn std::error::Error + Send + Sync + 'static),
    url: &Uri,
    limit: usize,
) -> HttpError {
    if error.is::<LengthLimitError>() {
        return HttpError::TooLarge(limit);
    }
    HttpError::Unreachable(format!("{}: {error}", host(url)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_loopback_and_the_listed() {
        check("127.0.0.1:5000", "http");
        check("127.9.9.9", "http");
        check("localhost:5000", "http");
        check("[::1]:5000", "http");
        check("old.example:5000", "http");
        check("old.example", "https");
        check("registry.example", "https");
    }

    #[test]
    fn a_foreign_url_without_tls_is_refused() {
        let client = client();
        assert!(client.absolute("https://anywhere.example/x").is_ok());
        assert!(client.absolute("http://old.example:5000/x").is_ok());
        for text in ["http://anywhere.example/x", "ftp://x/y", "/x", "x"] {
            assert!(client.absolute(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_redirect_leads_to_the_same_host_or_to_a_whole_url() {
        check_redirect("/v2/b?x=1", Some("https://hub.example:1/v2/b?x=1"));
        check_redirect("https://other.example/b", Some("https://other.example/b"));
        check_redirect("//other.example/b", None);
        check_redirect("b", None);
        check_redirect("http://other.example/b", None);
    }

    #[test]
    fn a_credential_stays_with_its_host() {
        let url = |it: &str| it.parse::<Uri>().unwrap();
        let first = url("https://hub.example/v2/a");
        assert!(is_same_host(&first, &url("https://hub.example/v2/b")));
        for other in ["https://other.example/v2/a", "https://hub.example:8443/v2/a"] {
            assert!(!is_same_host(&first, &url(other)), "{other}");
        }
    }

    #[track_caller]
    fn check_redirect(location: &'static str, expected: Option<&str>) {
        let url: Uri = "https://hub.example:1/v2/a".parse().unwrap();
        assert_eq!(host(&url), "hub.example:1");
        let headers = HeaderMap::from_iter([(LOCATION, http::HeaderValue::from_static(location))]);
        let next = client().redirected(&url, &headers).ok().map(|it| it.to_string());
        assert_eq!(next.as_deref(), expected, "{location}");
    }

    #[track_caller]
    fn check(host: &str, scheme: &str) {
        let url = client().url(host, "/v2/").unwrap();
        assert_eq!(url.scheme_str(), Some(scheme), "{host}");
    }

    fn client() -> Client {
        Client::new(BTreeSet::from(["old.example:5000".to_owned()]))
    }
}
