//! The queue of changes: one that Git refuses fails alone, and one that waits can be cancelled.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use colony_api::request::{DeployRequest, SiteAdd};
use colony_api::view::Outcome;
use colony_core::fleet::RollupStatus;
use http::Method;

use crate::repository::crash::{remote, with_git};
use crate::support::{Hub, hello};

#[tokio::test]
async fn a_change_that_git_refuses_fails_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let git = remote(dir.path());
    refuse_files_named(&git, "bad");
    let hub = with_git(dir.path(), &git).await;
    let mut lo = hub.site(&["a"]).await;
    let away = dir.path().join("away.git");
    std::fs::rename(&git, &away).expect("Git goes down");
    for name in ["one", "bad", "two", "three"] {
        deploy(&hub, name).await;
    }
    assert_eq!(hub.client.change_list().await.expect("a queue").len(), 4);
    std::fs::rename(&away, &git).expect("Git comes back");

    let refused = hub.event("refused", 0).await;

    assert_eq!(refused.deployment.as_deref(), Some("bad"));
    assert!(refused.sentence.contains("no bad files here"), "{}", refused.sentence);
    for name in ["one", "two", "three"] {
        committed(&hub, name).await;
    }
    assert_eq!(hub.client.change_list().await.expect("a queue"), []);
    let why = hub.client.deployment_why("bad", None).await.expect("an answer");
    let reason = why.reasons.iter().find(|it| it.sentence.contains("no bad files here"));
    assert_eq!(reason.map(|it| it.owner.as_str()), Some("operator"), "{why:?}");
    let view = hub.client.deployment_show("bad").await.expect("it is known");
    assert_eq!((view.outcome, view.sites[0].status), (Outcome::Failed, RollupStatus::Refused));
    assert_eq!(hub.send(Method::GET, "/readyz", "").await.status, 200, "Git itself works");

    std::fs::remove_file(git.join("hooks/pre-receive")).expect("the rule is gone");
    deploy(&hub, "bad").await;
    committed(&hub, "bad").await;
    lo.follow().await;
    hub.stop().await;
}

#[tokio::test]
async fn a_change_that_waits_can_be_seen_and_cancelled() {
    let dir = tempfile::tempdir().expect("a folder");
    let git = remote(dir.path());
    let hub = with_git(dir.path(), &git).await;
    let _lo = hub.site(&["a"]).await;
    let away = dir.path().join("away.git");
    std::fs::rename(&git, &away).expect("Git goes down");
    deploy(&hub, "one").await;
    deploy(&hub, "two").await;
    let open = hub.client.change_list().await.expect("a queue");
    assert_eq!(open.iter().flat_map(|it| &it.paths).count(), 2, "{open:?}");
    assert_eq!(open[0].paths, ["deployments/home/one.yaml"]);
    let path = format!("/api/v1/changes/{}", open[0].id);
    let viewer = hub.made("viewer", &[]).await;
    let add = SiteAdd { name: "plant".to_owned(), ..SiteAdd::default() };
    hub.client.site_add(&add).await.expect("a site");
    let elsewhere = hub.made("operator", &["plant"]).await;
    for token in [&viewer, &elsewhere] {
        assert_eq!(hub.send_as(token, Method::DELETE, &path, "").await.status, 403);
    }

    hub.client.change_cancel(&open[0].id).await.expect("cancelled");

    let again = hub.client.change_cancel(&open[0].id).await.expect_err("it is gone");
    assert!(again.to_string().contains("waits for Git"), "{again}");
    assert_eq!(hub.client.change_list().await.expect("a queue"), open[1..]);
    hub.client.deployment_show("one").await.expect_err("nothing of it is left");
    std::fs::rename(&away, &git).expect("Git comes back");
    committed(&hub, "two").await;
    let event = hub.event("change_cancelled", 0).await;
    assert_eq!((event.actor.as_str(), event.deployment.as_deref()), ("admin", Some("one")));
    hub.stop().await;
}

#[tokio::test]
async fn what_git_would_never_take_is_not_accepted() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let long = "x".repeat(1 << 20);
    let body = serde_json::json!({"name": "big", "labels": {"a": long}}).to_string();

    let answer = hub.send(Method::POST, "/api/v1/sites", &body).await;

    let text = String::from_utf8_lossy(&answer.body);
    assert!((400..500).contains(&answer.status.as_u16()) && text.contains("labels"), "{text}");
    let body = serde_json::json!({"name": "big", "labels": {"line": "3"}}).to_string();
    assert_eq!(hub.send(Method::POST, "/api/v1/sites", &body).await.status, 201);
    hub.stop().await;
}

async fn deploy(hub: &Hub, name: &str) {
    let request = DeployRequest { name: Some(name.to_owned()), ..hello("1.0") };
    assert!(hub.client.deploy(&request).await.expect("a plan").accepted);
}

/// Waits until a deployment is in Git.
async fn committed(hub: &Hub, name: &str) {
    let mut after = 0;
    loop {
        let event = hub.event("committed", after).await;
        if event.deployment.as_deref() == Some(name) {
            return;
        }
        after = event.position;
    }
}

/// A rule of the server, as hosts of Git have them.
fn refuse_files_named(git: &Path, name: &str) {
    let hook = git.join("hooks/pre-receive");
    let text = format!(
        "#!/bin/sh\nwhile read old new ref; do\n  if git ls-tree -r --name-only $new | \
         grep -q '{name}'; then echo 'no {name} files here' >&2; exit 1; fi\ndone\n"
    );
    std::fs::create_dir_all(git.join("hooks")).expect("a folder");
    std::fs::write(&hook, text).expect("a hook");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("executable");
}
