//! A token for one site shows nothing of the others.

use colony_api::request::SiteAdd;
use colony_api::{Client, Server};
use http::Method;
use serde_json::Value;

use crate::support::Hub;

#[tokio::test]
async fn a_token_for_another_site_sees_no_deployment() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut home = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    home.follow().await;
    let add = SiteAdd { name: "mars".to_owned(), ..SiteAdd::default() };
    hub.client.site_add(&add).await.expect("a site");
    let (there, elsewhere) = (guest(&hub, "home").await, guest(&hub, "mars").await);

    assert_eq!(there.deployment_list(None).await.expect("a list").len(), 1);
    there.deployment_show("hello").await.expect("it is at home");
    assert_eq!(elsewhere.deployment_list(None).await.expect("a list").len(), 0);
    for error in [
        elsewhere.deployment_show("hello").await.expect_err("not at mars").to_string(),
        elsewhere.deployment_history("hello").await.expect_err("not at mars").to_string(),
        elsewhere.deployment_why("hello", None).await.expect_err("not at mars").to_string(),
    ] {
        assert!(error.contains("hello") && !error.contains("home"), "{error}");
    }
    hub.stop().await;
}

/// An operator of one site.
async fn guest(hub: &Hub, site: &str) -> Client {
    let body = format!(r#"{{"name": "{site}-guest", "role": "operator", "sites": ["{site}"]}}"#);
    let answer = hub.send(Method::POST, "/api/v1/tokens", &body).await;
    let made: Value = serde_json::from_slice(&answer.body).expect("JSON");
    let token = made["token"].as_str().map(str::to_owned);
    let server = Server { url: hub.url.clone(), token, ca_pem: Some(hub.ca()) };
    Client::new(server).expect("a client")
}
