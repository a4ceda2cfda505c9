//! The two logs of a site: its own, and what the central orchestrator has of
//! it. Nothing that was acknowledged may be missing from either.

use std::collections::BTreeMap;

use colony_core::event::{self, Event, Log};
use serde_json::{Value, json};

use crate::kit::{Fleet, wait_or_not};

/// What happened, by incarnation and number.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Ledger(BTreeMap<(u64, u64), Value>);

/// What the central orchestrator has of site `home`.
pub(crate) fn acknowledged(fleet: &Fleet) -> Ledger {
    ledger(stored(fleet).into_iter())
}

fn stored(fleet: &Fleet) -> Vec<Event> {
    let said = fleet.colony(["event", "--site", "home", "--last", "1000", "-o", "json"]);
    let page = if said.code == 0 { said.json() } else { json!({ "events": [] }) };
    let of_site = |it: &Value| serde_json::from_value::<Event>(it["body"].clone()).ok();
    page["events"].as_array().unwrap().iter().filter_map(of_site).collect()
}

/// What the site has itself.
fn own(fleet: &Fleet) -> Ledger {
    let socket = fleet.path().join("home/local/local.sock").display().to_string();
    let said = fleet.colony(["event", "--last", "1000", "-o", "json", "--socket", &socket]);
    let page = if said.code == 0 { said.json() } else { json!({ "events": [] }) };
    let event = |it: &Value| {
        serde_json::from_value::<Event>(it["body"].clone()).expect("an event of a site")
    };
    ledger(page["events"].as_array().unwrap().iter().map(event))
}

fn ledger(events: impl Iterator<Item = Event>) -> Ledger {
    let entry = |it: Event| ((u64::from(it.incarnation), it.seq), what(it.at.0, &json!(it.body)));
    Ledger(events.map(entry).collect())
}

fn what(at: u64, body: &Value) -> Value {
    json!({ "at": at, "body": body })
}

impl Ledger {
    /// Waits until both logs are the same; returns how many events are
    /// acknowledged, and how many of these, of those acknowledged before, or of
    /// the site's own are missing or differ.
    #[track_caller]
    pub(crate) fn settle(&self, fleet: &Fleet) -> (u64, u64) {
        let mut last = (Ledger::default(), Ledger::default());
        let same = wait_or_not(|| {
            last = (acknowledged(fleet), own(fleet));
            (last.0 == last.1 && !last.0.0.is_empty()).then_some(())
        });
        let (central, local) = &last;
        let missing = |from: &Ledger, of: &Ledger| {
            from.0.iter().filter(|(key, event)| of.0.get(key) != Some(event)).count()
        };
        let lost = missing(self, central) + missing(local, central) + missing(central, local);
        assert!(same.is_some() || lost > 0, "the logs are empty");
        verify(&stored(fleet));
        (central.0.len() as u64, lost as u64)
    }
}

/// Every event names the one before.
#[track_caller]
fn verify(events: &[Event]) {
    let mut incarnations: BTreeMap<u32, Vec<Event>> = BTreeMap::new();
    for event in events {
        incarnations.entry(event.incarnation).or_default().push(event.clone());
    }
    for (incarnation, log) in incarnations {
        let start = Log::new("home".parse().unwrap(), incarnation);
        event::verify(start, &log).expect("an unbroken log");
    }
}
