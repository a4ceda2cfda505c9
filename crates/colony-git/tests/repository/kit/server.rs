//! A real HTTP server around `serve`, with or without TLS and a password.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use colony_git::serve::{self, BODY_LIMIT, Service};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

type Answer = Response<Full<Bytes>>;

/// A server in a thread of its own, which ends when this is dropped.
pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    mute: Arc<AtomicBool>,
    connections: Arc<AtomicUsize>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone)]
struct App {
    git: serve::Server,
    /// The value of `Authorization` that is let in.
    login: Option<String>,
    /// Do what is asked, and do not say so.
    mute: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(dir: &Path, login: Option<&str>, tls: Option<TlsAcceptor>) -> Server {
        Server::start_at(([127, 0, 0, 1], 0).into(), dir, login, tls)
    }

    pub(crate) fn start_at(
        addr: SocketAddr,
        dir: &Path,
        login: Option<&str>,
        tls: Option<TlsAcceptor>,
    ) -> Server {
        let mute = Arc::new(AtomicBool::new(false));
        let login = login.map(str::to_owned);
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let app = App { git: serve::Server::new(dir), login, mute: Arc::clone(&mute) };
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                let listener = TcpListener::bind(addr).await.expect("a port");
                tell.send(listener.local_addr().expect("an address")).expect("heard");
                tokio::select! { () = accept(listener, app, tls, &count) => (), _ = stopped => () }
            });
        });
        let addr = told.recv().expect("started");
        Server { addr, mute, connections, stop: Some(stop), thread: Some(thread) }
    }

    /// The answer to the next push gets lost.
    pub(crate) fn lose_answer(&self) {
        self.mute.store(true, Ordering::SeqCst);
    }

    /// How many were opened to it.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}/git/deployments.git", self.addr)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().map(JoinHandle::join).transpose().expect("the server does not panic");
    }
}

async fn accept(listener: TcpListener, app: App, tls: Option<TlsAcceptor>, count: &AtomicUsize) {
    while let Ok((stream, _)) = listener.accept().await {
        count.fetch_add(1, Ordering::SeqCst);
        let (app, tls) = (app.clone(), tls.clone());
        tokio::spawn(async move {
            match tls {
                None => connection(stream, app).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        connection(stream, app).await;
                    }
                }
            }
        });
    }
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, app: App) {
    let app = Arc::new(app);
    let service = service_fn(move |request| {
        let app = Arc::clone(&app);
        async move { Ok::<_, Infallible>(answer(&app, request).await) }
    });
    let served =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let _ = served.await;
}

async fn answer(app: &App, request: Request<Incoming>) -> Answer {
    let header =
        |name: &str| request.headers().get(name).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let (protocol, packed) = (header("git-protocol"), header("content-encoding"));
    if app.login.is_some() && header("authorization") != app.login {
        return plain(StatusCode::UNAUTHORIZED, "text/plain", Bytes::from_static(b"who are you?"));
    }
    let name = match request.method() {
        &Method::GET => request.uri().query().unwrap_or_default().trim_start_matches("service="),
        _ => request.uri().path().rsplit('/').next().unwrap_or_default(),
    };
    let Some(service) = Service::named(name) else {
        return plain(StatusCode::NOT_FOUND, "text/plain", Bytes::new());
    };
    if request.method() == Method::GET {
        let body = app.git.advertise(service, protocol.as_deref()).await.expect("served");
        return plain(StatusCode::OK, service.advertisement_type(), body.into());
    }
    assert_eq!(
        header("content-type").as_deref(),
        Some(&*format!("application/x-{}-request", service.name()))
    );
    let body = request.into_body().collect().await.expect("a body").to_bytes();
    let body = match packed {
        Some(_) => serve::gunzip(&body, BODY_LIMIT).expect("gzip"),
        None => body,
    };
    let exchanged = app.git.exchange(service, protocol.as_deref(), body).await;
    let mut text = Vec::new();
    exchanged.expect("served").read_to_end(&mut text).await.expect("an answer");
    if service == Service::ReceivePack && app.mute.swap(false, Ordering::SeqCst) {
        return plain(StatusCode::BAD_GATEWAY, "text/plain", Bytes::new());
    }
    plain(StatusCode::OK, service.result_type(), text.into())
}

fn plain(status: StatusCode, kind: &str, body: Bytes) -> Answer {
    let answer = Response::builder().status(status).header("content-type", kind);
    let answer = answer.header("www-authenticate", "Basic realm=\"git\"");
    answer.body(Full::new(body)).expect("an answer")
}
