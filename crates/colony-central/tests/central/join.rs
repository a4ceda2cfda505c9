//! Who may take a site, once.

use colony_api::request::{Invite, SiteAdd};
use http::Method;

use crate::support::{Hub, Lo};

#[tokio::test]
async fn a_token_lets_one_orchestrator_in_and_a_living_site_needs_replace() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let add = SiteAdd { name: "home".to_owned(), ..SiteAdd::default() };
    let first = hub.client.site_add(&add).await.expect("a site").token;
    let lo = Lo::join(&hub, &first, false).await.expect("it joins");
    assert_eq!(lo.joined.incarnation, 0);

    let again = invite(&hub, false).await;
    check(&hub, &again, false, "`--replace` fences it off").await;
    // A refused join spends no token.
    let second = Lo::join(&hub, &again, true).await.expect("it replaces");
    assert_eq!(second.joined.incarnation, 1);
    check(&hub, &first, false, "token was used before; ask for a new one").await;
    check(&hub, &again, true, "token was used before; ask for a new one").await;
    let asked = invite(&hub, true).await;
    assert_eq!(Lo::join(&hub, &asked, false).await.expect("it replaces").joined.incarnation, 2);
    hub.stop().await;
}

#[tokio::test]
async fn a_replaced_orchestrator_is_told_who_replaced_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut old = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    old.follow().await;
    let token = invite(&hub, true).await;
    let mut fresh = Lo::join(&hub, &token, false).await.expect("it replaces");

    old.plant.pass(1);
    let answer = old.call(Method::GET, "seed", "").await;
    assert_eq!(answer.status, 409);
    let text = String::from_utf8_lossy(&answer.body);
    assert!(text.contains("/fenced") && text.contains("\"current\":1"), "{text}");

    let seed = fresh.seed().await;
    assert_eq!((seed.placements.len(), seed.deployments.len()), (1, 1));
    fresh.plant.must(colony_core::site::Input::Seed(Box::new(seed)));
    fresh.pull().await;
    fresh.push().await;
    assert!(fresh.plant.site.is_ready());
    hub.stop().await;
}

#[tokio::test]
async fn a_site_speaks_for_itself_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&[]).await;
    let add = SiteAdd { name: "plant-b".to_owned(), ..SiteAdd::default() };
    hub.client.site_add(&add).await.expect("another site");

    lo.joined.site = "plant-b".to_owned();
    let answer = lo.call(Method::GET, "seed", "").await;
    assert_eq!(answer.status, 403);
    let answer = hub.send(Method::GET, "/api/v1/sites/home/seed", "").await;
    assert_eq!(answer.status, 401);
    hub.stop().await;
}

#[tokio::test]
async fn another_past_than_the_stored_one_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    let stored = lo.plant.events.len();
    lo.push().await;

    lo.plant.events[stored - 1].at.0 += 1;
    let events = lo.plant.events.clone();
    let batch = serde_json::json!({"incarnation": 0, "events": events});
    let answer = lo.call(Method::POST, "events", &batch.to_string()).await;

    assert_eq!(answer.status, 409);
    assert!(String::from_utf8_lossy(&answer.body).contains("/diverged"));
    hub.stop().await;
}

async fn invite(hub: &Hub, replace: bool) -> String {
    let invite = Invite { replace, ..Invite::default() };
    hub.client.site_invite("home", &invite).await.expect("a token").token
}

async fn check(hub: &Hub, token: &str, replace: bool, expected: &str) {
    let refused = Lo::join(hub, token, replace).await.err().expect("it is refused");
    assert!(refused.contains(expected), "{refused}");
}
