//! Plans over the wire, and what the site does then.

use colony_api::request::{
    DeleteQuery, DeployRequest, Rollback, SettingsChange, StrategyChange, StrategyKind,
};
use colony_api::view::{PlanTarget, PlanView};
use serde_json::{Value, json};

use colony_core::event::HoldScope;
use colony_core::site::Action;

use crate::repository::git_http::{clone, git};
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
async fn lowered_replicas_and_another_selector_list_the_removals() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&[]).await;
    for (node, line) in [("a", "press"), ("b", "paint"), ("c", "paint")] {
        lo.plant.join_with(node, "amd64", &format!(r#""line":"{line}""#));
    }
    lo.plant.pass(1);
    lo.push().await;
    hub.deploy("1.0").await;
    lo.follow().await;

    let fewer = DeployRequest { settings: settings(json!({"replicas": 1})), ..change() };
    let plan = planned(&hub, &fewer).await;
    check(&plan.targets, "b remove 1.0, c remove 1.0, a unchanged 1.0");
    assert!(plan.touches_running(), "a person is asked");
    assert_eq!(plan.settings.len(), 1);
    let selector = settings(json!({"selector": {"line": "paint"}}));
    let other = DeployRequest { settings: selector, ..change() };
    check(&planned(&hub, &other).await.targets, "a remove 1.0, b unchanged 1.0, c unchanged 1.0");

    hub.client.deploy(&fewer).await.expect("a plan");
    lo.follow().await;
    let left: Vec<String> = lo.plant.site.placements().map(|it| it.id.node.to_string()).collect();
    assert_eq!(left, ["a"]);
    hub.stop().await;
}

#[tokio::test]
async fn plan_that_can_run_nowhere_is_not_committed() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let _lo = hub.site(&["a"]).await;
    let selector = settings(json!({"selector": {"line": "press"}}));
    let request = DeployRequest { settings: selector, ..hello("1.0") };
    let refusal = planned(&hub, &request).await.refusal.expect("refused");
    let reason = "no node can run hello, so nothing was changed: home: no node fits: \
                  a needs label line=press, device has no such label";
    assert_eq!(refusal, reason);
    let error = hub.client.deploy(&request).await.expect_err("refused");
    assert!(error.to_string().contains(reason), "{error}");
    let missing = hub.client.deployment_show("hello").await.expect_err("nothing was committed");
    assert!(missing.to_string().contains("does not exist"), "{missing}");
    hub.stop().await;
}

#[tokio::test]
async fn site_that_is_added_takes_the_parameters_over() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    let parameters = [("greeting".to_owned(), json!("Moin"))].into();
    let first = DeployRequest { parameters, ..hello("1.0") };
    hub.client.deploy(&first).await.expect("a plan");
    lo.follow().await;
    let add = colony_api::request::SiteAdd { name: "plant-b".to_owned(), ..Default::default() };
    hub.client.site_add(&add).await.expect("a site");

    let sites = vec!["plant-b".to_owned()];
    let plan = planned(&hub, &DeployRequest { sites: sites.clone(), ..hello("1.0") }).await;
    check_parameters(&plan, "plant-b greeting -→\"Moin\"");
    assert!(plan.files[0].diff.contains("Moin"), "{:?}", plan.files);

    let parameters = [("greeting".to_owned(), json!("Hi"))].into();
    let both = DeployRequest { parameters, sites: vec!["home".to_owned()], ..change() };
    check_parameters(&planned(&hub, &both).await, "home greeting \"Moin\"→\"Hi\"");
    hub.stop().await;
}

#[tokio::test]
async fn change_over_a_broken_file_starts_from_what_is_in_force() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a", "b"]).await;
    let parameters = [("greeting".to_owned(), json!("Moin"))].into();
    let settings = settings(json!({"replicas": 1, "onFailure": "stop"}));
    let first = DeployRequest { parameters, settings, ..hello("1.0") };
    hub.client.deploy(&first).await.expect("a plan");
    lo.follow().await;
    let work = clone(&hub, dir.path()).await;
    let file = work.join("deployments/home/hello.yaml");
    let text = std::fs::read_to_string(&file).expect("the file");
    std::fs::write(&file, text.replace("deviceId:", "devceId:")).expect("an edit");
    git(&work, &["commit", "-qam", "typo"]).await;
    git(&work, &["push", "-q"]).await;
    lo.follow().await;

    let plan = planned(&hub, &hello("1.1")).await;
    check(&plan.targets, "a update 1.0");
    check_parameters(&plan, "");
    assert_eq!(plan.settings, []);
    let finding = plan.findings.first().expect("a warning").to_string();
    assert!(finding.contains("hello.yaml in Git cannot be used"), "{finding}");
    let entries = hub.client.deployment_history("hello").await.expect("a history").entries;
    let shown: Vec<_> = entries.iter().map(|it| (it.version.as_deref(), it.removed)).collect();
    assert_eq!(shown, [(None, false), (Some("1.0"), false)]);
    hub.stop().await;
}

#[tokio::test]
async fn deployment_that_a_hold_keeps_from_leaving_is_taken_up_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    let scope = HoldScope::Deployment(lo.plant.site.deployments().next().expect("it").id.clone());
    let hold = Action::Hold { scope, note: String::new() };
    lo.plant.command(hold).expect("held");
    lo.push().await;
    hub.client.deployment_delete("hello", &DeleteQuery::default()).await.expect("it is deleted");
    lo.follow().await;

    let plan = planned(&hub, &hello("1.1")).await;
    check(&plan.targets, "a update 1.0 (will wait: ana holds hello)");
    hub.deploy("1.1").await;
    lo.follow().await;
    assert_eq!(lo.plant.site.placements().count(), 1, "no second copy");
    hub.stop().await;
}

