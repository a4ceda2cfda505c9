//! The role as it runs: real TLS, real Git, a real database, and a small
//! central orchestrator on the other side.

mod central;
mod identity;
mod plant;
mod socket;
mod uplink;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use colony_api::client::Client as Operator;
use colony_api::request::{Hold, LogsQuery};
use colony_api::site::{NodeHealth, NodesReport, SiteLogRequest};
use colony_api::view::Outcome;
use colony_core::event::{Body, Event, Transition};
use colony_core::margo::Digest;
use colony_core::site::{Action, Command};
use colony_core::state::State;
use colony_testkit::{App, deployment_id};
use colony_wfm::{
    ClientError, LogAnswer, LogLine, ManagerRequests, NodeReport, Poll, PrivateKey, PullView,
};

use plant::{Node, Plant};

#[tokio::test]
async fn a_commit_becomes_a_manifest_and_its_state_comes_back() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let node = plant.node("press-1").await;
    let (empty, etag) = node.manifest(0).await;
    assert_eq!(empty.manifest_version.get(), 1);

    plant.commit(&App::new("hello", "1.0.0"));
    let poll = node.client.manifest(Some(&etag), Some(1), Duration::from_secs(20));
    let head = plant.repo.head().expect("a look");
    let pushed = tokio::time::Instant::now();
    plant.central.hint(|it| it.head = head);
    let Ok(Poll::Manifest { bytes, .. }) = poll.await else { panic!("no manifest came") };
    println!("hint to manifest: {:?}", pushed.elapsed());
    let manifest = colony_core::margo::StateManifest::parse(&bytes).expect("a manifest");
    let listed = &manifest.deployments[0];
    let document = node.client.document(&listed.deployment_id, &listed.digest).await;
    assert_eq!(Digest::of(&document.expect("the document")), listed.digest);
    let bundle = manifest.bundle.as_ref().expect("a bundle");
    node.client.bundle(&bundle.digest).await.expect("the bundle");

    node.report("hello", "installed", manifest.manifest_version.get(), 1).await;

    plant.central.event(|it| moved_to(it, State::Installed)).await;
    plant
        .central
        .reported(|it| it.ready && it.nodes.iter().any(|it| it.name.as_str() == "press-1"))
        .await;
    let operator = Operator::unix(&role.socket).expect("a socket");
    let view = operator.deployment_show("hello").await.expect("it is shown");
    assert_eq!(view.outcome, Outcome::Installed, "{}", view.sentence);
    assert_eq!(view.version.as_deref(), Some("1.0.0"));
    let hold = Hold::default();
    operator.deployment_hold("other", &hold).await.expect_err("there is no such deployment");
    operator.deployment_hold("hello", &hold).await.expect("it is held");
    role.stop().await;
}

#[tokio::test]
async fn a_document_of_the_manifest_before_is_still_served() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let node = plant.node("a").await;
    plant.deploy(&App::new("hello", "1.0.0"));
    let (first, _) = node.manifest(1).await;
    plant.deploy(&App::new("other", "1.0.0"));
    let installing = |it: &Event| moved(it, "other", State::Installing);
    plant.central.event(installing).await;
    let (second, etag) = node.manifest(2).await;
    let old = &first.deployments[0];

    let bundle = first.bundle.as_ref().expect("a bundle");
    node.client.bundle(&bundle.digest).await.expect("the bundle before is still there");
    node.client.document(&old.deployment_id, &old.digest).await.expect("the document");

    let version = second.manifest_version.get();
    let poll = node.client.manifest(Some(&etag), Some(version), Duration::ZERO).await;
    assert!(matches!(poll, Ok(Poll::Unchanged { .. })), "{poll:?}");
    let gone = node.client.bundle(&bundle.digest).await;
    assert_eq!(status_of(&gone), 404, "the node said that it holds the newer one");
    role.stop().await;
}

#[tokio::test]
async fn tokens_let_in_one_node_for_a_while() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let key = PrivateKey::generate().expect("a key");
    let token = plant.central.node_token("n1", 3_600).await;
    assert_eq!(join(&token, &key, Some("a")).await, "joined as a");

    assert_eq!(join(&token, &key, Some("a")).await, "joined as a", "its answer may be lost");
    let other = PrivateKey::generate().expect("a key");
    assert_eq!(
        join(&token, &other, Some("b")).await,
        "invitation was already used; create another one with `colony node invite` or `colony site invite`"
    );
    let token = plant.central.node_token("n2", 3_600).await;
    let taken = join(&token, &other, Some("a")).await;
    assert!(taken.contains("site `plant` has a node `a`"), "{taken}");
    let generated = join(&token, &other, None).await;
    assert!(
        generated.starts_with("joined as node-"),
        "a refused name spends no token: {generated}"
    );
    let expired = plant.central.node_token("n3", -60).await;
    assert_eq!(
        join(&expired, &other, None).await,
        "invitation expired 60 seconds ago; create another one with `colony node invite` or `colony site invite`"
    );
    role.stop().await;
}

