//! Connections that are kept, that die, and answers that are too much.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use colony_wfm::{ClientAuth, Link, LinkError, Trust, tls};
use http::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::support::{self, Server, Site, error_text};

const DOMAIN: &str = "site-a.00ff";

#[tokio::test]
async fn many_requests_take_one_connection() {
    let (site, server) = start(Router::new().route("/", get(async || "hello"))).await;
    let link = site.link(&site.node("n1"), &server);
    for _ in 0..100 {
        assert_eq!(support::get(&link, "/").await.unwrap().body, "hello");
    }
    assert_eq!(server.connections(), 1);
    assert_eq!(link.base_url(), server.url);
}

#[tokio::test]
async fn two_at_a_time_take_two_connections_for_ever() {
    let both = Arc::new(Barrier::new(2));
    let meet = move || {
        let both = both.clone();
        async move { both.wait().await.is_leader().to_string() }
    };
    let (site, server) = start(Router::new().route("/", get(meet))).await;
    let link = site.link(&site.node("n1"), &server);
    for _ in 0..20 {
        let (one, two) = tokio::join!(support::get(&link, "/"), support::get(&link, "/"));
        assert!(one.is_ok() && two.is_ok(), "{one:?} {two:?}");
    }
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn connection_that_is_not_used_is_closed() {
    let both = Arc::new(Barrier::new(2));
    let meet = async move || both.wait().await.is_leader().to_string();
    let app = Router::new().route("/both", get(meet)).route("/", get(async || "hello"));
    let (site, server) = start(app).await;
    let link = site.link(&site.node("n1"), &server);
    let two = async || {
        let (one, two) = tokio::join!(support::get(&link, "/both"), support::get(&link, "/both"));
        assert!(one.is_ok() && two.is_ok(), "{one:?} {two:?}");
    };
    two().await;
    for (seconds, connections) in [(59, 2), (60, 3)] {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(seconds)).await;
        tokio::time::resume();
        support::get(&link, "/").await.unwrap();
        two().await;
        assert_eq!(server.connections(), connections, "after {seconds} s");
    }
}

#[tokio::test]
async fn connection_that_died_loses_no_request() {
    check(&[Answers(1), Answers(3)], 4, "ok ok ok ok", "1 + 3").await;
    check(&[Answers(2), Answers(1), Answers(9)], 5, "ok ok ok ok ok", "2 + 1 + 2").await;
    check(&[Swallows(1), Answers(9)], 3, "ok ok ok", "2 + 2").await;
}

#[tokio::test]
async fn request_on_a_fresh_connection_is_sent_once() {
    check(&[Swallows(0), Answers(9)], 2, "broke ok", "1 + 1").await;
    check(&[Swallows(1), Swallows(0), Answers(9)], 3, "ok broke ok", "2 + 1 + 1").await;
}

#[tokio::test]
async fn nobody_there_is_said() {
    let site = Site::new(DOMAIN);
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = socket.local_addr().unwrap();
    drop(socket);
    let error = support::get(&link_to(&site, &format!("https://{addr}")), "/").await.unwrap_err();
    assert!(error_text(&error).starts_with(&format!("could not connect to {addr}: ")), "{error}");
}

#[tokio::test]
async fn answer_is_awaited_no_longer_than_told() {
    let (site, server) = start(Router::new().route("/", get(std::future::pending::<()>))).await;
    let link = site.link(&site.node("n1"), &server);
    let soon = Duration::from_millis(50);
    let sent = link.send(Method::GET, "/", &[], Bytes::new(), 100, soon).await;
    assert!(matches!(sent, Err(LinkError::Timeout { after, .. }) if after == soon), "{sent:?}");
}

#[tokio::test]
async fn answers_are_read_up_to_a_limit() {
    let (site, server) = start(Router::new().route("/", get(async || "x".repeat(1000)))).await;
    let link = site.link(&site.node("n1"), &server);
    let read = async |limit| {
        link.send(Method::GET, "/", &[], Bytes::new(), limit, Duration::from_secs(5)).await
    };
    assert_eq!(read(1000).await.unwrap().body.len(), 1000);
    let error = read(999).await.unwrap_err();
    assert!(matches!(error, LinkError::TooLarge { limit: 999, .. }), "{error:?}");
    assert!(read(1000).await.is_ok());
}

