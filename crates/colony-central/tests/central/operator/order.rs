//! Orders go down with the hints, logs come up; both are recorded as events.

use colony_api::request::{
    DeployRequest, Hold, LogsQuery, Release, Retry, SiteAdd, Steer, Steering,
};
use colony_api::site::{LogAnswer, NodeHealth, NodesReport, PullHealth};
use colony_api::view::{InviteKind, LogLine};
use colony_core::state::State;
use colony_core::time::Timestamp;
use http::Method;

use crate::repository::git_http::{clone, git};
use crate::support::{Hub, Lo, hello};

#[tokio::test]
async fn a_hold_is_executed_once_and_acknowledged() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;

    let hold = Hold { note: "audit".to_owned(), ..Hold::default() };
    let before = hub.head().await;
    let answer = hub.client.site_hold("home", &hold).await.expect("an order").sentence;
    assert!(answer.starts_with("ordered: "), "{answer}");
    assert!(answer.ends_with("; site home has not confirmed it yet"), "{answer}");
    let sent = hub.event("command_sent", before).await;
    assert_eq!((sent.site.as_deref(), sent.actor.as_str()), (Some("home"), "admin"));
    assert_eq!(hub.client.site_show("home").await.expect("a site").commands_open, 1);
    lo.obey().await;

    let site = hub.client.site_show("home").await.expect("a site");
    assert_eq!((site.commands_open, site.holds.len()), (0, 1));
    assert_eq!((site.holds[0].by.as_str(), site.holds[0].note.as_str()), ("admin", "audit"));
    hub.client.site_release("home", &Release::default()).await.expect("an order");
    lo.obey().await;
    assert!(hub.client.site_show("home").await.expect("a site").holds.is_empty());
    let again = hub.client.site_release("home", &Release::default()).await;
    assert!(
        again.expect_err("refused").to_string().contains("nothing to release: home is not on hold")
    );
    hub.stop().await;
}

/// Orders that the site has not acknowledged count as executed.
#[tokio::test]
async fn an_order_that_would_be_refused_is_refused_at_once_with_the_reason() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a", "b"]).await;
    check_steer(&hub, Steering::Promote, Err("deployment `hello` does not exist")).await;
    hub.deploy("1.0").await;
    check_steer(
        &hub,
        Steering::Promote,
        Err("none of the selected sites has reported deployment `hello` yet"),
    )
    .await;
    let head = lo.plant.site.git().map(ToString::to_string).unwrap_or_default();
    assert!(lo.hints(&format!("head={head}")).await.is_some());
    lo.pull().await;
    lo.push().await;

    check_steer(&hub, Steering::Resume, Err("the rollout of hello at home is not paused")).await;
    let last = "nothing to promote: the last step of hello at home is already open";
    check_steer(&hub, Steering::Promote, Err(last)).await;
    check_steer(&hub, Steering::Pause, Ok(())).await;
    let paused = "admin already paused the rollout of hello at home";
    check_steer(&hub, Steering::Pause, Err(paused)).await;
    lo.obey().await;
    check_steer(&hub, Steering::Pause, Err(paused)).await;
    check_steer(&hub, Steering::Resume, Ok(())).await;
    check_steer(&hub, Steering::Resume, Err("the rollout of hello at home is not paused")).await;
    lo.obey().await;
    let done = "no rollout of hello is in progress at home";
    check_steer(&hub, Steering::Promote, Err(done)).await;

    let release = hub.client.quarantine_release("hello", &Default::default()).await;
    let nothing = "nothing to release: no version of hello is quarantined at home";
    assert!(release.expect_err("refused").to_string().contains(nothing));
    let retry = hub.client.deployment_retry("hello", &Default::default()).await;
    let nothing = "nothing to retry: hello has not failed at home";
    assert!(retry.expect_err("refused").to_string().contains(nothing));
    hub.stop().await;
}

