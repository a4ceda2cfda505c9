//! The calls of the interface, client and server together over mTLS.

use std::sync::Arc;
use std::time::Duration;

use colony_margo::capability::Properties;
use colony_margo::status::Overall;
use colony_margo::{
    Capabilities, DeploymentStatus, Digest, ManifestVersion, State, StateManifest, bundle,
};
use colony_wfm::{
    Client, ClientAuth, ClientError, Credentials, LogAnswer, LogLine, NodeReport, Peer, Poll,
    PrivateKey, PullView, router,
};
use http::Method;
use serde_json::json;

use crate::support::manager::{Fake, ID};
use crate::support::{Server, Site, send};

#[tokio::test]
async fn node_gets_its_deployment_and_reports() {
    let world = World::start("desired").await;
    let client = world.client("n1");
    let device = "n1".parse().unwrap();
    client.capabilities(&device, &capabilities("n1")).await.unwrap();

    let Poll::Manifest { bytes, etag, .. } =
        client.manifest(None, None, Duration::ZERO).await.unwrap()
    else {
        panic!("no manifest")
    };
    let manifest = StateManifest::parse(&bytes).unwrap();
    let wanted = &manifest.deployments[0];
    let document = client.document(&wanted.deployment_id, &wanted.digest).await.unwrap();
    let packed = client.bundle(&manifest.bundle.unwrap().digest).await.unwrap();
    let files = bundle::unpack(&packed, &bundle::Limits::default()).unwrap();
    client.status(&status(ID, State::Installed)).await.unwrap();
    let poll = client.manifest(etag.as_deref(), Some(1), Duration::ZERO).await.unwrap();

    assert_eq!(document, "desired");
    assert_eq!(files.len(), 1);
    assert!(matches!(poll, Poll::Unchanged { .. }));
    let heard = world.manager.received();
    let fetched = format!("n1 fetches {ID}");
    let reported = format!("n1: {ID} installed");
    let expected = ["n1 is n1 by colony", "n1 has None", &fetched, &reported, "n1 has Some(1)"];
    assert_eq!(heard, expected);
    assert_eq!(world.server.connections(), 1);
}

#[tokio::test]
async fn caller_is_the_certificate_and_nothing_else() {
    let world = World::start("x").await;
    let mut report = status(ID, State::Failed);
    report.device_id = Some("n2".parse().unwrap());
    world.client("n1").status(&report).await.unwrap();
    assert_eq!(world.manager.received(), [format!("n1: {ID} failed")]);
}

#[tokio::test]
async fn strangers_are_told_that_they_are_not_authorized() {
    let world = World::start("x").await;
    for own in [Some(world.site.node("retired")), Some(world.site.server()), None] {
        let link = world.link(own.as_ref());
        for (method, path) in [
            (Method::GET, "/api/v1/deployments"),
            (Method::PUT, "/api/v1/capabilities/n1"),
            (Method::DELETE, "/api/v1/capabilities/n1"),
            (Method::POST, "/api/v1/deployments/x/status"),
            (Method::POST, "/colony/v1/renew"),
            (Method::POST, "/colony/v1/logs/1"),
            (Method::POST, "/colony/v1/health"),
            (Method::GET, "/api/v1/bundles/x"),
            (Method::GET, "/api/v1/deployments/x/y"),
        ] {
            let answer = send(&link, method, path, &[], "{}").await.unwrap();
            assert_eq!(answer.status, 403, "{path}");
            assert!(answer.body.starts_with(b"{\"type\":\"https://docs.margo.org/"), "{answer:?}");
        }
    }
    assert!(world.manager.received().is_empty());
}

