//! What a plan says of nodes that would not, or could hardly, do it.

use colony_api::request::{DeployRequest, SettingsChange, StrategyChange, StrategyKind};
use colony_api::view::PlanTarget;
use serde_json::{Value, json};

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

#[tokio::test]
async fn settings_are_set_changed_and_cleared_in_the_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    lo.push().await;
    let first = json!({
        "strategy": {"type": "canary", "canary": {"line": "press"}, "steps": [2, "50%"], "soak": "5m"},
        "onFailure": "stop", "selector": {"hall": "2"}, "replicas": 3,
        "retry": {"installs": 5, "updates": 2}, "progressDeadline": "15m", "soak": "2m",
    });
    let diff = changed(&hub, Some("1.0"), &first, false).await;
    for line in ["type: canary", "line: press", "- 2", "installs: 5", "replicas: 3", "hall: "] {
        assert!(diff.contains(line), "{line}: {diff}");
    }
    let change =
        json!({"strategy": {"soak": "1m"}, "clear": ["selector", "replicas", "retry.updates"]});
    let diff = changed(&hub, None, &change, false).await;
    for line in [
        "-      hall: \"2\"",
        "-    replicas: 3",
        "-      updates: 2",
        "-      soak: \"5m\"",
        "+      soak: \"1m\"",
    ] {
        assert!(diff.contains(line), "{line}: {diff}");
    }
    assert!(!diff.contains("1.1"), "only settings change, and not the version: {diff}");
    let all = json!({"clear": ["strategy", "onFailure", "retry", "progressDeadline", "soak"]});
    let diff = changed(&hub, None, &all, true).await;
    assert!(diff.contains("-  x-colony-extensions:"), "{diff}");
    hub.stop().await;
}

/// Deploys with these settings, and returns how the file changes.
async fn changed(hub: &Hub, version: Option<&str>, settings: &Value, dry_run: bool) -> String {
    let settings = serde_json::from_value(settings.clone()).expect("settings");
    let version = version.map(str::to_owned);
    let request = DeployRequest { version, settings, dry_run, ..hello("") };
    let answer = hub.client.deploy(&request).await.expect("a plan");
    answer.plan.files.iter().map(|it| it.diff.as_str()).collect()
}

async fn targets(hub: &Hub, version: &str) -> Vec<PlanTarget> {
    let kind = Some(StrategyKind::BlueGreen);
    let strategy = StrategyChange { kind, ..StrategyChange::default() };
    let settings = SettingsChange { strategy, ..SettingsChange::default() };
    let dry = DeployRequest { dry_run: true, settings, ..hello(version) };
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
