//! Deletions that take the volumes with them.

use colony_api::request::DeleteQuery;
use colony_api::view::PlanView;
use colony_core::id::DeploymentId;
use colony_core::purge::mark_path;

use crate::support::{Hub, Lo};

#[tokio::test]
async fn plan_lists_the_volumes_that_go_and_writes_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    lo.plant.join_foreign("z");
    lo.plant.pass(1);
    lo.push().await;
    hub.deploy("1.0").await;
    lo.follow().await;
    let id = deployed(&lo);

    let plan = delete(&hub, true, true).await;
    assert_eq!(plan.purges, ["home/a"]);
    let warning = "home/z is not colony's own and may keep the volumes of hello";
    assert!(plan.findings.iter().any(|it| it.problem == warning), "{:?}", plan.findings);
    let mark = mark_path(lo.plant.site.name(), &id);
    let paths: Vec<&str> = plan.files.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["deployments/home/hello.yaml", &mark]);
    let kept = delete(&hub, false, true).await;
    assert_eq!((kept.purges.len(), kept.files.len()), (0, 1));
    assert_ne!(kept.hash, plan.hash, "another plan was agreed to");
    assert_eq!(deployed(&lo), id);
    hub.stop().await;
}

/// Nodes that are offline purge the deployment that was deleted, not the next
/// one of its name.
#[tokio::test]
async fn next_deployment_of_the_name_is_another_one() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    let first = deployed(&lo);
    away(&mut lo).await;

    delete(&hub, true, false).await;
    take(&mut lo).await;
    hub.deploy("1.1").await;
    take(&mut lo).await;
    assert_ne!(deployed(&lo), first);
    let leaving = lo.plant.site.deployment(&first).expect("the node has not confirmed");
    assert!(leaving.is_purged());
    hub.stop().await;
}

/// The first deletion kept the volumes, and is not over.
#[tokio::test]
async fn deletion_in_progress_can_still_become_a_purge() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    let id = deployed(&lo);
    away(&mut lo).await;
    delete(&hub, false, false).await;
    take(&mut lo).await;
    assert!(!lo.plant.site.deployment(&id).expect("it leaves").is_purged());

    let plan = delete(&hub, true, false).await;
    assert_eq!(plan.purges, ["home/a"]);
    take(&mut lo).await;
    assert!(lo.plant.site.deployment(&id).expect("it leaves").is_purged());
    let again = delete(&hub, true, true).await;
    assert!(again.files.is_empty(), "{:?}", again.files);
    hub.stop().await;
}

async fn delete(hub: &Hub, purge: bool, dry_run: bool) -> PlanView {
    let query = DeleteQuery { purge, dry_run, ..DeleteQuery::default() };
    let answer = hub.client.deployment_delete("hello", &query).await.expect("a plan");
    answer.plan
}

/// Waits until Git has moved, takes it and tells.
async fn take(lo: &mut Lo) {
    let head = lo.plant.site.git().map(|it| it.to_string()).unwrap_or_default();
    assert!(lo.hints(&format!("head={head}")).await.is_some(), "nothing moved");
    lo.pull().await;
    lo.push().await;
}

async fn away(lo: &mut Lo) {
    lo.plant.silence("a");
    lo.plant.pass(60);
    lo.push().await;
}

/// The deployment that the site runs.
fn deployed(lo: &Lo) -> DeploymentId {
    let name = "hello".parse().expect("a name");
    lo.plant.site.deployment_named(&name).expect("it is there").id.clone()
}