#[tokio::test]
async fn a_site_is_told_why_it_cannot_join() {
    let plant = Plant::new().await;
    let used = plant.central.site_token("used", 3_600);
    check_start(&plant, Some(used.clone()), "").await;
    std::fs::remove_file(plant.config(None).data.join("site.json")).expect("it has joined");
    check_start(&plant, Some(used), "already used; create another one").await;
    let expired = plant.central.site_token("old", -60);
    check_start(&plant, Some(expired), "invitation expired 60 seconds ago").await;
    let node = plant.central.site_token("n", 60);
    check_start(&plant, None, "belongs to no site yet").await;
    check_start(&plant, Some("col1_x".to_owned()), "malformed").await;
    plant.central.set_alive();
    check_start(&plant, Some(node), "in contact 3 s ago; start with `--replace`").await;
}

#[tokio::test]
async fn living_site_is_replaced_if_its_engineer_or_the_token_says_so() {
    let plant = Plant::new().await;
    plant.central.set_alive();
    let token = plant.central.site_token("t1", 3_600);
    check_start(&plant, Some(token.clone()), "in contact 3 s ago").await;
    let mut config = plant.config(Some(token));
    config.replace = true;
    colony_local::start(config).await.expect("the engineer says so");
    check_start(&plant, Some(plant.central.replacing_token("t2")), "").await;
}

#[tokio::test]
async fn an_orchestrator_that_dies_goes_on_where_it_was_without_the_central_one() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let key = PrivateKey::generate().expect("a key");
    let token = plant.central.node_token("a", 3_600).await;
    let node = Node::join(&token, &key, Some("a")).await.expect("it joins");
    let own = colony_testkit::capabilities("a", "amd64", "");
    node.client.capabilities(&"a".parse().expect("an id"), &own).await.expect("they are taken");
    plant.deploy(&App::new("hello", "1.0.0"));
    let (before, etag) = node.manifest(1).await;
    role.kill().await;
    plant.central.set_away(true);

    let role = plant.start(None).await;

    let version = before.manifest_version.get();
    let poll = node.client.manifest(Some(&etag), Some(version), Duration::ZERO).await;
    assert!(matches!(poll, Ok(Poll::Unchanged { .. })), "{poll:?}");
    let again = Node::join(&token, &key, Some("a")).await.expect("its answer may have been lost");
    assert_eq!(again.name, "a");
    plant.commit(&App::new("other", "1.0.0"));
    role.stop().await;
    let role = plant.start(None).await;
    node.manifest(2).await;
    role.stop().await;
}

#[tokio::test]
async fn events_wait_for_the_central_one() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let node = plant.node("a").await;
    plant.deploy(&App::new("hello", "1.0.0"));
    let (manifest, _) = node.manifest(1).await;
    plant.central.event(|it| moved_to(it, State::Installing)).await;
    plant.central.set_away(true);

    node.report("hello", "installed", manifest.manifest_version.get(), 1).await;
    let operator = Operator::unix(&role.socket).expect("a socket");
    let hold = Hold { note: "stocktaking".to_owned(), ..Hold::default() };
    operator.site_hold("plant", &hold).await.expect("it is held without CO");

    assert!(!plant.central.events().iter().any(|it| moved_to(it, State::Installed)));
    plant.central.set_away(false);
    plant.central.event(|it| moved_to(it, State::Installed)).await;
    let held = plant.central.event(|it| matches!(it.body, Body::Held { .. })).await;
    assert!(held.actor.to_string().starts_with("operator:local:"), "{}", held.actor);
    role.stop().await;
}

#[tokio::test]
async fn a_replaced_orchestrator_freezes() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let node = plant.node("a").await;
    plant.deploy(&App::new("hello", "1.0.0"));
    let (manifest, _) = node.manifest(1).await;

    plant.central.set_fenced();

    let operator = Operator::unix(&role.socket).expect("a socket");
    let hold = Hold::default();
    while operator.site_hold("plant", &hold).await.is_ok() {
        tokio::task::yield_now().await;
    }
    let status = operator.status().await.expect("it is shown");
    assert!(!status.ready && status.reasons[0].contains("incarnation 1"), "{:?}", status.reasons);
    let (frozen, _) = node.manifest(1).await;
    assert_eq!(frozen.manifest_version, manifest.manifest_version);
    role.stop().await;
}

