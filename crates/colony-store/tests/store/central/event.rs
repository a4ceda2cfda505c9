//! Events: what is asked for is what was stored.

use colony_core::time::Timestamp;
use colony_store::{CentralStore, EventFilter, NewEvent, StoredEvent, Write};

use crate::database::Database;
use crate::sample;

pub(crate) async fn events_are_filtered_and_cut(it: &Database) {
    let store = it.open().await;
    let about = |site: &str, deployment: &str, node: &str, kind: &str| NewEvent {
        deployment: Some(deployment.to_owned()),
        node: Some(node.to_owned()),
        kind: kind.to_owned(),
        ..sample::event(site, None)
    };
    let mut events = vec![sample::event("a", None)];
    for at in 0..250 {
        let [x, y] = [at % 2, at % 5];
        events.push(about(["a", "b"][x], ["p", "q", "r", "s", "t"][y], "n", ["k", "l"][x]));
    }
    let head = store.commit(Write { events, ..Write::default() }).await.expect("it is stored");
    assert_eq!(head, 251);

    check(&store, "", 0, 1_000, &(1..=251).collect::<Vec<_>>()).await;
    check(&store, "", 249, 1_000, &[250, 251]).await;
    check(&store, "", 251, 1_000, &[]).await;
    check(&store, "site=a", 0, 3, &[1, 2, 4]).await;
    check(&store, "site=b deployment=q", 10, 2, &[13, 23]).await;
    check(&store, "node=n kind=l", 0, 2, &[3, 5]).await;
    check(&store, "node=m", 0, 2, &[]).await;
    check_last(&store, "", 2, &[250, 251]).await;
    check_last(&store, "deployment=p", 2, &[242, 247]).await;
    check_last(&store, "site=a deployment=p kind=l", 2, &[]).await;
}

async fn check(store: &CentralStore, filter: &str, after: i64, limit: u32, expected: &[i64]) {
    let found = store.events(&parsed(filter), after, limit).await.expect("events");
    assert_eq!(positions(&found), expected, "{filter} after {after}");
}

async fn check_last(store: &CentralStore, filter: &str, limit: u32, expected: &[i64]) {
    let found = store.events_last(&parsed(filter), limit).await.expect("events");
    assert_eq!(positions(&found), expected, "{filter}");
}

fn positions(events: &[StoredEvent]) -> Vec<i64> {
    events.iter().map(|it| it.position).collect()
}

/// `site=a node=n`.
fn parsed(text: &str) -> EventFilter {
    let value = |name: &str| {
        let pairs = text.split(' ').filter_map(|it| it.split_once('='));
        pairs.filter(|it| it.0 == name).map(|it| it.1.to_owned()).next()
    };
    let [site, deployment, node, kind] = ["site", "deployment", "node", "kind"].map(value);
    EventFilter { site, deployment, node, kind }
}

pub(crate) async fn whatever_a_site_says_is_stored(it: &Database) {
    let store = it.open().await;
    let long = "x".repeat(100_000);
    let odd = NewEvent {
        at: Timestamp(u64::MAX),
        kind: long.clone(),
        deployment: Some(long.clone()),
        node: Some("\0".to_owned()),
        actor: format!("operator:\0{long}"),
        body: serde_json::json!({ "\0": ["\0\u{1}\u{fffd}", u64::MAX, -0.0, 1e300, long] }),
        ..sample::event("home", Some(1))
    };
    let plain = NewEvent { node: Some("n".to_owned()), ..sample::event("home", Some(2)) };
    let events = vec![odd.clone(), plain.clone()];
    store.commit(Write { events, ..Write::default() }).await.expect("it is stored");

    let found = store.events(&EventFilter::default(), 0, 9).await.expect("events");

    assert_eq!(found[0].body.to_string(), odd.body.to_string());
    assert_eq!((found[0].hash, found[0].at), (odd.hash, Timestamp(i64::MAX as u64)));
    let expected = StoredEvent {
        position: 2,
        site: plain.site,
        incarnation: plain.incarnation,
        seq: plain.seq,
        at: plain.at,
        kind: plain.kind,
        deployment: plain.deployment,
        node: plain.node,
        actor: plain.actor,
        hash: plain.hash,
        body: plain.body,
    };
    assert_eq!(found[1], expected);
    let none = EventFilter { site: Some("\0".to_owned()), ..EventFilter::default() };
    assert_eq!(store.events(&none, 0, 9).await.expect("an answer"), []);
}

pub(crate) async fn hashes_of_a_log_are_found(it: &Database) {
    let store = it.open().await;
    let (_, writes) = sample::fleet(&sample::plant());
    let hashes: Vec<_> = writes.iter().flat_map(|it| &it.events).filter_map(|it| it.hash).collect();
    for write in writes {
        store.commit(write).await.expect("it is stored");
    }
    let own = vec![sample::event("home", None), sample::event("other", Some(1))];
    store.commit(Write { events: own, ..Write::default() }).await.expect("it is stored");
    let home = sample::home();

    let newest = store.event_hashes(&home, 0, 5).await.expect("hashes");
    assert_eq!(newest, hashes[hashes.len() - 5..]);
    assert_eq!(store.event_hashes(&home, 0, 256).await.expect("hashes").last(), hashes.last());
    assert_eq!(store.event_hashes(&home, 1, 256).await.expect("hashes"), []);
    assert_eq!(store.event_hash(&home, 0, 3).await.expect("an answer"), Some(hashes[2]));
    assert_eq!(store.event_hash(&home, 0, 9_999).await.expect("an answer"), None);
}