#[tokio::test]
async fn site_that_was_named_and_cannot_take_the_order_is_named_in_the_answer() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    let add = SiteAdd { name: "mars".to_owned(), ..SiteAdd::default() };
    let home = DeployRequest { sites: vec!["home".to_owned()], ..hello("1.0") };
    hub.client.deploy(&home).await.expect("a plan");
    lo.follow().await;
    hub.client.site_add(&add).await.expect("a site");

    let sites = vec!["home".to_owned(), "mars".to_owned()];
    let hold = Hold { sites, ..Hold::default() };
    let answer = hub.client.deployment_hold("hello", &hold).await.expect("it is held").sentence;
    assert!(answer.ends_with("; mars has not reported deployment hello"), "{answer}");
    hub.stop().await;
}

#[tokio::test]
async fn canary_is_promoted_once_its_step_is_done_and_not_beyond_its_last() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a", "b"]).await;
    let strategy =
        serde_json::json!({"type": "canary", "canary": 1, "soak": "5m", "promote": "manual"});
    let settings = serde_json::json!({"strategy": strategy});
    let settings = serde_json::from_value(settings).expect("settings");
    let request = DeployRequest { settings, ..hello("1.0") };
    hub.client.deploy(&request).await.expect("a plan");
    let head = lo.plant.site.git().map(ToString::to_string).unwrap_or_default();
    assert!(lo.hints(&format!("head={head}")).await.is_some());
    lo.pull().await;
    lo.push().await;
    let early = "the current step of hello at home is not done yet";
    check_steer(&hub, Steering::Promote, Err(early)).await;
    lo.converge();
    lo.push().await;
    check_steer(&hub, Steering::Promote, Ok(())).await;
    lo.obey().await;
    let done = "no rollout of hello is in progress at home";
    check_steer(&hub, Steering::Promote, Err(done)).await;
    hub.stop().await;
}

async fn check_steer(hub: &Hub, steering: Steering, expected: Result<(), &str>) {
    let told = hub.client.deployment_steer("hello", steering, &Steer::default()).await;
    match (told, expected) {
        (Ok(_), Ok(())) => {}
        (Err(error), Err(expected)) => {
            assert!(error.to_string().contains(expected), "{error}");
        }
        (told, expected) => panic!("{steering:?}: {told:?}, expected {expected:?}"),
    }
}

#[tokio::test]
async fn a_hold_may_be_released_before_the_site_has_heard_of_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    let (hold, release) = (Hold::default(), Release::default());
    let early = hub.client.deployment_release("hello", &release).await.expect_err("not held");
    assert!(
        early.to_string().contains("nothing to release: hello is not on hold at home"),
        "{early}"
    );
    hub.client.deployment_hold("hello", &hold).await.expect("an order");
    hub.client.deployment_release("hello", &release).await.expect("an order");
    hub.client.site_hold("home", &hold).await.expect("an order");
    hub.client.site_release("home", &release).await.expect("an order");
    lo.obey().await;
    let site = hub.client.site_show("home").await.expect("a site");
    assert_eq!((site.commands_open, site.holds.len()), (0, 0));
    hub.stop().await;
}

#[tokio::test]
async fn logs_are_asked_for_with_the_hints_and_handed_to_who_waits() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    hub.end().await;

    let client = hub.client.clone();
    let asked = tokio::spawn(async move {
        let (since_seconds, service) = (Some(60), Some("web".to_owned()));
        let after = Some("web=6+1".to_owned());
        let query =
            LogsQuery { previous: true, since_seconds, service, after, ..LogsQuery::default() };
        client.deployment_logs("hello", &query).await.expect("lines")
    });
    let head = lo.plant.site.git().expect("a commit").to_string();
    let hints = lo.hints(&format!("head={head}")).await.expect("a question");
    let asked_for = &hints.logs[0];
    assert_eq!((asked_for.node.as_str(), asked_for.previous), ("a", true));
    assert_eq!((asked_for.since_seconds, asked_for.service.as_deref()), (Some(60), Some("web")));
    assert_eq!(asked_for.after.as_deref(), Some("web=6+1"));
    let line = LogLine {
        service: "web".to_owned(),
        time: Some(Timestamp(7)),
        text: "GET / 500".to_owned(),
    };
    let position = Some("web=7+1".to_owned());
    let answer = LogAnswer { lines: vec![line.clone()], position, ..LogAnswer::default() };
    let body = serde_json::to_string(&answer).expect("JSON");
    let taken = lo.call(Method::POST, &format!("logs/{}", hints.logs[0].id), &body).await;
    assert_eq!(taken.status, 204);

    let view = asked.await.expect("no panic");
    assert_eq!((view.lines, view.position.as_deref()), (vec![line], Some("web=7+1")));
    hub.stop().await;
}