#[tokio::test]
async fn how_a_node_is_comes_to_the_central_one_and_is_asked_for_after_a_restart() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let node = plant.node("a").await;
    plant.deploy(&App::new("hello", "1.0.0"));
    let (_, etag) = node.manifest(1).await;
    let pull = |done_bytes| PullView {
        deployment: deployment_id("hello"),
        done_bytes,
        total_bytes: 120_000_000,
    };
    let pulling =
        |done| NodeReport { ready: true, progress: vec![pull(done)], ..NodeReport::default() };
    let said = |it: &NodesReport, is: fn(&NodeHealth) -> bool| it.nodes.first().is_some_and(is);
    plant.central.reported(|it| said(it, |it| it.ready.is_none())).await;

    node.client.health(&pulling(34_000_000)).await.expect("it is taken");
    node.client.health(&pulling(35_000_000)).await.expect("it is taken");
    let told = plant.central.reported(|it| said(it, |it| it.progress.len() == 1)).await;
    assert_eq!(told.nodes[0].ready, Some(true));
    let operator = Operator::unix(&role.socket).expect("a socket");
    plant.central.event(|it| moved_to(it, State::Installing)).await;
    let view = operator.deployment_show("hello").await.expect("it is shown");
    let progress = view.sites[0].placements[0].progress.as_deref();
    assert_eq!(progress, Some("pulling 35 of 120 MB"));

    let reasons = vec!["the container engine does not answer".to_owned()];
    let sick = NodeReport { ready: false, reasons: reasons.clone(), progress: Vec::new() };
    node.client.health(&sick).await.expect("it is taken");
    let told = plant.central.reported(|it| said(it, |it| it.ready == Some(false))).await;
    assert_eq!((&told.nodes[0].reasons, told.nodes[0].progress.len()), (&reasons, 0));
    let view = operator.node_show("plant", "a").await.expect("it is shown");
    let expected = vec!["node a is not ready: the container engine does not answer".to_owned()];
    assert_eq!((view.ready, &view.reasons), (Some(false), &expected));
    let status = operator.status().await.expect("it is shown");
    let said = status.attention.iter().find(|it| it.subject == "plant/a").expect("attention");
    assert_eq!((said.cause.as_str(), &said.sentence), ("node-not-ready", &expected[0]));

    role.stop().await;
    let role = plant.start(None).await;
    soon("the question", poll_until_requested(&node, &etag, |it| it.health)).await;
    node.client.health(&sick).await.expect("it is taken");
    let operator = Operator::unix(&role.socket).expect("a socket");
    let view = operator.node_show("plant", "a").await.expect("it is shown");
    assert_eq!(view.ready, Some(false));
    role.stop().await;
}

#[tokio::test]
async fn the_certificate_in_the_fleet_is_renewed_at_half_of_its_life_and_used_at_once() {
    let plant = Plant::new().await;
    plant.central.set_old();
    let role = plant.first_start().await;
    plant.central.renewed().await;

    // From here on, CO takes nothing but the certificate it gave.
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.node("a").await.manifest(1).await;
    plant.central.event(|it| moved_to(it, State::Installing)).await;
    let kept = plant.fleet_identity();
    let (from, _) = kept.validity().expect("a certificate");
    assert!(from > now() - 1_000, "the renewed one is kept");
    role.stop().await;

    let role = plant.start(None).await;
    let operator = Operator::unix(&role.socket).expect("a socket");
    let hold = Hold::default();
    operator.site_hold("plant", &hold).await.expect("it is held");
    plant.central.event(|it| matches!(it.body, Body::Held { .. })).await;
    assert_eq!(plant.fleet_identity(), kept, "a young one stays");
    role.stop().await;
}

