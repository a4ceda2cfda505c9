//! Tokens of operators: made, listed, ended.

use std::time::Duration;

use colony_api::client::{Client, Server};
use colony_api::request::TokenAdd;
use http::Method;

use crate::support::Hub;

#[tokio::test]
async fn a_token_is_shown_once_and_is_good_until_it_is_deleted() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let made = hub.client.token_create(&add("ci", Some(3_600))).await.expect("a token");
    assert_eq!(made.expires, Some(made.created.after(Duration::from_secs(3_600))));

    let listed = hub.client.token_list().await.expect("a list");
    let names: Vec<(&str, bool)> =
        listed.iter().map(|it| (it.name.as_str(), it.token.is_some())).collect();
    assert_eq!(names, [("admin", false), ("ci", false)]);
    let ci = client(&hub, made.token.as_deref());
    ci.status().await.expect("it is let in");
    let refused = ci.token_list().await.expect_err("the token is not an admin");
    assert!(refused.to_string().contains("this needs admin"), "{refused}");
    hub.client.token_delete("ci").await.expect("deleted");
    let refused = ci.status().await.expect_err("it is over");
    assert!(refused.to_string().contains("this token is not known here"), "{refused}");
    hub.stop().await;
}

#[tokio::test]
async fn a_token_ends_with_its_lifetime() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let made = hub.client.token_create(&add("brief", Some(0))).await.expect("a token");

    let refused = client(&hub, made.token.as_deref()).status().await.expect_err("it is over");

    assert!(refused.to_string().contains("token `brief` has expired"), "{refused}");
    hub.stop().await;
}

#[tokio::test]
async fn what_cannot_be_a_token_is_refused_with_its_field() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    check(&hub, r#"{"name": "a b", "role": "viewer"}"#, "a token's name has 1 to 64").await;
    check(&hub, r#"{"name": "a", "role": "king"}"#, "expected viewer, operator or admin").await;
    check(&hub, r#"{"name": "a", "role": "viewer", "sites": ["../x"]}"#, "../x").await;
    check(&hub, r#"{"name": "admin", "role": "viewer"}"#, "there is a token `admin`").await;
    hub.stop().await;
}

async fn check(hub: &Hub, body: &str, expected: &str) {
    let answer = hub.send(Method::POST, "/api/v1/tokens", body).await;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    assert!(answer.status.is_client_error() && text.contains(expected), "{text}");
}

fn add(name: &str, lifetime_seconds: Option<u64>) -> TokenAdd {
    let (name, role) = (name.to_owned(), "operator".to_owned());
    TokenAdd { name, role, sites: Vec::new(), lifetime_seconds }
}

fn client(hub: &Hub, token: Option<&str>) -> Client {
    let (url, token) = (hub.url.clone(), token.map(str::to_owned));
    Client::new(Server { url, token, ca_pem: Some(hub.ca()) }).expect("a client")
}
