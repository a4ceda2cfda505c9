//! Logs of sites as the central orchestrator takes them.

use colony_core::event::{Actor, Event, Log, verify};
use colony_core::fleet::Fleet;
use colony_core::id::SiteName;
use colony_core::time::Timestamp;

use crate::{Outcome, hold};

const NOW: Timestamp = Timestamp(1_794_225_600_000);

/// A list of events. Unless the input breaks them on purpose, numbers and
/// links are put right first, so that what the events say is looked at too.
pub(super) fn events(input: &[u8]) -> Outcome {
    let events: Vec<Event> = match serde_json::from_slice(input) {
        Ok(events) => events,
        Err(error) => return Outcome::refused(error),
    };
    events.iter().for_each(same);
    let sent = apply(&events);
    let linked = linked(&events);
    let mended = apply(&linked);
    let names: Vec<String> = linked.iter().map(|it| format!("{:?}", it.body)).collect();
    let kinds: Vec<&str> =
        names.iter().take(8).filter_map(|it| it.split([' ', '(', '{']).next()).collect();
    Outcome::taken(format!("{sent} {mended} {kinds:?}"))
}

fn same(event: &Event) {
    let json = serde_json::to_value(event).expect("an event is JSON");
    hold::canonical(&json);
    let again: Event = serde_json::from_value(json.clone()).expect("our event is read");
    hold::same(&again, event, &json.to_string());
    assert_eq!(again.hash(), event.hash(), "the same event has two hashes");
    let actor = Actor::from(event.actor.to_string());
    assert_eq!(actor, event.actor, "an actor prints as another one");
}

/// The same happenings, as one log of `home`.
fn linked(events: &[Event]) -> Vec<Event> {
    let mut log = Log::new(home(), 0);
    let append = |it: &Event| log.append(it.at, it.actor.clone(), it.git.clone(), it.body.clone());
    let linked: Vec<Event> = events.iter().map(append).collect();
    let end = verify(Log::new(home(), 0), &linked).expect("a log we made is one");
    assert_eq!(end, log);
    linked
}

/// Applied twice, a batch is as applied once; refused, it changes nothing.
fn apply(batch: &[Event]) -> String {
    let mut fleet = Fleet::new();
    fleet.site_add(&home());
    fleet.join(&home(), NOW, false).expect("an empty site is joined");
    let _ = fleet.take_changed();
    let before = fleet.clone();
    match fleet.apply(&home(), batch, NOW) {
        Err(refusal) => {
            assert_eq!(fleet.site(&home()), before.site(&home()), "refused, and yet changed");
            refusal.to_string()
        }
        Ok(applied) => {
            assert_eq!(applied.next_seq, applied.fresh.len() as u64 + 1);
            let once = fleet.clone();
            let twice = fleet.apply(&home(), batch, NOW).expect("a batch sent twice is taken");
            assert!(twice.fresh.is_empty() && twice.effects.is_empty(), "taken twice");
            assert_eq!(fleet.site(&home()), once.site(&home()), "sent twice, it changes something");
            format!("{} effects", applied.effects.len())
        }
    }
}

fn home() -> SiteName {
    "home".parse().expect("a name")
}
