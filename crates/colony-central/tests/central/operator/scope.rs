//! A token for one site shows nothing of the others.

use colony_api::request::{DeployRequest, SiteAdd};
use colony_api::{Client, Server};
use http::Method;
use serde_json::Value;

use crate::support::{Hub, hello};

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

#[tokio::test]
async fn what_is_of_the_whole_fleet_needs_a_token_for_the_whole_fleet() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let add = SiteAdd { name: "mars".to_owned(), ..SiteAdd::default() };
    hub.client.site_add(&add).await.expect("a site");
    let token = hub.made("admin", &["mars"]).await;
    let refs = "/git/deployments.git/info/refs?service=git-upload-pack";
    let more = r#"{"name": "more", "role": "admin"}"#;
    let registry = format!(r#"{{"url": "{}"}}"#, dir.path().display());
    for (method, path, body) in [
        (Method::GET, "/api/v1/tokens", ""),
        (Method::POST, "/api/v1/tokens", more),
        (Method::DELETE, "/api/v1/tokens/admin", ""),
        (Method::POST, "/api/v1/registries", &registry),
        (Method::POST, "/api/v1/registries/builtin/sync", ""),
        (Method::DELETE, "/api/v1/registries/apps", ""),
        (Method::GET, refs, ""),
        (Method::POST, "/git/deployments.git/git-upload-pack", "0000"),
    ] {
        let answer = hub.send_as(&token, method, path, body).await;
        let text = String::from_utf8_lossy(&answer.body);
        assert_eq!(answer.status, 403, "{path}: {text}");
        assert!(text.contains("is for mars only"), "{path}: {text}");
    }
    let viewer = hub.made("viewer", &[]).await;
    assert_eq!(hub.send_as(&viewer, Method::GET, refs, "").await.status, 200);
    hub.stop().await;
}

#[tokio::test]
async fn a_token_for_one_site_hears_and_learns_nothing_of_the_others() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    for name in ["home", "mars"] {
        let add = SiteAdd { name: name.to_owned(), ..SiteAdd::default() };
        hub.client.site_add(&add).await.expect("a site");
    }
    let token = hub.made("viewer", &["mars"]).await;

    let answer = hub.send_as(&token, Method::GET, "/api/v1/events", "").await;
    let page: Value = serde_json::from_slice(&answer.body).expect("JSON");
    let sites: Vec<_> =
        page["events"].as_array().into_iter().flatten().map(|it| &it["site"]).collect();
    assert_eq!(sites, ["mars"], "neither of others nor of tokens");
    assert_eq!(page["more"], false, "others are not counted");
    let sites = vec!["home".to_owned(), "mars".to_owned()];
    hub.client.deploy(&DeployRequest { sites, ..hello("1.0") }).await.expect("a plan");
    hub.event("committed", 0).await;
    for path in ["/api/v1/events", "/api/v1/deployments/hello/history"] {
        let answer = hub.send_as(&token, Method::GET, path, "").await;
        let text = String::from_utf8_lossy(&answer.body);
        assert!(text.contains("mars") && !text.contains("home"), "{path}: {text}");
    }
    for path in [
        "/api/v1/nodes?site=venus",
        "/api/v1/deployments?site=venus",
        "/api/v1/deployments/hello/why?site=venus",
        "/api/v1/sites/venus",
    ] {
        let answer = hub.send_as(&token, Method::GET, path, "").await;
        let text = String::from_utf8_lossy(&answer.body);
        assert!(answer.status == 403 && !text.contains("home"), "{path}: {text}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn a_viewer_forces_nothing_that_is_on_its_way_out() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    let head = lo.plant.site.git().expect("a commit").to_string();
    let gone = hub.send(Method::DELETE, "/api/v1/deployments/hello", "").await;
    assert_eq!(gone.status, 202);
    lo.hints(&format!("head={head}")).await.expect("Git moved");
    lo.pull().await;
    lo.push().await;

    for token in [hub.made("viewer", &[]).await, hub.made("viewer", &["home"]).await] {
        for path in ["hello?force=true", "hello?force=true&sites=home", "hello"] {
            let path = format!("/api/v1/deployments/{path}");
            let answer = hub.send_as(&token, Method::DELETE, &path, "").await;
            assert_eq!(answer.status, 403, "{path}");
        }
    }
    let open = hub.client.site_show("home").await.expect("a site").commands_open;
    assert_eq!(open, 0, "nothing was ordered");
    let path = "/api/v1/deployments/hello?force=true";
    assert_eq!(hub.send(Method::DELETE, path, "").await.status, 202, "it was there to be forced");
    hub.stop().await;
}

/// An operator of one site.
async fn guest(hub: &Hub, site: &str) -> Client {
    let token = Some(hub.made("operator", &[site]).await);
    let server = Server { url: hub.url.clone(), token, ca_pem: Some(hub.ca()) };
    Client::new(server).expect("a client")
}

#[tokio::test]
async fn list_of_another_run_is_sent_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let answer = hub.send(Method::GET, "/api/v1/sites", "").await;
    let etag = answer.headers["etag"].to_str().expect("text").to_owned();
    assert_eq!(hub.list_unless("/api/v1/sites", &etag).await.status, 304);
    hub.stop().await;

    let hub = Hub::start(dir.path()).await;
    assert_eq!(hub.list_unless("/api/v1/sites", &etag).await.status, 200);
    hub.stop().await;
}

#[tokio::test]
async fn tag_of_a_list_does_not_hide_the_error_of_another_request() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let add = SiteAdd { name: "home".to_owned(), ..SiteAdd::default() };
    hub.client.site_add(&add).await.expect("a site");
    for list in ["/api/v1/nodes", "/api/v1/deployments"] {
        let answer = hub.send(Method::GET, list, "").await;
        let etag = answer.headers["etag"].to_str().expect("text").to_owned();
        for (query, expected) in [("", 304), ("?site=home", 200), ("?site=nope", 404)] {
            let status = hub.list_unless(&format!("{list}{query}"), &etag).await.status;
            assert_eq!(status, expected, "{list}{query}");
        }
    }
    hub.stop().await;
}
