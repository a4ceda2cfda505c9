//! `/healthz`, `/readyz` and `/metrics`, for this machine alone.

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
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use colony_wfm::Readiness;

use crate::manager::Manager;
use crate::metrics;
use crate::vitals::Vitals;

/// More than these at once wait.
const CONNECTIONS: usize = 16;
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PATIENCE: Duration = Duration::from_secs(10);

/// A port that is bound, before anything is served on it.
#[derive(Debug)]
pub(crate) struct Listener(TcpListener, SocketAddr);

impl Listener {
    pub(crate) async fn bind(address: SocketAddr) -> anyhow::Result<Listener> {
        let bound = TcpListener::bind(address).await;
        let listener = bound.with_context(|| {
            format!("could not listen on {address} for /healthz (--health names another, or off)")
        })?;
        let address = listener.local_addr()?;
        Ok(Listener(listener, address))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.1
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
                if let Ok((stream, _)) = accepted {
                    open.spawn(serve(stream, page.clone()));
                }
            }
        }
    }
}

async fn serve(stream: TcpStream, page: Page) {
    let service = service_fn(move |request| answer(request, page.clone()));
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(16 * 1024);
    // Whoever hangs up hangs up.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(
    request: Request<Incoming>,
    page: Page,
) -> Result<Response<Full<Bytes>>, Infallible> {
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
        let readiness = Readiness::unless(self.reasons().await);
        let (kind, body) = readiness.body(headers);
        (readiness.status(), kind, body)
    }

    async fn reasons(&self) -> Vec<String> {
        let mut reasons = self.vitals.reasons().await;
        if !self.manager.is_heard() {
            reasons.push("the manager does not answer; the last accepted state is kept".to_owned());
        }
        reasons
    }

    async fn metrics(&self) -> String {
        let engine = self.vitals.engine().await.is_ok();
        metrics::render(&self.vitals.brain, &self.manager, engine)
    }
}
