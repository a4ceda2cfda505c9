//! From a deploy over an update and a bad revision to the end.

use colony_api::request::{
    DeleteQuery, DeployRequest, EventQuery, OnFailure, Rollback, SettingsChange,
};
use colony_api::view::{Outcome, PlanAction};
use colony_core::fleet::RollupStatus;
use colony_core::state::State;

use crate::support::{Hub, hello};

#[tokio::test]
async fn a_deploy_is_committed_and_its_state_comes_back() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a", "b"]).await;

    hub.deploy("1.0").await;
    let view = hub.show().await;
    hub.check(&view, Outcome::InProgress, "");
    lo.follow().await;

    let view = hub.end().await;
    hub.check(&view, Outcome::Installed, "INSTALLED 1.0 on 2 nodes, commit ");
    assert_eq!((view.application.as_str(), view.version.as_deref()), ("hello", Some("1.0")));
    assert_eq!(view.sites[0].status, RollupStatus::Placed(State::Installed));
    let query = EventQuery { kind: Some("state_transition".to_owned()), ..EventQuery::default() };
    let page = hub.client.event_list(&query).await.expect("a page");
    let told = page.events.last().expect("a transition").sentence.as_str();
    assert_eq!(told, "hello 1.0 on home/b: INSTALLING → INSTALLED");
    hub.stop().await;
}

#[tokio::test]
async fn the_same_again_changes_nothing_and_an_update_keeps_the_id() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    let id = hub.show().await.sites[0].id.clone();

    let again = hub.client.deploy(&hello("1.0")).await.expect("a plan");
    assert!(!again.accepted && !again.plan.has_changes());
    assert_eq!(again.plan.count(PlanAction::Unchanged), 1);
    hub.deploy("1.1").await;
    lo.follow().await;

    let view = hub.end().await;
    hub.check(&view, Outcome::Installed, "INSTALLED 1.1");
    assert_eq!(view.sites[0].id, id);
    let history = hub.client.deployment_history("hello").await.expect("a history");
    let versions: Vec<_> = history.entries.iter().filter_map(|it| it.version.clone()).collect();
    assert_eq!(versions, ["1.1", "1.0"]);
    let changes: Vec<_> = history.entries.iter().map(|it| it.changes.join(", ")).collect();
    assert_eq!(changes, ["version 1.0 → 1.1", ""]);

    let parameters = [("greeting".to_owned(), "Moin".into())].into();
    hub.client.deploy(&DeployRequest { parameters, ..hello("1.1") }).await.expect("a plan");
    lo.follow().await;
    let history = hub.client.deployment_history("hello").await.expect("a history");
    let newest = &history.entries[0];
    assert_eq!(newest.subject, "Change greeting of hello at home");
    assert_eq!(newest.changes, [r#"parameter greeting "Good day" → "Moin""#]);
    hub.stop().await;
}

#[tokio::test]
async fn a_bad_revision_is_reverted_in_git_and_is_no_success() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.1").await;
    lo.follow().await;
    hub.deploy("1.2-bad").await;
    let before = hub.head().await;
    hub.event("committed", before - 1).await;
    lo.pull().await;
    lo.report("failed:unhealthy|GET / 500, 3x");
    lo.converge();
    lo.plant.pass(1);
    lo.push().await;

    lo.follow().await;

    let view = hub.end().await;
    hub.check(&view, Outcome::RolledBack, "ROLLED BACK to 1.1: home/a unhealthy (GET / 500, 3x)");
    hub.check(&view, Outcome::RolledBack, "1.2-bad quarantined, revert commit ");
    hub.client.quarantine_release("hello", &Default::default()).await.expect("an order");
    assert_eq!(hub.show().await.outcome, Outcome::InProgress);
    lo.obey().await;
    assert!(hub.show().await.sites[0].quarantine.is_empty());
    hub.stop().await;
}

#[tokio::test]
async fn revision_that_one_node_refuses_is_shown_with_the_node() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.1").await;
    lo.follow().await;
    let settings =
        SettingsChange { on_failure: Some(OnFailure::RollbackNode), ..SettingsChange::default() };
    let bad = DeployRequest { settings, ..hello("1.2-bad") };
    let before = hub.head().await;
    hub.client.deploy(&bad).await.expect("a plan");
    hub.event("committed", before).await;
    lo.pull().await;
    lo.report("failed:unhealthy|GET / 500, 3x");
    lo.converge();
    lo.push().await;

    let site = hub.show().await.sites.remove(0);
    let shown: Vec<_> = site.rejected.iter().map(|it| (&it.version, &it.reason)).collect();
    let expected = (Some("1.2-bad".to_owned()), "a unhealthy (GET / 500, 3x)".to_owned());
    assert_eq!(shown, [(&expected.0, &expected.1)]);
    assert!(site.quarantine.is_empty());
    hub.stop().await;
}

