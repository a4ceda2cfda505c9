//! Tests that the identity of a connection is checked with every request.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use colony_core::id::SiteName;
use colony_core::margo::Digest;
use colony_wfm::{Peer, SpiffeId};
use tower::ServiceExt as _;

use crate::app::App;
use crate::{api, clock};

const SEED: &str = "/api/v1/sites/home/seed";

#[tokio::test]
async fn a_certificate_that_has_ended_is_refused_on_a_connection_that_goes_on() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = App::with_home(dir.path()).await;
    let now = clock::unix(clock::wall());
    for (not_after, status) in [(now + 600, 200), (now - 1, 401)] {
        let peer = Peer { not_after: Some(not_after), ..peer(&app, "own") };
        assert_eq!(call(&app, peer, SEED).await.status(), status, "{}", not_after - now);
    }
}

#[tokio::test]
async fn a_connection_is_asked_to_end_after_an_hour() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = App::with_home(dir.path()).await;
    let peer = peer(&app, "own");
    assert_eq!(call(&app, peer.clone(), "/healthz").await.headers().get("connection"), None);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61 * 60)).await;
    let old = call(&app, peer, "/healthz").await;
    assert_eq!(old.headers().get("connection").expect("it ends"), "close");
}

#[tokio::test]
async fn a_key_that_did_not_join_speaks_for_no_site_that_has_one() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = App::with_home(dir.path()).await;
    assert_eq!(call(&app, peer(&app, "other"), SEED).await.status(), 200, "none is known");
    let home: SiteName = "home".parse().expect("a name");
    app.keys.add(&home, &Digest::of(b"own").to_string(), 0);
    assert_eq!(call(&app, peer(&app, "own"), SEED).await.status(), 200);
    let refs = "/git/deployments.git/info/refs?service=git-upload-pack";
    for path in [SEED, "/api/v1/sites/home/hints", refs] {
        assert_eq!(call(&app, peer(&app, "other"), path).await.status(), 403, "{path}");
    }
}

/// An orchestrator of the site `home` with this key.
fn peer(app: &App, key: &str) -> Peer {
    let id = SpiffeId::site_client(app.identity.domain(), "home").expect("an id");
    let peer = Peer::new(Some(id), ([127, 0, 0, 1], 1).into());
    Peer { key: Some(Digest::of(key.as_bytes())), ..peer }
}

/// The request claims to come from the newest orchestrator; the claim must be
/// ignored.
async fn call(app: &App, peer: Peer, path: &str) -> Response {
    let request = Request::builder().uri(path).header("colony-incarnation", "99");
    let mut request = request.body(Body::empty()).expect("a request");
    request.extensions_mut().insert(ConnectInfo(peer));
    api::router(app.clone()).oneshot(request).await.expect("an answer")
}