#[tokio::test]
async fn device_ids_may_have_slashes_in_both_spellings() {
    let world = World::start("x").await;
    let body = capabilities("gw/dev");
    let text = serde_json::to_string(&body).unwrap();
    check(&world, "PUT", "/api/v1/capabilities/gw/dev", &text, "201").await;
    check(&world, "PUT", "/api/v1/capabilities/gw%2Fdev", &text, "200").await;
    check(&world, "PUT", "/api/v1/capabilities/dev", &text, "422 semantic-error properties.id")
        .await;
    check(&world, "PUT", "/api/v1/capabilities/gw/../dev", &text, "400 invalid-request").await;
    check(&world, "PUT", "/api/v1/capabilities/%FF", &text, "400 invalid-request").await;
    check(&world, "DELETE", "/api/v1/capabilities/gw%2fdev", "", "204").await;
    check(&world, "DELETE", "/api/v1/capabilities/gw/dev", "", "404 device-not-found").await;
    check(&world, "DELETE", "/api/v1/capabilities/a%20b", "", "404 device-not-found").await;
}

#[tokio::test]
async fn bad_capabilities_are_refused() {
    let world = World::start("x").await;
    let path = "/api/v1/capabilities/n1";
    check(&world, "PUT", path, "", "400 invalid-request").await;
    check(&world, "PUT", path, "{", "400 invalid-request").await;
    check(&world, "PUT", path, "{}", "422 semantic-error properties").await;
    let large = format!("{{\"properties\":\"{}\"}}", "x".repeat(300 * 1024));
    check(&world, "PUT", path, &large, "413 blank").await;
    check(&world, "POST", path, "{}", "405 blank").await;
}

#[tokio::test]
async fn status_of_an_unknown_deployment_is_taken() {
    let world = World::start("x").await;
    let client = world.client("n1");
    client.status(&status("not a/uuid ä", State::Removed)).await.unwrap();
    assert_eq!(world.manager.received(), ["n1: not a/uuid ä removed"]);
    let text = serde_json::to_string(&status("one", State::Pending)).unwrap();
    let path = "/api/v1/deployments/one/status";
    check(&world, "POST", path, &text, "200").await;
    let other = "/api/v1/deployments/two/status";
    check(&world, "POST", other, &text, "422 semantic-error deploymentId").await;
    check(&world, "POST", path, "nonsense", "400 invalid-request").await;
    check(
        &world,
        "POST",
        path,
        "{\"deploymentId\":\"one\"}",
        "422 semantic-error adoptedManifestVersion",
    )
    .await;
    let large = json!({"deploymentId": "one", "x": "y".repeat(600 * 1024)}).to_string();
    check(&world, "POST", path, &large, "413 blank").await;
}

#[tokio::test]
async fn content_that_is_not_there_is_not_found() {
    let world = World::start("x").await;
    let (digest, none) = (world.manager.digest(), Digest::of(b"none"));
    let of = |id: &str, digest: &str| format!("/api/v1/deployments/{id}/{digest}");
    check(&world, "GET", &of(ID, &digest.to_string()), "", "200").await;
    check(&world, "GET", &of(ID, &none.to_string()), "", "404 deployment-not-found").await;
    check(&world, "GET", &of("x", &digest.to_string()), "", "404 deployment-not-found").await;
    check(&world, "GET", &of(ID, "sha512:1"), "", "404 deployment-not-found").await;
    check(&world, "GET", &format!("/api/v1/bundles/{none}"), "", "404 invalid-bundle").await;
    check(&world, "GET", "/api/v1/bundles/x", "", "404 invalid-bundle").await;
}

#[tokio::test]
async fn content_is_kept_by_clients_for_ever() {
    let world = World::start("x").await;
    let link = world.link(Some(&world.site.node("n1")));
    let digest = world.manager.digest();
    let (path, tag) = (format!("/api/v1/deployments/{ID}/{digest}"), format!("\"{digest}\""));
    let answer = send(&link, Method::GET, &path, &[], "").await.unwrap();
    assert_eq!(answer.headers["etag"], tag.as_str());
    assert_eq!(answer.headers["content-type"], "application/yaml");
    assert_eq!(answer.headers["cache-control"], "private, max-age=31536000, immutable");
    let again = send(&link, Method::GET, &path, &[("if-none-match", &tag)], "").await.unwrap();
    assert_eq!((again.status.as_u16(), again.body.len()), (304, 0));
}

