//! Tests of the router as a server calls it.

use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use colony_core::id::SiteName;
use colony_core::time::Timestamp;
use colony_store::Registry;
use tower::ServiceExt as _;

use super::router;
use crate::app::App;

#[tokio::test]
async fn what_was_asked_is_done_although_nobody_waits_for_the_answer() {
    let dir = tempfile::tempdir().expect("a folder");
    let (app, token) = started(dir.path()).await;
    let mut head = app.brain.head();
    {
        let request = request("POST", "/api/v1/sites", &token, r#"{"name": "home"}"#);
        let mut answer = pin!(router(app.clone()).oneshot(request));
        let polled = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "{polled:?}");
    }

    let told = tokio::time::timeout(Duration::from_secs(10), head.changed()).await;

    told.expect("it was done").expect("the brain is there");
    let home: SiteName = "home".parse().expect("a name");
    assert!(app.brain.read().await.expect("the fleet").site(&home).is_some());
}

#[tokio::test]
async fn no_password_of_a_registry_is_shown() {
    let dir = tempfile::tempdir().expect("a folder");
    let (app, token) = started(dir.path()).await;
    let registry = Registry {
        name: "apps".to_owned(),
        url: "https://bob:hunter2@git.test/apps.git".to_owned(),
        at: Timestamp(1),
        last_sync: None,
        last_error: None,
        revision: None,
    };
    app.brain.store().registry_put(&registry).await.expect("it is stored");
    let other = r#"{"name": "apps", "url": "https://git.test/others.git"}"#;
    let unnamed = r#"{"url": "https://bob:hunter2@127.0.0.1:1"}"#;
    for (method, path, body) in [
        ("GET", "/api/v1/registries", ""),
        ("GET", "/api/v1/registries/apps", ""),
        ("POST", "/api/v1/registries", other),
        ("POST", "/api/v1/registries", unnamed),
    ] {
        let answer = router(app.clone()).oneshot(request(method, path, &token, body)).await;
        let body = to_bytes(answer.expect("an answer").into_body(), 1 << 20).await.expect("a body");
        let text = String::from_utf8_lossy(&body);
        assert!(!text.contains("hunter2") && !text.is_empty(), "{text}");
    }
}

async fn started(dir: &std::path::Path) -> (App, String) {
    let listen = "127.0.0.1:0".parse().expect("an address");
    let central = crate::start(crate::Config::new(dir.join("central"), listen)).await;
    let central = central.expect("it starts");
    let token = std::fs::read_to_string(central.admin_token_path()).expect("a token");
    (central.app(), token.trim().to_owned())
}

fn request(method: &str, path: &str, token: &str, body: &str) -> Request {
    let request = Request::builder().method(method).uri(path);
    let request = request.header("authorization", format!("Bearer {token}"));
    request.body(Body::from(body.to_owned())).expect("a request")
}
