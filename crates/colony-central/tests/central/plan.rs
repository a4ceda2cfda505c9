//! What a plan says of nodes that would not, or could hardly, do it.

use colony_api::request::{DeployRequest, Strategy, StrategyKind};
use colony_api::view::PlanTarget;

use crate::support::{Hub, hello};

#[tokio::test]
async fn blue_green_leaves_devices_of_another_make_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    lo.plant.join_foreign("z");
    lo.plant.pass(1);
    lo.push().await;
    let first = targets(&hub, "1.0").await;
    check(
        &first,
        "a create -, z refused - (not a node of colony's own: it cannot run two versions at once)",
    );

    hub.deploy("1.0").await;
    lo.follow().await;
    let next = targets(&hub, "1.1").await;
    check(
        &next,
        "a update 1.0, z refused 1.0 (not a node of colony's own: it cannot run two versions at once)",
    );
    hub.stop().await;
}

async fn targets(hub: &Hub, version: &str) -> Vec<PlanTarget> {
    let strategy = Strategy {
        kind: StrategyKind::BlueGreen,
        max_unavailable: None,
        canary: None,
        soak: None,
        promote: None,
    };
    let dry = DeployRequest { dry_run: true, strategy: Some(strategy), ..hello(version) };
    hub.client.deploy(&dry).await.expect("a plan").plan.targets
}

#[track_caller]
fn check(targets: &[PlanTarget], expected: &str) {
    let told = targets.iter().map(|it| {
        let node = it.node.as_ref().map(ToString::to_string).unwrap_or_default();
        let action = it.action.name();
        let reason = it.reason.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
        format!("{node} {action} {}{reason}", it.from_version.as_deref().unwrap_or("-"))
    });
    assert_eq!(told.collect::<Vec<_>>().join(", "), expected);
}