#[tokio::test]
async fn rollback_to_a_version_restores_its_file_and_delete_removes_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    for version in ["1.0", "1.1"] {
        hub.deploy(version).await;
        lo.follow().await;
    }

    let to = Rollback { to: Some("1.0".to_owned()), ..Rollback::default() };
    assert!(hub.client.deployment_rollback("hello", &to).await.expect("a plan").accepted);
    lo.follow().await;
    hub.check(&hub.end().await, Outcome::Installed, "INSTALLED 1.0");

    let delete = DeleteQuery::default();
    let answer = hub.client.deployment_delete("hello", &delete).await.expect("a plan");
    assert_eq!(answer.plan.count(PlanAction::Remove), 1);
    lo.follow().await;
    hub.check(&hub.end().await, Outcome::Deleted, "DELETED from 1 node");
    assert!(hub.client.deployment_list(None).await.expect("a list").is_empty());
    let error = hub.client.deployment_delete("hello", &delete).await.expect_err("gone");
    assert!(error.to_string().contains("`hello` is already deleted"), "{error}");
    hub.stop().await;
}

#[tokio::test]
async fn history_names_the_operator_who_ordered_a_rollback() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    for version in ["1.0", "1.1"] {
        hub.deploy(version).await;
        lo.follow().await;
    }
    hub.client.deployment_rollback("hello", &Rollback::default()).await.expect("an order");
    lo.obey().await;
    lo.converge();
    lo.plant.pass(1);
    lo.push().await;
    lo.follow().await;

    let history = hub.client.deployment_history("hello").await.expect("a history");
    let (revert, deploy) = (&history.entries[0], &history.entries[1]);
    assert!(revert.subject.starts_with("Revert hello at home from 1.1 to 1.0"), "{revert:?}");
    assert_eq!(revert.author, deploy.author, "the operator ordered it");
    hub.stop().await;
}

#[tokio::test]
async fn second_delete_says_that_the_first_is_under_way() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    lo.plant.silence("a");
    lo.plant.pass(30);
    lo.push().await;
    let delete = DeleteQuery::default();
    assert!(hub.client.deployment_delete("hello", &delete).await.expect("a plan").accepted);
    lo.follow().await;

    let again = hub.client.deployment_delete("hello", &delete).await.expect("a plan");
    assert!(!again.accepted);
    let [finding] = &again.plan.findings[..] else { panic!("one finding: {:?}", again.plan) };
    let said = "hello is already being removed at home (for 0 s, still on a); \
                `colony why hello` says what it waits for";
    assert_eq!(finding.problem, said);
    let [shown] = &hub.client.deployment_list(None).await.expect("a list")[..] else {
        panic!("one deployment")
    };
    assert_eq!(shown.version.as_deref(), Some("1.0"), "the version that is being removed");
    assert_eq!(shown.sites[0].version.as_deref(), Some("1.0"));
    let status = hub.client.status().await.expect("a status");
    let [summary] = &status.deployments[..] else { panic!("one deployment") };
    assert_eq!((summary.sites, summary.placements), (1, 1));
    assert_eq!(summary.version.as_deref(), Some("1.0"));
    hub.stop().await;
}

#[tokio::test]
async fn an_offline_node_is_deferred_and_a_forced_delete_ends_its_wait() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a", "b"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    lo.plant.silence("b");
    lo.plant.pass(30);
    lo.push().await;

    let plan = hub.client.deploy(&hello("1.1")).await.expect("a plan").plan;
    assert_eq!((plan.count(PlanAction::Update), plan.count(PlanAction::Deferred)), (1, 1));
    lo.follow().await;
    hub.check(&hub.end().await, Outcome::Deferred, "INSTALLED 1, deferred 1 (home/b offline");
    let why = hub.client.deployment_why("hello", Some("home")).await.expect("an answer");
    assert!(why.summary.contains("node b deferred: offline"), "{}", why.summary);

    let force = DeleteQuery { force: true, ..DeleteQuery::default() };
    hub.client.deployment_delete("hello", &force).await.expect("a plan");
    lo.follow().await;
    lo.obey().await;
    hub.check(&hub.end().await, Outcome::Deleted, "DELETED from 2 nodes, of these 1 unconfirmed");
    hub.stop().await;
}
