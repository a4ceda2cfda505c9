//! What the site's engineer sees and orders at the socket of the orchestrator.

use colony_api::client::Client as Operator;
use colony_api::request::{EventQuery, Hold, LogsQuery, Retry, Steer, Steering};
use colony_core::event::Body;
use colony_testkit::App;
use colony_wfm::Poll;

use crate::plant::Plant;
use crate::soon;

#[tokio::test]
async fn events_name_a_deployment_that_has_left() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.central.event(|it| matches!(it.body, Body::DeploymentAccepted { .. })).await;
    plant.undeploy("hello");
    plant.central.event(|it| matches!(it.body, Body::DeploymentWithdrawn { .. })).await;

    let operator = Operator::unix(&role.socket).expect("a socket");
    let query = EventQuery { deployment: Some("hello".to_owned()), ..EventQuery::default() };
    let page = operator.event_list(&query).await.expect("a page");
    let told: Vec<&str> = page.events.iter().map(|it| it.sentence.as_str()).collect();
    assert_eq!(told, ["site plant took hello 1.0.0 from Git", "hello is gone from Git at plant"]);
    role.stop().await;
}

#[tokio::test]
async fn order_that_only_central_takes_is_refused_with_where_it_works() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let operator = Operator::unix(&role.socket).expect("a socket");
    let refused = operator.deployment_history("hello").await.expect_err("it is not here");
    let expected = "only the central orchestrator can do that, and this is the local orchestrator \
                    of site plant: leave out `--socket`";
    assert!(refused.to_string().contains(expected), "{refused}");

    let hold = Hold { sites: vec!["attic".to_owned()], ..Hold::default() };
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.central.event(|it| matches!(it.body, Body::DeploymentAccepted { .. })).await;
    let refused = operator.deployment_hold("hello", &hold).await.expect_err("another site");
    assert!(
        refused.to_string().contains("site `attic` does not exist; there is plant"),
        "{refused}"
    );

    plant.node("a").await;
    let answer = operator.node_retire("plant", "a").await.expect("it is retired").sentence;
    let expected = "node plant/a is given up for good; its containers keep running";
    assert!(answer.starts_with(expected), "{answer}");
    role.stop().await;
}

#[tokio::test]
async fn rollout_is_steered_over_the_socket_of_the_site() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let (first, second) = (plant.node("a").await, plant.node("b").await);
    let canary = "strategy: {type: canary, canary: 1, soak: 5m}";
    plant.deploy(&App::new("hello", "1.0.0").with(canary));
    let (manifest, _) = first.manifest(1).await;
    let operator = Operator::unix(&role.socket).expect("a socket");
    let steer = async |what: Steering| {
        let note = Steer { note: "stocktaking".to_owned(), ..Steer::default() };
        operator.deployment_steer("hello", what, &note).await.expect("it is done").sentence
    };

    assert_eq!(steer(Steering::Pause).await, "hello starts nothing more until it is resumed");
    let paused = plant.central.event(|it| matches!(it.body, Body::RolloutPaused { .. })).await;
    assert!(matches!(paused.body, Body::RolloutPaused { note, .. } if note == "stocktaking"));
    assert_eq!(steer(Steering::Resume).await, "hello goes on");
    plant.central.event(|it| matches!(it.body, Body::RolloutUnpaused { .. })).await;
    first.report("hello", "installed", manifest.manifest_version.get(), 1).await;
    assert_eq!(steer(Steering::Promote).await, "hello opens the next step of its rollout");
    second.manifest(1).await;
    assert_eq!(steer(Steering::Abort).await, "hello is rolled back to the previous revision");
    plant.central.event(|it| matches!(it.body, Body::Quarantined { .. })).await;
    role.stop().await;
}

#[tokio::test]
async fn the_site_engineer_sees_and_follows_the_log() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let operator = Operator::unix(&role.socket).expect("a socket");
    let page = operator.event_list(&EventQuery::default()).await.expect("a page");
    assert_eq!(page.events[0].kind, "ready");
    let mut stream =
        operator.event_follow(EventQuery::default(), Some(page.cursor())).await.expect("a stream");

    plant.node("a").await;

    let colony_api::client::Signal::Event(event) = stream.next().await.expect("an event") else {
        panic!("no event came");
    };
    assert_eq!(
        (event.kind.as_str(), event.sentence.as_str()),
        ("node_joined", "node plant/a joined")
    );
    let nodes = operator.node_list(None).await.expect("nodes");
    assert_eq!(nodes.len(), 1);
    let broken = App { kind: "no such kind".to_owned(), ..App::new("broken", "1") };
    plant.deploy(&broken);
    plant.central.event(|it| matches!(it.body, Body::FileRefused { .. })).await;
    let why = operator.deployment_why("broken", None).await.expect("an answer");
    assert!(why.reasons[0].sentence.contains("deployments/plant/broken.yaml"), "{why:?}");
    role.stop().await;
}

#[tokio::test]
async fn order_about_a_refused_file_is_a_conflict_and_one_about_the_unknown_is_not_found() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.central.event(|it| matches!(it.body, Body::DeploymentAccepted { .. })).await;
    plant.deploy(&App::new("broken", "1.0.0").with("replicas: many"));
    plant.central.event(|it| matches!(it.body, Body::FileRefused { .. })).await;
    let operator = Operator::unix(&role.socket).expect("a socket");
    let answer = async |name: &str, node: Option<&str>| {
        let retry = Retry { node: node.map(str::to_owned), ..Retry::default() };
        let refused = operator.deployment_retry(name, &retry).await.expect_err("it is refused");
        let problem = refused.problem().expect("a problem").clone();
        (problem.status, problem.detail.unwrap_or_default())
    };

    let said = "broken is not deployed at plant: its file in Git is refused".to_owned();
    assert_eq!(answer("broken", None).await, (409, said.clone()));
    let held = operator.deployment_hold("broken", &Hold::default()).await.expect_err("refused");
    assert!(held.to_string().contains(&said), "{held}");
    assert_eq!(answer("nowhere", None).await.0, 404);
    assert_eq!(answer("hello", Some("plant/ghost")).await.0, 404);
    role.stop().await;
}

#[tokio::test]
async fn request_for_logs_is_answered_when_the_orchestrator_stops() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let node = plant.node("a").await;
    plant.deploy(&App::new("hello", "1.0.0"));
    let (_, etag) = node.manifest(1).await;
    let operator = Operator::unix(&role.socket).expect("a socket");
    let query = LogsQuery::default();
    let asked = tokio::spawn(async move { operator.deployment_logs("hello", &query).await });
    soon("the request", async {
        loop {
            let wait = std::time::Duration::from_secs(10);
            let (Poll::Unchanged { asks } | Poll::Manifest { asks, .. }) =
                node.client.manifest(Some(&etag), None, wait).await.expect("an answer");
            if !asks.logs.is_empty() {
                return;
            }
        }
    })
    .await;

    role.stop().await;
    let refused = asked.await.expect("no panic").expect_err("there are no logs");
    let problem = refused.problem().unwrap_or_else(|| panic!("{refused:?}"));
    assert_eq!(problem.status, 503);
}
