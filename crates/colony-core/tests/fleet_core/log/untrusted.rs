//! Whatever a site sends is stored, never believed to be sensible.

use proptest::prelude::*;
use serde_json::{Value, json};

use colony_core::event::{Body, Event, Log};
use colony_core::fleet::Effect;
use colony_core::state::State;
use colony_core::time::Timestamp;
use colony_testkit::Plant;

use crate::kit::story::{STORIES, app, plant_after};
use crate::kit::{Central, home};

#[test]
fn an_illegal_transition_is_stored_applied_and_flagged() {
    let mut events = plant_after(STORIES[0].1).events;
    let last = events.iter().rposition(|it| matches!(it.body, Body::StateTransition(_)));
    let last = last.expect("something moved");
    let Body::StateTransition(it) = &mut events[last].body else { unreachable!() };
    it.to = State::RollingBack;
    let (deployment, node) = (it.deployment.clone(), it.node.clone());
    let mut central = Central::new();

    let applied = central.apply(&chained(events), Timestamp(0)).expect("stored");

    let placement = &central.view().placements[&deployment][&node];
    assert_eq!(placement.state, State::RollingBack);
    let flag = placement.flagged.as_ref().expect("flagged").to_string();
    let seq = last + 1;
    let expected = format!(
        "event {seq} goes from INSTALLING to ROLLINGBACK on `healthy`, which no rule allows"
    );
    assert_eq!(flag, expected);
    assert!(matches!(applied.effects.as_slice(), [Effect::Flagged { .. }]));
    assert_eq!(central.restored(), central.fleet);
}

#[test]
fn a_transition_from_elsewhere_is_flagged_until_it_ends_well() {
    let mut plant = plant_after(STORIES[0].1);
    plant.deploy(&app("2.0.0"));
    plant.report("a", "hello", "failed:engine-error");
    plant.pass(8);
    plant.converge();
    let mut events = plant.events;
    let at = events.iter().position(|it| is_move(it, State::Updating)).expect("an update");
    let Body::StateTransition(it) = &mut events[at].body else { unreachable!() };
    it.from = Some(State::Pending);
    let (deployment, node) = (it.deployment.clone(), it.node.clone());
    let events = chained(events);
    let mut central = Central::new();
    let _ = central.apply(&events[..at], Timestamp(0)).expect("stored");

    for event in &events[at..] {
        let _ = central.apply(std::slice::from_ref(event), Timestamp(0)).expect("stored");
        let placement = &central.view().placements[&deployment][&node];
        let flag = placement.flagged.as_ref().map(ToString::to_string);
        let seq = at + 1;
        let text = format!("event {seq} starts at PENDING, but INSTALLED was known before");
        assert_eq!(flag, (placement.state != State::Installed).then_some(text));
    }
}

fn is_move(event: &Event, to: State) -> bool {
    matches!(&event.body, Body::StateTransition(it) if it.to == to)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_event_makes_the_projection_panic(
        story in 0..STORIES.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>(), 0usize..8), 1..12),
    ) {
        let mut events = logs()[story].clone();
        for (at, path, with) in edits {
            let at = at.index(events.len());
            if let Some(event) = mutated(&events[at], path, with) {
                events[at] = event;
            }
        }
        let mut central = Central::new();
        let events = chained(events);

        for batch in events.chunks(7) {
            let _ = central.apply(batch, Timestamp(5)).expect("order is all that counts");
        }

        prop_assert_eq!(central.view().head.log.as_ref().map(|it| it.next), Some(events.len() as u64 + 1));
        ask_everything(&central);
        prop_assert_eq!(central.restored(), central.fleet);
    }
}

fn logs() -> &'static [Vec<Event>] {
    static LOGS: std::sync::OnceLock<Vec<Vec<Event>>> = std::sync::OnceLock::new();
    LOGS.get_or_init(|| {
        STORIES.iter().map(|it| plant_after(it.1)).map(|it: Plant| it.events).collect()
    })
}

fn ask_everything(central: &Central) {
    let fleet = &central.fleet;
    for name in fleet.deployment_names() {
        let why = fleet.why(&home(), name, None, Timestamp(99)).expect("home exists");
        why.iter().for_each(|it| assert!(!it.text(Timestamp(99)).is_empty()));
        let _ = (central.view().rollup_status(name), central.view().delete_check(name, false));
    }
    let _ = fleet.seed(&home(), |_| Some("text".to_owned())).expect("home exists");
}

/// The event with one value replaced, if it still reads as one.
fn mutated(event: &Event, path: u32, with: usize) -> Option<Event> {
    let mut value = serde_json::to_value(event).ok()?;
    let values = [
        json!(null),
        json!(0),
        json!(u64::MAX),
        json!(true),
        json!("b"),
        json!("DELETED"),
        json!("UNKNOWN(update)"),
        json!("installed"),
    ];
    *leaf(value.get_mut("body")?, path) = values[with].clone();
    serde_json::from_value(value).ok()
}

fn leaf(value: &mut Value, path: u32) -> &mut Value {
    let length = value.as_object().map(|it| it.len()).or(value.as_array().map(Vec::len));
    let length = length.unwrap_or(0);
    if length == 0 {
        return value;
    }
    let (at, path) = (path as usize % length, path / length as u32);
    if value.is_array() {
        return leaf(&mut value[at], path);
    }
    let inner = value.as_object_mut().and_then(|it| it.values_mut().nth(at));
    leaf(inner.expect("only these have a length"), path)
}

/// The same events as one unbroken log.
fn chained(events: Vec<Event>) -> Vec<Event> {
    let mut log = Log::new(home(), 0);
    let append = |it: Event| log.append(it.at, it.actor, it.git, it.body);
    events.into_iter().map(append).collect()
}