#[tokio::test]
async fn requests_that_cannot_be_written_are_refused() {
    let site = Site::new(DOMAIN);
    let link = link_to(&site, "https://127.0.0.1:1");
    let error = support::get(&link, "/a b").await.unwrap_err();
    assert_eq!(error.to_string(), "could not build a request for `/a b`");
    let headers = [("x", "a\r\nb: c")];
    let sent = support::send(&link, Method::GET, "/", &headers, "").await;
    assert!(matches!(sent, Err(LinkError::Request { .. })), "{sent:?}");
    let tls = tls::client_config(None, Trust::RootsAnyHost { pem: site.authority.root_pem() });
    let error = Link::new("http://hub", tls.unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "`http://hub` is not a URL such as `https://host:port`");
}

async fn start(app: Router) -> (Site, Server) {
    let site = Site::new(DOMAIN);
    let server = Server::start(app, &site.server(), ClientAuth::Required).await;
    (site, server)
}

fn link_to(site: &Site, url: &str) -> Link {
    let trust = Trust::RootsAnyHost { pem: site.authority.root_pem() };
    Link::new(url, tls::client_config(None, trust).unwrap()).unwrap()
}

/// What the server does with a connection before it closes it.
#[derive(Clone, Copy)]
enum Script {
    /// Answers so many requests, and closes after the last.
    Answers(usize),
    /// Answers so many requests, and closes when it has read another one.
    Swallows(usize),
}
use Script::{Answers, Swallows};

/// Sends requests to a server whose connections follow the scripts, and
/// compares what came of them and how many requests each connection got.
async fn check(scripts: &[Script], requests: usize, expected: &str, received: &str) {
    let site = Site::new(DOMAIN);
    let server = Scripted::start(&site, scripts).await;
    let link = link_to(&site, &server.url);
    let mut results = Vec::new();
    for _ in 0..requests {
        let sent = support::send(&link, Method::POST, "/", &[], "body").await;
        results.push(if sent.is_ok() { "ok" } else { "broke" });
    }
    assert_eq!(results.join(" "), expected);
    let counts = server.received.iter().map(|it| it.load(Ordering::SeqCst));
    let counts: Vec<String> = counts.filter(|it| *it > 0).map(|it| it.to_string()).collect();
    assert_eq!(counts.join(" + "), received);
}

struct Scripted {
    url: String,
    received: Arc<[AtomicUsize]>,
    task: JoinHandle<()>,
}

impl Scripted {
    async fn start(site: &Site, scripts: &[Script]) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let config = tls::server_config(&site.server(), ClientAuth::Optional).unwrap();
        let received: Arc<[AtomicUsize]> = scripts.iter().map(|_| AtomicUsize::new(0)).collect();
        let (scripts, counts) = (scripts.to_vec(), received.clone());
        let task = tokio::spawn(async move {
            for (script, count) in scripts.into_iter().zip(counts.iter()) {
                let (stream, _) = listener.accept().await.unwrap();
                let stream = TlsAcceptor::from(config.clone()).accept(stream).await.unwrap();
                follow(stream, script, count).await;
            }
        });
        Scripted { url, received, task }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(mut stream: TlsStream<TcpStream>, script: Script, count: &AtomicUsize) {
    let (answers, swallows) = match script {
        Answers(n) => (n, false),
        Swallows(n) => (n, true),
    };
    for _ in 0..answers {
        if !read_request(&mut stream).await {
            return;
        }
        count.fetch_add(1, Ordering::SeqCst);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
        stream.flush().await.unwrap();
    }
    if swallows && read_request(&mut stream).await {
        count.fetch_add(1, Ordering::SeqCst);
    }
}

/// Reads one request with the body `body`; false at the end.
async fn read_request(stream: &mut TlsStream<TcpStream>) -> bool {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\nbody") {
        match stream.read_u8().await {
            Ok(byte) => read.push(byte),
            Err(_) => return false,
        }
    }
    true
}