#[tokio::test]
async fn content_with_another_digest_is_not_used() {
    let lie = axum::Router::new()
        .route("/api/v1/bundles/{digest}", axum::routing::get(async || "something else"));
    let site = Site::new("site-a.00ff");
    let server = Server::start(lie, &site.server(), ClientAuth::Required).await;
    let client = Client::new(site.link(&site.node("n1"), &server));
    let expected = Digest::of(b"something");
    let error = client.bundle(&expected).await.unwrap_err();
    let found = Digest::of(b"something else");
    assert!(
        matches!(error, ClientError::Digest { expected: e, found: f } if (e, f) == (expected, found))
    );
}

#[tokio::test]
async fn foreign_problems_are_understood() {
    let odd = axum::Router::new()
        .route("/api/v1/deployments", axum::routing::get(async || (http_status(502), "bad\ngate")));
    let site = Site::new("site-a.00ff");
    let server = Server::start(odd, &site.server(), ClientAuth::Required).await;
    let client = Client::new(site.link(&site.node("n1"), &server));
    let error = client.manifest(None, None, Duration::ZERO).await.unwrap_err();
    assert_eq!(error.to_string(), "manager answers 502 badgate");
    let error = client.status(&status("x", State::Pending)).await.unwrap_err();
    assert_eq!(error.to_string(), "manager answers 404 Not Found");
}

#[tokio::test]
async fn how_a_node_is_reaches_its_manager_within_limits() {
    let world = World::start("x").await;
    let pull = |done_bytes| PullView {
        deployment: ID.parse().unwrap(),
        done_bytes,
        total_bytes: 120_000_000,
    };
    let reasons = vec!["the engine does not answer".to_owned(); 40];
    let report = NodeReport { ready: false, reasons, progress: vec![pull(1), pull(2)] };
    world.client("n1").health(&report).await.unwrap();
    let heard = world.manager.received();
    assert!(heard[0].starts_with("n1 ready false [\"the engine"), "{heard:?}");
    assert!(heard[0].ends_with("pulls 1") && heard[0].matches("engine").count() == 16);
    let path = "/colony/v1/health";
    check(&world, "POST", path, "{}", "400 invalid-request").await;
    check(&world, "POST", path, r#"{"ready":true,"later":1}"#, "204").await;
    let large = json!({"ready": true, "reasons": ["x".repeat(200 * 1024)]}).to_string();
    check(&world, "POST", path, &large, "413 blank").await;
    check(&world, "GET", path, "", "405 blank").await;
}

#[tokio::test]
async fn logs_are_delivered() {
    let world = World::start("x").await;
    let client = world.client("n1");
    let line =
        |it: usize| LogLine { service: it.to_string(), time: None, text: "\u{1}".repeat(100_000) };
    let answer = LogAnswer { lines: (0..5).map(line).collect(), ..LogAnswer::default() };
    client.logs("r-1", &answer).await.unwrap();
    assert_eq!(world.manager.received(), ["n1 logs r-1: 2 lines"]);
    assert!(matches!(client.logs("../x", &answer).await, Err(ClientError::Request(_))));
    check(&world, "POST", "/colony/v1/logs/a%2Fb", "{}", "404 blank").await;
    check(&world, "POST", "/colony/v1/logs/a", "[", "400 invalid-request").await;
    check(&world, "POST", "/colony/v1/logs/a", &"x".repeat(3 << 20), "413 blank").await;
}

#[tokio::test]
async fn certificate_is_renewed_for_the_same_identity() {
    let world = World::start("x").await;
    let own = world.site.node("n1");
    let client = Client::new(world.link(Some(&own)));
    let key = PrivateKey::generate().unwrap();
    let joined = client.renew(&key.csr().unwrap()).await.unwrap();
    let renewed = world.site.credentials(joined.chain, key.to_pem());
    assert_eq!(renewed.id().unwrap(), own.id().unwrap());
    let client = Client::new(world.link(Some(&renewed)));
    client.status(&status("x", State::Pending)).await.unwrap();
    let error = client.renew("nonsense").await.unwrap_err();
    assert!(matches!(error, ClientError::Problem { problem, .. } if problem.status == 400));
}

#[tokio::test(start_paused = true)]
async fn old_connections_are_asked_to_end() {
    for (minutes, expected) in [(59, None), (61, Some("close"))] {
        let response = called(|_| {}, minutes).await;
        assert_eq!(response.status(), 200);
        let found = response.headers().get("connection").map(|it| it.to_str().unwrap());
        assert_eq!(found, expected);
    }
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "certificates end by the clock of the machine")]
async fn a_certificate_that_has_ended_is_refused_on_a_connection_that_goes_on() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = i64::try_from(now.unwrap().as_secs()).unwrap();
    for (not_after, status) in [(now + 600, 200), (now - 1, 403)] {
        let response = called(|it| it.not_after = Some(not_after), 1).await;
        assert_eq!(response.status(), status);
    }
}