#[tokio::test]
async fn request_for_logs_is_answered_when_the_orchestrator_stops() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    hub.end().await;
    let (client, query) = (hub.client.clone(), LogsQuery::default());
    let asked = tokio::spawn(async move { client.deployment_logs("hello", &query).await });
    let head = lo.plant.site.git().expect("a commit").to_string();
    assert!(lo.hints(&format!("head={head}")).await.is_some_and(|it| !it.logs.is_empty()));

    hub.stop().await;
    let refused = asked.await.expect("no panic").expect_err("there are no logs");
    let problem = refused.problem().unwrap_or_else(|| panic!("{refused:?}"));
    let said = problem.detail.as_deref();
    assert_eq!((problem.status, said), (503, Some("the orchestrator is stopping")));
}

#[tokio::test]
async fn order_about_a_refused_file_is_a_conflict_and_one_about_the_unknown_is_not_found() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    let work = clone(&hub, dir.path()).await;
    std::fs::write(work.join("deployments/home/broken.yaml"), "a: [\n").expect("a file");
    git(&work, &["add", "."]).await;
    git(&work, &["commit", "-qm", "broken"]).await;
    git(&work, &["push", "-q"]).await;
    lo.follow().await;
    let answer = async |name: &str, node: Option<&str>| {
        let retry = Retry { node: node.map(str::to_owned), ..Retry::default() };
        let refused = hub.client.deployment_retry(name, &retry).await.expect_err("refused");
        let problem = refused.problem().expect("a problem").clone();
        (problem.status, problem.detail.unwrap_or_default())
    };

    let said = "broken is not deployed at home: its file in Git is refused".to_owned();
    assert_eq!(answer("broken", None).await, (409, said.clone()));
    let held = hub.client.deployment_hold("broken", &Hold::default()).await.expect_err("refused");
    assert!(held.to_string().contains(&said), "{held}");
    assert_eq!(answer("nowhere", None).await.0, 404);
    let said = "node ghost has not joined home".to_owned();
    assert_eq!(answer("hello", Some("home/ghost")).await, (404, said));
    hub.stop().await;
}

#[tokio::test]
async fn relayed_health_says_where_nodes_join_and_survives_a_restart() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let lo = hub.site(&["a"]).await;
    let invite = hub.client.node_invite("home", &Default::default()).await;
    assert!(invite.expect_err("too early").to_string().contains("has to join first"));

    let report = NodesReport {
        ready: false,
        reasons: vec!["git: no route".to_owned()],
        version: "0.1.0".to_owned(),
        urls: vec!["https://10.0.0.2:7444".to_owned()],
        ca: authority(),
        ca_pem: String::new(),
        domain: "site-home.00".to_owned(),
        nodes: vec![NodeHealth {
            name: "a".parse().expect("a name"),
            last_heard_ms_ago: Some(5),
            engine: Some("podman 4.3.1".to_owned()),
            ready: Some(true),
            reasons: Vec::new(),
            progress: Vec::new(),
        }],
    };
    let body = serde_json::to_string(&report).expect("JSON");
    assert_eq!(lo.call(Method::PUT, "nodes", &body).await.status, 204);
    hub.stop().await;

    let hub = Hub::start(dir.path()).await;
    let invite = hub.client.node_invite("home", &Default::default()).await.expect("a token");
    assert_eq!(invite.kind, InviteKind::Node);
    let claims = colony_wfm::token::read(&invite.token).expect("claims");
    assert_eq!((claims.urls, claims.pin), (report.urls, report.ca));
    let site = hub.client.site_show("home").await.expect("a site");
    assert_eq!((site.ready, site.reasons), (false, report.reasons));
    let node = hub.client.node_show("home", "a").await.expect("a node");
    assert_eq!(node.engine.as_deref(), Some("podman 4.3.1"));
    let status = hub.client.status().await.expect("a status");
    assert!(status.ready && status.sites.len() == 1, "{status:?}");
    let metrics = hub.send(Method::GET, "/metrics", "").await;
    assert!(String::from_utf8_lossy(&metrics.body).contains("colony_central_nodes 1"));
    hub.stop().await;
}

