//! What the projection keeps between two events, and across a restore.

use colony_core::site::{Commit, Input};
use colony_core::time::Timestamp;
use colony_testkit::{Plant, commit_id};

use crate::kit::{Central, home};

#[test]
fn a_held_history_is_held_until_another_commit_is_taken() {
    let (mut central, mut plant) = (Central::new(), Plant::new());
    plant.commit(vec![]);
    let rewrite = Commit { revision: commit_id(50), base: None, rewritten: true, files: vec![] };
    let _ = plant.step(Input::Commit(rewrite));
    plant.join("a");
    central.sync(&plant);
    assert!(central.view().holds.history.is_some(), "a node has joined since, no more");

    plant.commit(vec![]);
    plant.join("b");
    central.sync(&plant);
    assert_eq!(central.view().holds.history, None);
}

#[test]
fn incarnations_after_a_restore_follow_the_clock() {
    let year = 365 * 24 * 3_600_000;
    let after = |years: u64| {
        let mut fleet = Central::new().fleet;
        fleet.rewound(Timestamp(1_767_225_600_000 + years * year));
        fleet.join(&home(), Timestamp(0), true).expect("it may join")
    };
    assert!(after(1) > 1_000, "more than any site has joins: {}", after(1));
    assert!(after(2) - after(1) > 1_000, "{} and {}", after(1), after(2));
}