/// The answer to a node on a connection that is so many minutes old.
async fn called(change: impl FnOnce(&mut Peer), minutes: u64) -> axum::response::Response {
    let site = Site::new("site-a.00ff");
    let app = router(Arc::new(Fake::new(site.authority.clone(), "x")));
    let mut peer = Peer::new(site.node("n1").id().ok(), ([127, 0, 0, 1], 1).into());
    change(&mut peer);
    tokio::time::advance(Duration::from_secs(minutes * 60)).await;
    let mut request = axum::extract::Request::new(axum::body::Body::empty());
    *request.uri_mut() = "/api/v1/deployments".parse().unwrap();
    request.extensions_mut().insert(axum::extract::ConnectInfo(peer));
    tower_call(app, request).await
}

struct World {
    site: Site,
    manager: Arc<Fake>,
    server: Server,
}

impl World {
    async fn start(text: &str) -> World {
        let site = Site::new("site-a.00ff");
        let manager = Arc::new(Fake::new(site.authority.clone(), text));
        let app = router(manager.clone());
        let server = Server::start(app, &site.server(), ClientAuth::Optional).await;
        World { site, manager, server }
    }

    fn client(&self, name: &str) -> Client {
        Client::new(self.link(Some(&self.site.node(name))))
    }

    fn link(&self, own: Option<&Credentials>) -> colony_wfm::Link {
        let root = self.site.authority.root_pem();
        let trust = colony_wfm::Trust::Roots { pem: root, expect: self.site.wfm() };
        let tls = colony_wfm::tls::client_config(own, trust).unwrap();
        colony_wfm::Link::new(&self.server.url, tls).unwrap()
    }
}

/// Sends a request as `n1` and compares the status, the problem's type and the
/// first field that it names.
async fn check(world: &World, method: &str, path: &str, body: &str, expected: &str) {
    let link = world.link(Some(&world.site.node("n1")));
    let answer = send(&link, method.parse().unwrap(), path, &[], body).await.unwrap();
    let mut found = answer.status.as_str().to_owned();
    if answer.status.as_u16() >= 400 {
        assert_eq!(answer.headers["content-type"], "application/problem+json", "{path}");
        let problem: colony_margo::Problem = serde_json::from_slice(&answer.body).unwrap();
        let kind = problem.kind.rsplit(['#', ':']).next().unwrap_or_default().to_owned();
        found = format!("{found} {kind}");
        if let Some(error) = problem.errors.first() {
            found = format!("{found} {}", error.field);
        }
    }
    assert_eq!(found, expected, "{method} {path}");
}

fn capabilities(device: &str) -> Capabilities {
    Capabilities::new(Properties::non_hosting(device.parse().unwrap(), "colony", "m", "s"))
}

fn status(id: &str, state: State) -> DeploymentStatus {
    DeploymentStatus {
        deployment_id: id.to_owned(),
        device_id: None,
        adopted_manifest_version: ManifestVersion::new(1).unwrap(),
        status: Overall { state, error: None },
        components: Vec::new(),
        colony: None,
    }
}

fn http_status(code: u16) -> http::StatusCode {
    http::StatusCode::from_u16(code).unwrap()
}

async fn tower_call(
    app: axum::Router,
    request: axum::extract::Request,
) -> axum::response::Response {
    use tower::Service as _;
    app.into_service().call(request).await.unwrap()
}
