//! The projection equals the site, however its log arrives.

use proptest::prelude::*;

use colony_core::event::Event;
use colony_core::time::Timestamp;
use colony_testkit::Plant;

use crate::kit::Central;
use crate::kit::story::{STORIES, plant_after};

#[test]
fn projection_equals_the_site_after_every_step_of_every_story() {
    for (_, steps) in STORIES {
        let (mut plant, mut central) = (Plant::new(), Central::new());
        central.sync(&plant);
        for step in *steps {
            step(&mut plant);
            central.sync(&plant);
        }
        let flagged = central.view().placements.values().flat_map(|it| it.values());
        assert_eq!(flagged.filter(|it| it.flagged.is_some()).count(), 0);
    }
}

/// An event contains the deployment and the node that it concerns.
#[test]
fn events_name_their_deployment_and_their_node() {
    let mut seen = (0, 0);
    for event in STORIES.iter().flat_map(|it| plant_after(it.1).events) {
        let json = serde_json::to_value(&event.body).expect("it is written");
        let text = |key: &str| json.get(key).and_then(|it| it.as_str()).map(str::to_owned);
        let (deployment, node) = (event.body.deployment(), event.body.node());
        assert_eq!(node.map(ToString::to_string), text("node"), "{json}");
        let of_hold = json.pointer("/scope/deployment").and_then(|it| it.as_str());
        let expected = text("deployment").or(of_hold.map(str::to_owned));
        assert_eq!(deployment.map(ToString::to_string), expected, "{json}");
        seen = (seen.0 + usize::from(deployment.is_some()), seen.1 + usize::from(node.is_some()));
    }
    assert!(seen.0 > 50 && seen.1 > 50, "{seen:?}");
}

#[test]
fn a_batch_sent_twice_changes_nothing() {
    let plant = plant_after(STORIES[2].1);
    let mut central = Central::new();
    central.sync(&plant);
    let before = central.fleet.clone();

    let applied = central.apply(&plant.events, plant.now.wall).expect("a repetition is fine");

    assert_eq!(central.fleet, before);
    assert_eq!((applied.fresh.len(), applied.effects.len()), (0, 0));
    assert_eq!(applied.next_seq, plant.site.log().next);
}

#[test]
fn fresh_events_come_back_with_their_hashes() {
    let plant = plant_after(STORIES[0].1);
    let mut central = Central::new();
    let _ = central.apply(&plant.events[..5], Timestamp(0)).expect("in order");

    let applied = central.apply(&plant.events[3..9], Timestamp(0)).expect("in order");

    assert_eq!(applied.fresh, plant.events[5..9]);
    let hashes: Vec<_> = plant.events[5..9].iter().map(Event::hash).collect();
    assert_eq!(applied.hashes, hashes);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn splits_overlaps_and_repetitions_make_no_difference(
        story in 0..STORIES.len(),
        cuts in prop::collection::vec((0usize..12, 1usize..20), 1..60),
    ) {
        let plant = plant_after(STORIES[story].1);
        let mut whole = Central::new();
        let _ = whole.apply(&plant.events, Timestamp(9)).expect("in order");
        let (mut pieces, mut next) = (Central::new(), 0);

        for (back, length) in cuts {
            let from = usize::min(next, plant.events.len()).saturating_sub(back);
            let to = usize::min(from + length, plant.events.len());
            let applied = pieces.apply(&plant.events[from..to], Timestamp(9)).expect("no gap");
            next = next.max(to);
            prop_assert_eq!(applied.next_seq, next as u64 + 1);
        }
        let _ = pieces.apply(&plant.events[next..], Timestamp(9)).expect("the rest");

        prop_assert_eq!(&pieces.fleet, &whole.fleet);
        prop_assert_eq!(&pieces.effects, &whole.effects);
        prop_assert_eq!(pieces.restored(), whole.fleet);
    }
}
