//! Who may add to a site's log, and what may follow what.

use colony_core::event::{Actor, Body, Event, Log};
use colony_core::fleet::{BATCH_LIMIT, Fleet, RECENT_LIMIT};
use colony_core::time::Timestamp;

use crate::kit::{Central, home};

#[test]
fn a_gap_makes_the_site_rewind() {
    check(&log(0, 5)[..3], &log(0, 5)[4..], "event 4 is missing");
    check(&[], &log(0, 5)[1..], "event 1 is missing");
}

#[test]
fn a_hole_inside_a_batch_is_a_gap() {
    let mut holed = log(0, 5);
    holed.remove(2);
    check(&[], &holed, "event 1 is missing");
}

#[test]
fn another_past_is_a_divergence() {
    let other = changed(2);
    check(&log(0, 5), &other[..2], "event 2 differs from what was stored before");
    check(&log(0, 5), &other[1..2], "event 2 differs from what was stored before");
    check(&log(0, 5)[..3], &other[3..], "event 4 differs from what was stored before");
    check(&log(0, 5), &other, "event 2 differs from what was stored before");
}

#[test]
fn a_broken_chain_is_a_divergence() {
    let mut broken = log(0, 5);
    broken[2].at = Timestamp(99);
    check(&[], &broken, "event 4 differs from what was stored before");
}

#[test]
fn what_is_older_than_memory_is_left_to_the_store_to_prove() {
    let long = log(0, BATCH_LIMIT);
    let old = &changed(2)[1..2];
    check(&long[..RECENT_LIMIT], old, "event 2 differs from what was stored before");
    check(&long, old, "next is 1001, 0 fresh, event 2 unverified");
    check(&long, &long[1..4], "next is 1001, 0 fresh, event 4 unverified");
    check(&long, &long[990..], "next is 1001, 0 fresh");
}

#[test]
fn a_restarted_central_still_tells_a_divergence() {
    let mut central = Central::new();
    let _ = central.apply(&log(0, 5), Timestamp(0)).expect("in order");
    let mut restored = central.restored();
    let wrong_last = &changed(4)[4..];
    let wrong_second = &changed(2)[1..2];
    assert!(restored.apply(&home(), wrong_last, Timestamp(0)).is_err());
    assert!(restored.apply(&home(), wrong_second, Timestamp(0)).is_ok());

    restored.recall(&home(), log(0, 5).iter().map(Event::hash));

    assert!(restored.apply(&home(), wrong_second, Timestamp(0)).is_err());
    assert!(restored.apply(&home(), &log(0, 7), Timestamp(0)).is_ok());
}

#[test]
fn events_of_other_orchestrators_are_refused() {
    check(&[], &log(1, 1), "no orchestrator joined as incarnation 1");
    let mut central = Central::new();
    central.fleet.join(&home(), Timestamp(0), true).expect("replaced");
    let refusal = central.apply(&log(0, 1), Timestamp(0)).expect_err("fenced");
    assert_eq!(refusal.to_string(), "incarnation 1 has taken over the site");
    let _ = central.apply(&log(1, 1), Timestamp(0)).expect("a log of its own");
}

#[test]
fn events_of_other_sites_are_refused() {
    let mut foreign = log(0, 1);
    foreign[0].site = "away".parse().expect("a name");
    check(&[], &foreign, "event 1 belongs to another site");
    let away = "away".parse().expect("a name");
    let refusal = Fleet::new().apply(&away, &foreign, Timestamp(0)).expect_err("unknown");
    assert_eq!(refusal.to_string(), "site `away` does not exist");
}

#[test]
fn a_batch_has_a_limit() {
    let found = BATCH_LIMIT + 1;
    check(&[], &log(0, found), &format!("a batch has at most {BATCH_LIMIT} events, not {found}"));
}

#[test]
fn a_site_that_never_joined_has_no_log() {
    let mut fleet = Fleet::new();
    fleet.site_add(&home());
    let refusal =
        fleet.apply(&home(), &log(0, 1), Timestamp(0)).expect_err("no orchestrator joined");
    assert_eq!(refusal.to_string(), "no orchestrator joined as incarnation 0");
}

#[test]
fn joining_a_site_that_was_heard_lately_needs_replace() {
    check_join(0, false, "incarnation 1");
    check_join(
        299,
        false,
        "incarnation 0 of site `home` was in contact 4 min ago; join with `--replace` to fence it off",
    );
    check_join(300, false, "incarnation 1");
    check_join(299, true, "incarnation 1");
}

/// Joins `seconds` after the site was heard; 0 is never.
#[track_caller]
fn check_join(seconds: u64, replace: bool, expected: &str) {
    let mut fleet = Fleet::new();
    fleet.site_add(&home());
    assert_eq!(fleet.join(&home(), Timestamp(1), false), Ok(0));
    let heard = Timestamp(1_000_000);
    let now = match seconds {
        0 => heard,
        seconds => {
            fleet.record_contact(&home(), heard).expect("home exists");
            Timestamp(heard.0 + seconds * 1_000)
        }
    };
    let actual = match fleet.join(&home(), now, replace) {
        Ok(incarnation) => format!("incarnation {incarnation}"),
        Err(refusal) => refusal.to_string(),
    };
    assert_eq!(actual, expected);
}

/// Sends `second` after `first` was taken.
#[track_caller]
fn check(first: &[Event], second: &[Event], expected: &str) {
    let mut central = Central::new();
    let _ = central.apply(first, Timestamp(0)).expect("in order");
    let before = central.fleet.clone();
    let actual = match central.apply(second, Timestamp(0)) {
        Ok(it) => {
            let unverified = it.unverified.map(|it| format!(", event {} unverified", it.0));
            let unverified = unverified.unwrap_or_default();
            format!("next is {}, {} fresh{unverified}", it.next_seq, it.fresh.len())
        }
        Err(refusal) => refusal.to_string(),
    };
    assert_eq!(actual, expected);
    assert_eq!(central.fleet, before, "a refused batch leaves no trace");
}

fn log(incarnation: u32, length: usize) -> Vec<Event> {
    let mut log = Log::new(home(), incarnation);
    (0..length).map(|_| log.append(Timestamp(1), Actor::Local, None, Body::Ready)).collect()
}

/// A log of five events that differs from the `seq`th on.
fn changed(seq: u64) -> Vec<Event> {
    let mut log = Log::new(home(), 0);
    let at = |log: &Log| if log.next == seq { Timestamp(2) } else { Timestamp(1) };
    (0..5).map(|_| log.append(at(&log), Actor::Local, None, Body::Ready)).collect()
}
