//! Serves a router on a listener, with small buffers.
//!
//! Sites keep connections open to the central orchestrator, as nodes do to
//! their site, and most of them are idle: the memory of an idle connection is
//! the cost of hundreds of sites. `axum::serve` has no limit for its buffers,
//! hence this loop around hyper.

use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::serve::Listener;
use http::{HeaderValue, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower::ServiceExt as _;
use tracing::debug;

/// The most that is read or buffered at once, and so the longest head of a
/// request. It is the minimum of hyper.
const BUFFER: usize = 8 * 1024;

/// Serves until `stop` resolves. Then requests in progress have `grace` to end.
///
/// Handlers get the result of `caller` for their connection as `ConnectInfo`.
pub async fn serve<L, C>(
    mut listener: L,
    router: Router,
    caller: impl Fn(&L::Io, &L::Addr) -> C,
    stop: impl Future<Output = ()>,
    grace: Duration,
) where
    L: Listener,
    C: Clone + Send + Sync + 'static,
{
    let (ending, ended) = watch::channel(());
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            (stream, address) = listener.accept() => {
                let caller = ConnectInfo(caller(&stream, &address));
                connections.spawn(answer(stream, caller, router.clone(), ended.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
    drop((listener, ending));
    let all = async { while connections.join_next().await.is_some() {} };
    if timeout(grace, all).await.is_err() {
        debug!("cut {} connections", connections.len());
    }
}

/// Serves the requests of one connection, until it closes or the server stops.
async fn answer<I, C>(
    stream: I,
    caller: ConnectInfo<C>,
    router: Router,
    mut ended: watch::Receiver<()>,
) where
    I: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    C: Clone + Send + Sync + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        copy_head(&mut request);
        request.extensions_mut().insert(caller.clone());
        router.clone().oneshot(request)
    });
    let mut builder = http1::Builder::new();
    let connection = builder.max_buf_size(BUFFER).serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        // The value never changes; the end of its sender is the signal.
        _ = ended.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        debug!("a connection ended: {error}");
    }
}

/// Replaces the URI and the headers with copies, since the originals share
/// hyper's buffer: as long as a handler holds one of them, the connection needs
/// a second buffer, and a long poll holds them for a minute.
fn copy_head(request: &mut Request<Body>) {
    if let Ok(uri) = request.uri().to_string().parse() {
        *request.uri_mut() = uri;
    }
    for value in request.headers_mut().values_mut() {
        if let Ok(mut copy) = HeaderValue::from_bytes(value.as_bytes()) {
            copy.set_sensitive(value.is_sensitive());
            *value = copy;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::{Notify, oneshot};
    use tokio::task::JoinHandle;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    #[tokio::test]
    async fn handlers_learn_who_calls_and_heads_are_limited() {
        let whose = async |ConnectInfo(who): ConnectInfo<String>| who;
        let server = Server::start(Router::new().route("/", get(whose)), LONG).await;
        assert!(server.ask("GET / HTTP/1.0\r\n\r\n").await.ends_with("\r\n\r\n127.0.0.1"));
        let long = format!("GET / HTTP/1.0\r\nx: {}\r\n\r\n", "x".repeat(BUFFER));
        assert!(server.ask(&long).await.starts_with("HTTP/1.1 431"));
    }

    #[tokio::test]
    async fn request_under_way_is_answered_after_the_stop() {
        let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (tell, wait) = (begun.clone(), go_on.clone());
        let slow = async move || {
            tell.notify_one();
            wait.notified().await;
            "done"
        };
        let mut server = Server::start(Router::new().route("/", get(slow)), LONG).await;
        let mut asking = Box::pin(server.connect("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await);
        begun.notified().await;
        server.stop.take().expect("it runs").send(()).expect("it waits for it");
        go_on.notify_one();
        let mut text = String::new();
        asking.read_to_string(&mut text).await.expect("an answer, and the end");
        assert!(text.ends_with("\r\n\r\ndone"), "{text}");
        server.task.await.expect("it ends");
    }

    #[tokio::test]
    async fn request_that_never_ends_is_cut_after_the_grace() {
        let begun = Arc::new(Notify::new());
        let tell = begun.clone();
        let never = async move || {
            tell.notify_one();
            std::future::pending::<()>().await;
        };
        let grace = Duration::from_millis(10);
        let mut server = Server::start(Router::new().route("/", get(never)), grace).await;
        let mut asking = server.connect("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        begun.notified().await;
        server.stop.take().expect("it runs").send(()).expect("it waits for it");
        server.task.await.expect("it ends");
        assert_eq!(asking.read(&mut [0]).await.expect("the end"), 0);
    }

    struct Server {
        address: std::net::SocketAddr,
        stop: Option<oneshot::Sender<()>>,
        task: JoinHandle<()>,
    }

    impl Server {
        async fn start(router: Router, grace: Duration) -> Server {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address");
            let (stop, stopped) = oneshot::channel();
            let task = tokio::spawn(async move {
                let caller = |_: &TcpStream, it: &std::net::SocketAddr| it.ip().to_string();
                let stopped = async { stopped.await.expect("a stop is sent") };
                serve(listener, router, caller, stopped, grace).await;
            });
            Server { address, stop: Some(stop), task }
        }

        async fn connect(&self, head: &str) -> TcpStream {
            let mut stream = TcpStream::connect(self.address).await.expect("it listens");
            stream.write_all(head.as_bytes()).await.expect("it reads");
            stream
        }

        async fn ask(&self, head: &str) -> String {
            let mut text = String::new();
            self.connect(head).await.read_to_string(&mut text).await.expect("an answer");
            text
        }
    }
}
