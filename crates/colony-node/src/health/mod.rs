//! The health of the node (`vitals`), and `/healthz`, `/readyz` and `/metrics`
//! for this machine alone.

mod metrics;
pub(crate) mod vitals;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use colony_wfm::Readiness;

use crate::health::vitals::Vitals;
use crate::manager::Manager;

/// The most connections at once; further ones wait.
const CONNECTIONS: usize = 16;
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest life of a connection: a client that does not read its answers
/// must not occupy one forever.
const LIFE: Duration = Duration::from_secs(60);
/// The pause after a failed accept, such as without free descriptors.
const PAUSE: Duration = Duration::from_millis(200);

type Answer = Result<Response<Full<Bytes>>, Infallible>;

/// A port that is bound, before anything is served on it.
#[derive(Debug)]
pub(crate) struct Listener(TcpListener);

impl Listener {
    pub(crate) async fn bind(address: SocketAddr) -> anyhow::Result<Listener> {
        let bound = TcpListener::bind(address).await;
        let listener = bound.with_context(|| {
            format!("could not listen on {address} for /healthz (--health names another, or off)")
        })?;
        Ok(Listener(listener))
    }
}

#[derive(Clone)]
struct Page {
    vitals: Vitals,
    manager: Arc<Manager>,
}

pub(crate) async fn run(
    listener: Listener,
    vitals: Vitals,
    manager: Arc<Manager>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let page = Page { vitals, manager };
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            Some(_) = open.join_next() => {}
            accepted = listener.0.accept(), if open.len() < CONNECTIONS => {
                match accepted {
                    Ok((stream, _)) => {
                        let page = page.clone();
                        open.spawn(serve(stream, move |it| answer(it, page.clone())));
                    }
                    Err(error) => {
                        debug!("could not accept a connection: {error}");
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
        }
    }
}

async fn serve<S, A, R>(stream: S, answer: A)
where
    S: AsyncRead + AsyncWrite + Unpin,
    A: Fn(Request<Incoming>) -> R,
    R: Future<Output = Answer>,
{
    let service = service_fn(answer);
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(16 * 1024);
    // A client may disconnect at any time.
    let served = server.serve_connection(TokioIo::new(stream), service);
    let _ = tokio::time::timeout(LIFE, served).await;
}

async fn answer(request: Request<Incoming>, page: Page) -> Answer {
    let text = |status, text: String| (status, "text/plain; charset=utf-8", text);
    let (status, kind, body) = match request.uri().path() {
        "/healthz" => text(StatusCode::OK, "ok\n".to_owned()),
        "/readyz" => page.ready(request.headers()).await,
        "/metrics" => (StatusCode::OK, METRICS, page.metrics().await),
        _ => text(StatusCode::NOT_FOUND, "there are /healthz, /readyz and /metrics\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}

impl Page {
    async fn ready(&self, headers: &HeaderMap) -> (StatusCode, &'static str, String) {
        let readiness = self.readiness().await;
        let (kind, body) = readiness.body(headers);
        (readiness.status(), kind, body)
    }

    async fn readiness(&self) -> Readiness {
        let mut readiness = self.vitals.readiness().await;
        if !self.manager.is_reachable() {
            let silent = "the manager does not answer; the last accepted state is kept";
            readiness.reasons.push(silent.to_owned());
            readiness.ready = false;
        }
        readiness
    }

    async fn metrics(&self) -> String {
        let engine = self.vitals.engine().await.is_ok();
        metrics::render(&self.vitals.brain, &self.manager, engine)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_says_or_reads_nothing_loses_the_connection() {
        check("").await;
        check("GET / HTTP/1.1\r\n").await;
        check("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        check("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n").await;
    }

    /// The client stays connected, sends `words` and reads nothing.
    async fn check(words: &str) {
        let (mut client, server) = tokio::io::duplex(64);
        let large = Bytes::from(vec![b'x'; 1024]);
        let answer = move |_| std::future::ready(Ok(Response::new(Full::new(large.clone()))));
        let said = async {
            let _ = client.write_all(words.as_bytes()).await;
            std::future::pending::<()>().await;
        };
        let served = tokio::time::timeout(LIFE * 2, serve(server, answer));
        tokio::select! {
            served = served => assert!(served.is_ok(), "{words:?} keeps its place"),
            () = said => {}
        }
    }
}
