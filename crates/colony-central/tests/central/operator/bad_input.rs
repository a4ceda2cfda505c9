//! What is wrong is answered with a sentence that names it and what would be
//! right; nothing changes.

use colony_api::request::{DeployRequest, Lint, SiteAdd};
use http::Method;
use serde_json::json;

use crate::repository::git_http::{clone, git};
use crate::support::{Hub, hello};

#[tokio::test]
async fn names_nobody_knows_are_answered_with_those_there_are() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    hub.site(&["a"]).await;

    let app = DeployRequest { application: "nope".to_owned(), ..DeployRequest::default() };
    check(&hub, app, "application `nope` is not in the catalog; there is hello").await;
    check(&hub, hello("9.9"), "has no version `9.9`; there is 1.2-bad, 1.1, 1.0").await;
    let site = DeployRequest { sites: vec!["mars".to_owned()], ..hello("1.0") };
    check(&hub, site, "no site `mars`; there is home").await;
    let node = DeployRequest { node: Some("home/x".to_owned()), ..hello("1.0") };
    check(&hub, node, "site home has no node `x`; its nodes: a").await;
    let profile = DeployRequest { profile: Some("wasm".to_owned()), ..hello("1.0") };
    check(&hub, profile, "profile `wasm` does not exist; expected one of").await;
    let odd = DeployRequest { name: Some("Not A Name".to_owned()), ..hello("1.0") };
    check(&hub, odd, "a deployment name has lower-case letters").await;
    let error = hub.client.deployment_show("ghost").await.expect_err("unknown");
    assert!(error.is_not_found(), "{error}");
    hub.stop().await;
}

#[tokio::test]
async fn what_a_request_cannot_carry_is_refused_and_nothing_happens() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    let token = r#"{"name": "t", "role": "viewer", "site": ["home"]}"#;
    let long = json!({"note": "x".repeat(1_001)}).to_string();
    for (method, path, body, expected) in [
        (Method::POST, "tokens", token, "unknown field `site`"),
        (Method::POST, "tokens", r#"{"name": "t", "role": "viewer", "sites": ["mars"]}"#, "mars"),
        (Method::POST, "deployments/hello/hold", r#"{"site": ["home"]}"#, "unknown field `site`"),
        (
            Method::POST,
            "deployments/hello/hold",
            "[]",
            "a list, expected an object at line 1 column 1",
        ),
        (Method::POST, "deployments/hello/hold", &long, "the note has 1001 bytes"),
        (Method::POST, "sites/home/hold", &long, "the note has 1001 bytes"),
        (Method::DELETE, "deployments/hello?site=home", "", "unknown field `site`"),
        (Method::DELETE, "deployments/hello?planHash=nonsense", "", "run the command again"),
        (Method::GET, "nodes?after=a", "", "expected `<site>/<node>`"),
        (Method::GET, "nodes?limit=abc", "", "invalid digit"),
        (Method::DELETE, "sites", "", "Method Not Allowed"),
        (Method::GET, "sites/%ff", "", "UTF-8"),
        (Method::GET, "events?site=mars", "", "site `mars` does not exist; there is home"),
    ] {
        let path = format!("/api/v1/{path}");
        let answer = hub.send(method, &path, body).await;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(answer.status.is_client_error() && text.contains(expected), "{path}: {text}");
        assert_eq!(answer.headers["content-type"], "application/problem+json", "{path}");
    }
    assert_eq!(hub.client.token_list().await.expect("a list").len(), 1);
    assert_eq!(hub.client.site_show("home").await.expect("a site").commands_open, 0);
    hub.stop().await;
}

#[tokio::test]
async fn file_that_is_no_text_harms_only_itself() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    let work = clone(&hub, dir.path()).await;
    for path in ["sites/home.yaml", "sites/mars.yaml", "deployments/home/odd.yaml"] {
        let path = work.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, b"labels:\n  a: \xff\n").expect("it is written");
    }
    git(&work, &["add", "-A"]).await;
    git(&work, &["commit", "-qm", "bytes"]).await;
    git(&work, &["push", "-q"]).await;
    lo.pull().await;
    lo.push().await;

    assert_eq!(hub.show().await.version.as_deref(), Some("1.0"));
    let odd = hub.client.deployment_show("odd").await.expect("it is shown");
    let found = odd.sites[0].findings[0].to_string();
    assert!(found.contains("2:1: line is not UTF-8"), "{found}");
    hub.client.status().await.expect("the fleet is shown");
    hub.deploy("1.1").await;
    let odd = DeployRequest { name: Some("odd".to_owned()), ..hello("1.0") };
    assert!(hub.client.deploy(&odd).await.expect("it replaces the file").accepted);
    hub.stop().await;
}