#[tokio::test]
async fn logs_come_from_the_node_to_whoever_asked() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let node = plant.node("a").await;
    plant.deploy(&App::new("hello", "1.0.0"));
    let (_, etag) = node.manifest(1).await;
    let lines =
        vec![LogLine { service: "web".to_owned(), time: Some(7), text: "started".to_owned() }];
    let position = Some("web=9+1".to_owned());
    let answer = LogAnswer { lines, position: position.clone(), ..LogAnswer::default() };
    let request = SiteLogRequest {
        id: "log-1".to_owned(),
        node: "a".parse().expect("a name"),
        deployment: deployment_id("hello").to_string(),
        previous: false,
        lines: 10,
        since_seconds: Some(60),
        service: Some("web".to_owned()),
        after: Some("web=7+1".to_owned()),
    };

    plant.central.hint(|it| it.logs.push(request));
    let asks = poll_until_requested(&node, &etag, |it| !it.logs.is_empty()).await;
    let log = &asks.logs[0];
    assert_eq!((log.since_seconds, log.service.as_deref()), (Some(60), Some("web")));
    assert_eq!(log.after.as_deref(), Some("web=7+1"));
    node.client.logs(&asks.logs[0].id, &answer).await.expect("it is taken");
    assert_eq!(plant.central.logs().await, ("log-1".to_owned(), answer.clone()));

    let operator = Operator::unix(&role.socket).expect("a socket");
    let query = LogsQuery { after: Some("web=8+1".to_owned()), ..LogsQuery::default() };
    let asking = tokio::spawn(async move { operator.deployment_logs("hello", &query).await });
    let asks = poll_until_requested(&node, &etag, |it| !it.logs.is_empty()).await;
    assert_eq!(asks.logs[0].after.as_deref(), Some("web=8+1"));
    node.client.logs(&asks.logs[0].id, &answer).await.expect("it is taken");
    let view = asking.await.expect("it ends").expect("lines");
    assert_eq!((view.node.as_str(), view.lines[0].text.as_str()), ("a", "started"));
    assert_eq!(
        (view.lines[0].time, view.position),
        (Some(colony_core::time::Timestamp(7)), position)
    );
    role.stop().await;
}

#[tokio::test]
async fn orders_of_the_central_one_are_executed_once_and_a_retired_node_is_out() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let node = plant.node("a").await;
    let order = |number, action| Command {
        number: Some(number),
        by: "ana".to_owned(),
        expires: None,
        action,
    };
    let a: colony_core::id::NodeName = "a".parse().expect("a name");
    plant.central.hint(|it| it.commands = vec![order(1, Action::Retire { node: a })]);

    plant.central.event(|it| matches!(it.body, Body::NodeRetired { .. })).await;

    let refused = node.client.manifest(None, None, Duration::ZERO).await;
    assert_eq!(status_of(&refused), 403);
    let done = plant
        .central
        .events()
        .iter()
        .filter(|it| matches!(it.body, Body::CommandDone { .. }))
        .count();
    assert_eq!(done, 1);
    role.stop().await;
}

async fn join(token: &str, key: &PrivateKey, name: Option<&str>) -> String {
    match Node::join(token, key, name).await {
        Ok(node) => format!("joined as {}", node.name),
        Err(error) => error.to_string(),
    }
}

/// Starts the role in this very runtime; an empty `expected` is a success.
async fn check_start(plant: &Plant, token: Option<String>, expected: &str) {
    match colony_local::start(plant.config(token)).await {
        Ok(_) => assert_eq!(expected, ""),
        Err(error) => {
            let text = format!("{error:#}");
            assert!(!expected.is_empty() && text.contains(expected), "{text}");
        }
    }
}

/// Polls until the node is asked for something.
async fn poll_until_requested(
    node: &Node,
    etag: &str,
    is: impl Fn(&ManagerRequests) -> bool,
) -> ManagerRequests {
    loop {
        match node.client.manifest(Some(etag), None, Duration::from_secs(10)).await {
            Ok(Poll::Unchanged { asks } | Poll::Manifest { asks, .. }) if is(&asks) => return asks,
            Ok(_) => {}
            // The role may be about to start, or to read Git.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// What is waited for comes soon or never.
pub(crate) async fn soon<T>(what: &str, waited: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(Duration::from_secs(20), waited).await;
    waited.unwrap_or_else(|_| panic!("{what} did not come"))
}

fn moved_to(event: &Event, state: State) -> bool {
    matches!(&event.body, Body::StateTransition(it) if it.to == state)
}

fn moved(event: &Event, app: &str, state: State) -> bool {
    let of = |it: &Transition| it.deployment == deployment_id(app) && it.to == state;
    matches!(&event.body, Body::StateTransition(it) if of(it))
}

fn status_of<T: std::fmt::Debug>(answer: &Result<T, ClientError>) -> u16 {
    match answer {
        Err(ClientError::Problem { problem, .. }) => problem.status,
        other => panic!("no problem: {other:?}"),
    }
}

#[expect(clippy::disallowed_methods, reason = "certificates are checked against the real clock")]
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_secs()).expect("not yet")
}
