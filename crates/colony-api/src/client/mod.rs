//! A thin client of the operator API: one typed method per endpoint.
//!
//! Connects to the central orchestrator over TLS with a bearer token, or to a
//! local one over its Unix socket, where the file's permission is the login.
//! Left out on purpose: retries of requests. The caller is a person and sees
//! the error.

mod catalog;
mod change;
mod deployment;
mod error;
mod event;
mod site;
pub(crate) mod sse;
mod token;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Problem;
use crate::request::{ListQuery, PAGE_LIMIT};

pub use error::Error;
pub use event::{EventStream, Signal};

/// The largest response that is accepted.
const ANSWER_LIMIT: usize = 32 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Logs come from a node through both orchestrators: a response takes no
/// longer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The address of a central orchestrator, and the credentials for it.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    pub url: String,
    pub token: Option<String>,
    /// The fleet's own CA. With it nothing else is trusted and the host name
    /// does not matter; without it the roots of this machine are trusted.
    pub ca_pem: Option<String>,
}

/// A token grants access, so it is not printed.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("url", &self.url).finish_non_exhaustive()
    }
}

/// A client of one orchestrator. Cheap to clone; connections are shared and
/// kept.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    token: Option<String>,
    /// The name of the server in messages.
    name: String,
}

impl Client {
    pub fn new(server: Server) -> Result<Client, Error> {
        let base = read_url(&server.url)?;
        // If a provider was installed before, that one is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = reqwest::Client::builder();
        if let Some(pem) = &server.ca_pem {
            let roots = reqwest::Certificate::from_pem_bundle(pem.as_bytes())
                .map_err(|source| Error::Setup { doing: "read the CA certificate", source })?;
            if roots.is_empty() {
                return Err(Error::NoCertificate);
            }
            http = http.tls_certs_only(roots).tls_danger_accept_invalid_hostnames(true);
        }
        Client::build(http, base, server.token, server.url)
    }

    /// A client of the local orchestrator that listens on `path`.
    pub fn unix(path: &Path) -> Result<Client, Error> {
        // reqwest sets up TLS in any case.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().unix_socket(path).no_proxy();
        let base = read_url("http://localhost")?;
        Client::build(http, base, None, path.display().to_string())
    }

    fn build(
        http: reqwest::ClientBuilder,
        base: Url,
        token: Option<String>,
        name: String,
    ) -> Result<Client, Error> {
        let http =
            http.connect_timeout(CONNECT_TIMEOUT).redirect(reqwest::redirect::Policy::none());
        let http =
            http.build().map_err(|source| Error::Setup { doing: "set up the client", source })?;
        Ok(Client { http, base, token, name })
    }

    /// The name of the server in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A request of a path below `/api/v1`; segments may hold anything.
    fn request(&self, method: Method, segments: &[&str]) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["api", "v1"]).extend(segments);
        }
        let request = self.http.request(method, url);
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn get<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        query: &impl Serialize,
    ) -> Result<T, Error> {
        self.answer(self.request(Method::GET, segments).query(query)).await
    }

    /// All of a list, page by page.
    async fn list<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        site: Option<&str>,
        name: impl Fn(&T) -> String,
    ) -> Result<Vec<T>, Error> {
        let mut query = ListQuery { site: site.map(str::to_owned), ..ListQuery::default() };
        let mut all: Vec<T> = Vec::new();
        loop {
            let page: Vec<T> = self.get(segments, &query).await?;
            let full = page.len() >= PAGE_LIMIT as usize;
            query.after = page.last().map(&name);
            all.extend(page);
            if !full {
                return Ok(all);
            }
        }
    }

    async fn post<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        body: &impl Serialize,
    ) -> Result<T, Error> {
        self.answer(self.request(Method::POST, segments).json(body)).await
    }

    async fn answer<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Error> {
        let response = self.send(request.timeout(REQUEST_TIMEOUT)).await?;
        let bytes = self.read(response).await?;
        // A response without content is read as JSON `null`.
        let bytes = if bytes.is_empty() { b"null".as_slice() } else { &bytes };
        serde_json::from_slice(bytes)
            .map_err(|source| Error::Answer { server: self.name.clone(), source })
    }

    /// The response, if its status is a success.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let response = request.send().await.map_err(|source| self.unreachable(source))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let bytes = self.read(response).await.unwrap_or_default();
        let blank = || Problem::about_blank(status);
        let mut problem = serde_json::from_slice::<Problem>(&bytes).unwrap_or_else(|_| blank());
        if problem.status == 0 {
            problem.status = status;
        }
        Err(Error::Problem(Box::new(problem)))
    }

    async fn read(&self, response: Response) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|source| self.unreachable(source))?;
            if bytes.len() + chunk.len() > ANSWER_LIMIT {
                return Err(Error::TooLarge { server: self.name.clone(), limit: ANSWER_LIMIT });
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    fn unreachable(&self, source: reqwest::Error) -> Error {
        Error::Unreachable { server: self.name.clone(), source: source.without_url() }
    }
}

fn read_url(text: &str) -> Result<Url, Error> {
    let url = Url::parse(text).ok().filter(|it| matches!(it.scheme(), "http" | "https"));
    url.filter(Url::has_host).ok_or_else(|| Error::Url(text.to_owned()))
}