#[tokio::test]
async fn window_in_force_counts_although_the_file_is_broken_since() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    let work = clone(&hub, dir.path()).await;
    let file = work.join("sites/home.yaml");
    std::fs::create_dir_all(work.join("sites")).expect("a folder");
    // Closed for all but a minute of the year.
    let window = "[{days: [mon], from: '00:00', to: '00:01'}]";
    for (key, message) in [("maintenanceWindows", "a window"), ("maintenanceWindow", "a typo")] {
        std::fs::write(&file, format!("{key}: {window}\n")).expect("an edit");
        git(&work, &["add", "-A"]).await;
        git(&work, &["commit", "-qm", message]).await;
    }
    git(&work, &["push", "-q"]).await;
    lo.follow().await;

    let [target] = &planned(&hub, &hello("1.1")).await.targets[..] else { panic!("one target") };
    let reason = target.reason.as_deref().unwrap_or_default();
    assert!(
        reason.starts_with("will wait: outside the maintenance window; it starts in"),
        "{reason:?}"
    );
    hub.stop().await;
}

#[tokio::test]
async fn change_brings_nothing_back_that_was_deleted_at_a_site_which_is_away() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    let add = colony_api::request::SiteAdd { name: "mars".to_owned(), ..Default::default() };
    hub.client.site_add(&add).await.expect("a site");
    let sites = vec!["home".to_owned(), "mars".to_owned()];
    let both = DeployRequest { sites, ..hello("1.0") };
    hub.client.deploy(&both).await.expect("a plan");
    lo.follow().await;
    let home =
        colony_api::request::DeleteQuery { sites: Some("home".to_owned()), ..Default::default() };
    hub.client.deployment_delete("hello", &home).await.expect("it is deleted");

    let parameters = [("greeting".to_owned(), json!("Moin"))].into();
    let plan = planned(&hub, &DeployRequest { parameters, ..change() }).await;
    let files: Vec<&str> = plan.files.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(files, ["deployments/mars/hello.yaml"]);
    hub.stop().await;
}

#[tokio::test]
async fn way_back_has_a_diff() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    for version in ["1.0", "1.1"] {
        hub.deploy(version).await;
        lo.follow().await;
    }
    let request = Rollback { dry_run: true, ..Rollback::default() };
    let plan = hub.client.deployment_rollback("hello", &request).await.expect("a plan").plan;
    check(&plan.targets, "a update 1.1");
    assert!(plan.has_changes() && plan.files[0].diff.contains("\n-"), "{:?}", plan.files);
    assert_eq!(plan.version.as_deref(), Some("1.0"));
    let named = Rollback { to: Some("1.0".to_owned()), ..request };
    let named = hub.client.deployment_rollback("hello", &named).await.expect("a plan").plan;
    assert!(!plan.pulls.is_empty(), "{plan:?}");
    assert_eq!((plan.pulls, plan.parameters), (named.pulls, named.parameters));
    let said =
        "site `home` will refuse 1.1 until you run `colony quarantine release hello --site home`";
    assert!(plan.findings.iter().any(|it| it.problem == said), "{:?}", plan.findings);
    hub.stop().await;
}

#[tokio::test]
async fn way_back_leads_to_a_commit_too() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    for greeting in ["Moin", "Hi"] {
        let parameters = [("greeting".to_owned(), json!(greeting))].into();
        hub.client.deploy(&DeployRequest { parameters, ..hello("1.0") }).await.expect("a plan");
        lo.follow().await;
    }
    let history = hub.client.deployment_history("hello").await.expect("a history");
    let first = history.entries.last().expect("an entry").commit.short().to_owned();
    let request = Rollback { to: Some(first), dry_run: true, ..Rollback::default() };
    let plan = hub.client.deployment_rollback("hello", &request).await.expect("a plan").plan;
    assert_eq!(plan.version.as_deref(), Some("1.0"));
    check_parameters(&plan, "home greeting \"Hi\"→\"Moin\"");
    hub.stop().await;
}

#[tokio::test]
async fn new_site_gets_the_version_that_the_others_run() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    let add = colony_api::request::SiteAdd { name: "plant-b".to_owned(), ..Default::default() };
    hub.client.site_add(&add).await.expect("a site");
    let parameters = [("greeting".to_owned(), json!("Hi"))].into();
    let sites = ["home", "plant-b"].map(str::to_owned).to_vec();
    let plan = planned(&hub, &DeployRequest { parameters, sites, ..change() }).await;
    assert_eq!(plan.version.as_deref(), Some("1.0"), "{plan:?}");
    hub.stop().await;
}

/// A change of what is deployed, which keeps its version.
fn change() -> DeployRequest {
    DeployRequest { version: None, ..hello("") }
}

async fn planned(hub: &Hub, request: &DeployRequest) -> PlanView {
    let dry = DeployRequest { dry_run: true, ..request.clone() };
    hub.client.deploy(&dry).await.expect("a plan").plan
}

#[track_caller]
fn check_parameters(plan: &PlanView, expected: &str) {
    let value =
        |it: &Option<serde_json::Value>| it.as_ref().map_or("-".to_owned(), ToString::to_string);
    let text = plan
        .parameters
        .iter()
        .map(|it| format!("{} {} {}→{}", it.site, it.name, value(&it.from), value(&it.to)));
    assert_eq!(text.collect::<Vec<_>>().join(", "), expected);
}

fn settings(value: Value) -> SettingsChange {
    serde_json::from_value(value).expect("settings")
}

#[tokio::test]
async fn settings_are_set_changed_and_cleared_in_the_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    lo.plant.join_with("b", "amd64", r#""hall":"2","line":"press""#);
    lo.plant.pass(1);
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
