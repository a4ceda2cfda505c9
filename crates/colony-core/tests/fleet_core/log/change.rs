//! Snapshots share what did not change, and a change can be taken back.

use colony_core::fleet::{Fleet, Row, Shared};
use colony_core::site::Action;
use colony_core::time::Timestamp;
use colony_testkit::{App, Plant};

use crate::kit::{Central, home, name};

#[test]
fn a_change_that_is_undone_leaves_the_fleet_as_it_was() {
    let changes: [fn(&mut Fleet); 6] = [
        |_| {},
        |fleet| assert!(fleet.site_add(&"away".parse().expect("a name"))),
        |fleet| fleet.record_contact(&home(), Timestamp(99)).expect("home exists"),
        |fleet| fleet.change_planned(&home(), &name("other"), Timestamp(9)).expect("home exists"),
        |fleet| {
            fleet.change_planned(&home(), &name("other"), Timestamp(9)).expect("home exists");
            fleet.change_dropped(&home(), &name("other")).expect("home exists");
            fleet
                .command(&home(), Action::ReleaseRemoval, "ana", Timestamp(9))
                .expect("home exists");
        },
        |fleet| {
            fleet.join(&home(), Timestamp(9), true).expect("it is replaced");
        },
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let mut fleet = fleet();
        let before = fleet.clone();
        fleet.change_begin();
        change(&mut fleet);
        fleet.change_undo();

        assert_eq!(fleet, before, "change {index}");
        assert_eq!(named(&fleet), named(&before), "change {index}");
        assert!(fleet.take_changed().is_empty(), "change {index}");
    }
}

#[test]
fn a_change_that_was_left_open_is_undone_by_the_next() {
    let mut fleet = fleet();
    let before = fleet.clone();
    fleet.change_begin();
    fleet.record_contact(&home(), Timestamp(99)).expect("home exists");

    fleet.change_begin();

    assert!(fleet.change_finish().rows.is_empty());
    assert_eq!(fleet, before);
}

#[test]
fn an_undone_batch_of_events_can_be_applied_again() {
    let (mut central, mut plant) = synced();
    plant.deploy(&App::new("later", "1.0.0"));
    let (fleet, fresh) = (&mut central.fleet, &plant.events[..]);
    let before = fleet.clone();

    fleet.change_begin();
    let first = fleet.apply(&home(), fresh, plant.now.wall).expect("the log continues");
    assert_eq!(named(fleet), "hello later");
    fleet.change_undo();

    assert_eq!(*fleet, before);
    assert_eq!(named(fleet), "hello");
    let again = fleet.apply(&home(), fresh, plant.now.wall).expect("the log continues");
    assert_eq!(again.next_seq, first.next_seq);
    assert_eq!(again.fresh, first.fresh);
}

#[test]
fn a_change_alerts_the_sites_that_have_something_to_hear() {
    check_alerted(|fleet| fleet.record_contact(&home(), Timestamp(9)).expect("home exists"), "");
    check_alerted(
        |fleet| fleet.change_planned(&home(), &name("x"), Timestamp(9)).expect("home exists"),
        "",
    );
    check_alerted(
        |fleet| {
            fleet
                .command(&home(), Action::ReleaseRemoval, "ana", Timestamp(9))
                .expect("home exists");
        },
        "home",
    );
    check_alerted(
        |fleet| {
            fleet.join(&home(), Timestamp(9), true).expect("it is replaced");
        },
        "home",
    );
}

#[test]
fn a_snapshot_stays_as_it_was_and_shares_what_did_not_change() {
    let mut fleet = fleet();
    let before = fleet.clone();
    let node_parts = |fleet: &Fleet| fleet.site(&home()).expect("home exists").nodes.clone();

    fleet.record_contact(&home(), Timestamp(77)).expect("home exists");

    let heard = |fleet: &Fleet| fleet.site(&home()).expect("home exists").head.last_heard;
    assert_ne!(heard(&fleet), heard(&before));
    assert!(Shared::is_same(&node_parts(&fleet), &node_parts(&before)), "no node was written");
}

#[track_caller]
fn check_alerted(change: fn(&mut Fleet), expected: &str) {
    let mut fleet = fleet();
    fleet.change_begin();
    change(&mut fleet);
    let change = fleet.change_finish();

    let alerted: Vec<&str> = change.alerted.iter().map(|it| it.as_str()).collect();
    assert_eq!(alerted.join(" "), expected);
    let rows: Vec<Row> = change.rows.keys().filter_map(|it| fleet.row(it)).collect();
    assert!(!rows.is_empty(), "every change writes a row");
}

/// A fleet with a deployment, all of it persisted.
fn fleet() -> Fleet {
    synced().0.fleet
}

fn synced() -> (Central, Plant) {
    let mut plant = Plant::new();
    plant.join("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    let mut central = Central::new();
    central.sync(&plant);
    let _ = central.fleet.take_changed();
    (central, plant)
}

fn named(fleet: &Fleet) -> String {
    fleet.deployment_names().map(|it| it.as_str()).collect::<Vec<_>>().join(" ")
}
