//! The client against a server behind real TLS, with the fleet's own CA.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use colony_api::client::Error;
use colony_api::request::{DeleteQuery, EventQuery, PAGE_LIMIT};
use colony_api::{Client, Server, Signal, problem};
use colony_core::margo::problem::FieldError;
use colony_wfm::{Authority, ClientAuth, Credentials, PrivateKey, SpiffeId, TlsListener};

#[tokio::test]
async fn the_fleets_ca_is_trusted_whatever_the_host_is_called() {
    let fleet = Fleet::start().await;
    let error = fleet.client().deployment_show("nope").await.expect_err("not found");
    assert_eq!(error.to_string(), "no `nope` here\n  name: is unknown");
    assert!(error.is_not_found());
    assert_eq!(fleet.seen(), ["GET /api/v1/deployments/nope Bearer secret"]);
}

#[tokio::test]
async fn another_ca_is_not_trusted() {
    let fleet = Fleet::start().await;
    let other = Authority::create("other.fleet", now()).expect("a CA");
    let client = fleet.client_with(Some(other.root_pem().to_owned()));
    let error = client.status().await.expect_err("not trusted");
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert_eq!(fleet.seen(), [""; 0]);
}

#[tokio::test]
async fn nor_is_the_fleets_by_somebody_who_was_not_given_it() {
    let fleet = Fleet::start().await;
    let error = fleet.client_with(None).status().await.expect_err("not trusted");
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn names_cannot_leave_their_place_in_the_path() {
    let fleet = Fleet::start().await;
    let query = DeleteQuery { sites: Some("a,b".into()), force: true, ..DeleteQuery::default() };
    let _ = fleet.client().deployment_delete("../x?y", &query).await.expect_err("not found");
    let expected = "DELETE /api/v1/deployments/..%2Fx%3Fy?sites=a%2Cb&force=true&dryRun=false";
    assert_eq!(fleet.seen(), [format!("{expected} Bearer secret")]);
}

#[tokio::test]
async fn a_stream_goes_on_where_it_was_cut() {
    let fleet = Fleet::start().await;
    let query = EventQuery { site: Some("home".into()), ..EventQuery::default() };
    let mut stream = fleet.client().event_follow(query, Some("e-1".into())).await.expect("it");
    let mut told = Vec::new();
    while told.len() < 8 {
        told.push(match stream.next().await.expect("no end") {
            Signal::Event(event) => event.id,
            Signal::Reset => "reset".to_owned(),
            Signal::Lost(_) => "lost".to_owned(),
            Signal::Resumed => "resumed".to_owned(),
        });
    }
    assert_eq!(told, ["e-2", "e-3", "lost", "resumed", "e-4", "e-5", "lost", "resumed"]);
    let seen = fleet.seen();
    let events = "GET /api/v1/events?site=home Bearer secret";
    assert_eq!(
        seen,
        [
            format!("{events} after e-1"),
            format!("{events} after e-3"),
            format!("{events} after e-5")
        ],
    );
}

#[tokio::test]
async fn list_is_read_to_its_end_page_by_page() {
    let fleet = Fleet::start().await;

    let nodes = fleet.client().node_list(Some("home")).await.expect("all pages");

    let found: Vec<String> = nodes.iter().map(|it| format!("{}/{}", it.site, it.name)).collect();
    assert_eq!(found, (0..NODES).map(node_of).collect::<Vec<String>>());
    let nodes = "GET /api/v1/nodes?site=home";
    let (second, third) = (node_of(999), node_of(1_999));
    let after = |it: &str| format!("{nodes}&after={} Bearer secret", it.replace('/', "%2F"));
    let expected = [format!("{nodes} Bearer secret"), after(&second), after(&third)];
    assert_eq!(fleet.seen(), expected);
}

#[test]
fn what_is_no_server_is_refused_before_anything_is_sent() {
    for url in ["hub.local:7443", "ftp://hub", "https://", ""] {
        let server = Server { url: url.into(), token: None, ca_pem: None };
        let error = Client::new(server).expect_err("no server");
        assert!(matches!(error, Error::Url(_)), "{url}: {error:?}");
    }
    let ca_pem = Some("no certificate".to_owned());
    let server = Server { url: "https://hub".into(), token: None, ca_pem };
    assert!(matches!(Client::new(server), Err(Error::NoCertificate | Error::Setup { .. })));
}

/// A server that writes down what it is asked.
struct Fleet {
    address: SocketAddr,
    root: String,
    seen: Seen,
    server: tokio::task::JoinHandle<()>,
}

type Seen = Arc<Mutex<Vec<String>>>;

impl Fleet {
    async fn start() -> Fleet {
        let authority = Authority::create("fleet.test", now()).expect("a CA");
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let config = colony_wfm::tls::server_config(&identity(&authority), ClientAuth::Optional);
        let listener = TlsListener::bind(any, config.expect("TLS")).await.expect("a port");
        let (address, seen) = (listener.local_addr(), Seen::default());
        let router = Router::new().fallback(answer).with_state(seen.clone());
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Fleet { address, root: authority.root_pem().to_owned(), seen, server }
    }

    fn client(&self) -> Client {
        self.client_with(Some(self.root.clone()))
    }

    fn client_with(&self, ca_pem: Option<String>) -> Client {
        let (url, token) = (format!("https://{}", self.address), Some("secret".to_owned()));
        Client::new(Server { url, token, ca_pem }).expect("a client")
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("a lock").clone()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A server that is called something else than where it is reached.
fn identity(authority: &Authority) -> Credentials {
    let key = PrivateKey::generate().expect("a key");
    let id = SpiffeId::central("fleet.test").expect("an id");
    let csr = key.csr().expect("a request");
    let hosts = ["hub.example".to_owned()];
    let year = Duration::from_secs(365 * 86_400);
    let chain_pem = authority.sign(&csr, &id, &hosts, now(), year).expect("a certificate");
    Credentials { chain_pem, key_pem: key.to_pem(), roots_pem: authority.root_pem().to_owned() }
}

#[expect(clippy::disallowed_methods, reason = "TLS compares with the real clock")]
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_secs()).expect("before the end")
}

async fn answer(
    State(seen): State<Seen>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
    let after = text("last-event-id").map(|it| format!(" after {it}")).unwrap_or_default();
    let who = text("authorization").unwrap_or("anonymous");
    seen.lock().expect("a lock").push(format!("{method} {uri} {who}{after}"));
    if uri.path() == "/api/v1/events" {
        return two_events(text("last-event-id"));
    }
    if uri.path() == "/api/v1/nodes" {
        let after = uri.query().and_then(|it| it.split_once("after="));
        return page_of_nodes(after.map(|it| it.1.replace("%2F", "/")).as_deref());
    }
    let mut problem = problem::Kind::NotFound.problem("no `nope` here");
    problem.errors = vec![FieldError { field: "name".into(), message: "is unknown".into() }];
    (StatusCode::NOT_FOUND, axum::Json(problem)).into_response()
}

/// The next two events; then the connection ends.
fn two_events(after: Option<&str>) -> Response {
    let last: i64 = after.and_then(|it| it.strip_prefix("e-")?.parse().ok()).unwrap_or(0);
    let message = |position: i64| {
        let id = format!("e-{position}");
        let event = json!({"id": id, "position": position, "at": 0, "kind": "ready",
                           "actor": "local", "sentence": "it is ready", "body": {}});
        format!("id: {id}\nevent: event\ndata: {event}\n\n")
    };
    let text = format!(": hello\n\n{}{}", message(last + 1), message(last + 2));
    Body::from(Bytes::from(text)).into_response()
}

/// Two full pages: what follows them has to be asked for as well.
const NODES: usize = 2 * PAGE_LIMIT as usize;

fn node_of(number: usize) -> String {
    format!("home/n{number:04}")
}

fn page_of_nodes(after: Option<&str>) -> Response {
    let all = (0..NODES).map(node_of);
    let behind = all.filter(|it| after.is_none_or(|after| it.as_str() > after));
    let node = |it: String| {
        let name = it.replace("home/", "");
        json!({"site": "home", "name": name, "presence": "online", "since": 0})
    };
    let page: Vec<Value> = behind.take(PAGE_LIMIT as usize).map(node).collect();
    axum::Json(page).into_response()
}