#[tokio::test]
async fn who_has_no_certificate_may_send_little() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    for (size, status) in [(60 << 10, 403), (65 << 10, 413)] {
        let body = json!({"token": "x".repeat(size), "csr": "", "replace": false}).to_string();
        let answer = hub.send(Method::POST, "/colony/v1/join", &body).await;
        let text = String::from_utf8_lossy(&answer.body);
        assert_eq!(answer.status, status, "{text}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn parameters_and_settings_are_refused_with_their_field() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    hub.site(&["a"]).await;

    let mut unknown = hello("1.0");
    unknown.parameters.insert("colour".to_owned(), json!("red"));
    check(&hub, unknown, "parameter `colour` does not exist; expected one of").await;
    for (settings, expected) in [
        (json!({"replicas": 0}), "expected a number from 1 to 100000"),
        (json!({"strategy": {"maxUnavailable": "0"}}), "expected a number of nodes from 1"),
        (json!({"strategy": {"soak": "5x"}}), "`5x`: expected a duration such as `30s`"),
        (json!({"soak": "169h"}), "expected at most 168h"),
        (json!({"sook": "5m"}), "unknown field `sook`"),
        (json!({"clear": ["labels"]}), "expected one of strategy, strategy.maxUnavailable"),
        (
            json!({"strategy": {"soak": "5m"}}),
            "has no meaning for rolling; expected no `soak`, or type `canary` or `blue-green`",
        ),
        (
            json!({"strategy": {"type": "blue-green", "steps": [1]}}),
            "has no meaning for blue-green; expected no `steps`, or type `canary`",
        ),
        (json!({"progressDeadline": "0s"}), "expected at least 1s"),
        (json!({"retry": {"installs": 101}}), "expected a number from 1 to 100"),
    ] {
        let body = json!({"application": "hello", "settings": settings}).to_string();
        let answer = hub.send(Method::POST, "/api/v1/deployments", &body).await;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(answer.status.is_client_error() && text.contains(expected), "{body}: {text}");
    }
    let old = json!({"application": "hello", "replicas": 2}).to_string();
    let answer = hub.send(Method::POST, "/api/v1/deployments", &old).await;
    assert!(answer.status.is_client_error(), "a field that is not known is not ignored");
    hub.stop().await;
}

#[tokio::test]
async fn a_first_deployment_to_one_of_several_sites_needs_its_name() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    check(&hub, hello("1.0"), "there is no site yet: add one with").await;
    for name in ["a", "b"] {
        let add = SiteAdd { name: name.to_owned(), ..SiteAdd::default() };
        hub.client.site_add(&add).await.expect("a site");
    }
    check(&hub, hello("1.0"), "choose one with `--site` (known sites: a, b)").await;
    hub.stop().await;
}

#[tokio::test]
async fn a_plan_that_changed_since_it_was_shown_is_not_applied() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    hub.site(&["a"]).await;
    let dry = DeployRequest { dry_run: true, ..hello("1.0") };
    let plan = hub.client.deploy(&dry).await.expect("a plan");
    assert!(!plan.accepted && plan.plan.has_changes());

    let other = DeployRequest { plan_hash: Some(plan.plan.hash.clone()), ..hello("1.1") };
    check(&hub, other, "Git or the fleet changed meanwhile; run the command again").await;
    let same = DeployRequest { plan_hash: Some(plan.plan.hash), ..hello("1.0") };
    assert!(hub.client.deploy(&same).await.expect("a plan").accepted);
    hub.stop().await;
}

#[tokio::test]
async fn requests_that_cannot_be_read_are_problems() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let status = async |path: &str, body: &str| {
        let answer = hub.send(Method::POST, path, body).await;
        let kind = answer.headers.get("content-type").expect("a type").clone();
        assert_eq!(kind, "application/problem+json");
        answer.status.as_u16()
    };
    assert_eq!(status("/api/v1/deployments", "{").await, 400);
    assert_eq!(status("/api/v1/deployments", &" ".repeat(3 << 20)).await, 413);
    assert_eq!(status("/api/v1/nothing", "").await, 404);
    let lint = Lint { text: "id: 7".to_owned(), file: Some("margo.yaml".to_owned()) };
    let lint = hub.client.application_lint(&lint).await.expect("findings");
    assert!(!lint.usable && lint.findings.len() > 1, "{lint:?}");
    hub.stop().await;
}

async fn check(hub: &Hub, request: DeployRequest, expected: &str) {
    let error = hub.client.deploy(&request).await.expect_err("it is refused");
    let problem = error.problem().unwrap_or_else(|| panic!("{error:?}"));
    let detail = problem.detail.clone().unwrap_or_default();
    assert!(detail.contains(expected), "{detail}");
    assert!(problem.status < 500, "{problem:?}");
    assert!(hub.client.deployment_list(None).await.expect("a list").is_empty());
}