#[tokio::test]
async fn what_nodes_say_of_the_moment_is_shown_and_not_kept() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    let head = lo.plant.site.git().map(ToString::to_string).unwrap_or_default();
    assert!(lo.hints(&format!("head={head}")).await.is_some());
    lo.pull().await;
    lo.push().await;
    // The first report records the site's authority, which is an event.
    tell(&lo, node()).await;
    let events = hub.head().await;
    let id = lo.plant.site.placements().next().expect("a placement").id.deployment.clone();
    let pull =
        |done_bytes| PullHealth { deployment: id.clone(), done_bytes, total_bytes: 120_000_000 };

    tell(&lo, NodeHealth { ready: Some(true), progress: vec![pull(34_000_000)], ..node() }).await;
    let shown = hub.show().await;
    let placement = &shown.sites[0].placements[0];
    assert_eq!(placement.state, State::Installing);
    assert_eq!(placement.progress.as_deref(), Some("pulling 34 of 120 MB"));
    assert_eq!(hub.client.node_show("home", "a").await.expect("a node").ready, Some(true));

    let reasons = vec!["the container engine does not answer".to_owned()];
    tell(&lo, NodeHealth { ready: Some(false), reasons: reasons.clone(), ..node() }).await;
    assert_eq!(hub.show().await.sites[0].placements[0].progress, None);
    let shown = hub.client.node_show("home", "a").await.expect("a node");
    assert_eq!((shown.ready, &shown.reasons), (Some(false), &reasons));
    assert_eq!(hub.head().await, events, "none of it is an event");

    hub.stop().await;
    let hub = Hub::start(dir.path()).await;
    assert_eq!(hub.client.node_show("home", "a").await.expect("a node").ready, None);
    hub.stop().await;
}

#[tokio::test]
async fn containers_that_have_to_settle_are_shown_as_running() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    let head = lo.plant.site.git().map(ToString::to_string).unwrap_or_default();
    assert!(lo.hints(&format!("head={head}")).await.is_some());
    lo.pull().await;

    lo.report("installing~5000");
    lo.push().await;
    let shown = hub.show().await;
    let placement = &shown.sites[0].placements[0];
    assert_eq!(placement.state, State::Installing);
    let progress = placement.progress.as_deref().expect("a progress");
    assert!(progress.starts_with("running for "), "{progress}");
    assert!(progress.ends_with(", counts as INSTALLED after 5 s"), "{progress}");
    let why = &shown.sites[0].why[0].sentence;
    assert!(why.contains("all its containers have been running on node a for "), "{why}");

    lo.report("installed");
    lo.push().await;
    assert_eq!(hub.show().await.sites[0].placements[0].progress, None);
    hub.stop().await;
}

fn node() -> NodeHealth {
    NodeHealth {
        name: "a".parse().expect("a name"),
        last_heard_ms_ago: Some(5),
        engine: None,
        ready: None,
        reasons: Vec::new(),
        progress: Vec::new(),
    }
}

async fn tell(lo: &Lo, node: NodeHealth) {
    let report = NodesReport {
        ready: true,
        reasons: Vec::new(),
        version: "0.1.0".to_owned(),
        urls: Vec::new(),
        ca: authority(),
        ca_pem: String::new(),
        domain: "site-home.00".to_owned(),
        nodes: vec![node],
    };
    let body = serde_json::to_string(&report).expect("JSON");
    assert_eq!(lo.call(Method::PUT, "nodes", &body).await.status, 204);
}

/// The fingerprint of a site's own authority.
fn authority() -> String {
    format!("sha256:{}", "00".repeat(32))
}
