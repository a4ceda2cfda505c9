//! What a site has decided of a revision stands until it decides otherwise.

use colony_core::fleet::PlacementBucket;
use colony_core::site::Action;
use colony_testkit::Plant;

use crate::kit::story::{Step, app, failed, plant_after, story};
use crate::kit::{Central, name};
use crate::log::projection_steps::{CANARY, check, command, pause, three_nodes};
use crate::replacement::succeed;

const STOP: &str = "onFailure: stop";
const ROLLING: &str = "strategy: {type: rolling, maxUnavailable: 2}";

#[test]
fn next_revision_is_neither_paused_nor_stopped_nor_rejected() {
    let paused: &[Step] = &[
        three_nodes,
        |it| it.deploy(&app("2.0.0").with(CANARY)),
        |it| command(it, pause()),
        |it| it.deploy(&app("3.0.0").with(CANARY)),
    ];
    let stopped: &[Step] = &[three_nodes, stop, |it| it.deploy(&app("3.0.0").with(STOP))];
    let rejected: &[Step] = &[
        three_nodes,
        |it| it.deploy(&app("2.0.0").with("onFailure: rollback-node")),
        failed,
        Plant::converge,
        |it| it.deploy(&app("3.0.0").with("onFailure: rollback-node")),
    ];
    [paused, stopped, rejected].into_iter().for_each(check);
}

#[test]
fn another_policy_ends_neither_a_step_nor_a_stop() {
    let step: &[Step] = &[
        three_nodes,
        |it| it.deploy(&app("2.0.0").with(CANARY)),
        |it| it.deploy(&app("2.0.0").with(&format!("{CANARY}\n{STOP}"))),
    ];
    let stopped: &[Step] =
        &[three_nodes, stop, |it| it.deploy(&app("2.0.0").with(&format!("{ROLLING}\n{STOP}")))];
    [step, stopped].into_iter().for_each(check);
}

#[test]
fn node_that_recovers_or_retires_ends_no_stop() {
    check(&[three_nodes, stop, |it| it.report("a", "hello", "installed")]);
    let retire: Step = |it| command(it, Action::Retire { node: "c".parse().expect("a name") });
    check(&[three_nodes, stop, retire]);
}

#[test]
fn stop_the_next_orchestrator_knows_nothing_of_ends_with_its_start() {
    let (mut central, mut old) = (Central::new(), Plant::new());
    let wanted = app("1.0.0").with(STOP);
    old.join("a");
    old.deploy(&wanted);
    for _ in 0..3 {
        old.pass(30);
        failed(&mut old);
    }
    central.sync(&old);
    assert!(is_stopped(&central), "{}", old.states());

    let (mut new, left_out) = succeed(&mut central, &old, &[wanted], |_| None);
    assert_eq!(left_out.len(), 1);
    // What was left out is known to CO alone until the new LO comes to it.
    let _ = central.apply(&new.events, new.now.wall).expect("the log continues");
    assert!(is_stopped(&central), "{}", new.states());
    new.wake("a");
    let _ = central.apply(&new.events, new.now.wall).expect("the log continues");
    assert!(!is_stopped(&central), "{}", new.states());
}

#[test]
fn what_went_back_is_no_success() {
    let stands = |story: &[Step], expected: (&str, usize, usize)| {
        let mut central = Central::new();
        central.sync(&plant_after(story));
        let shares =
            (central.count(PlacementBucket::Installed), central.count(PlacementBucket::RolledBack));
        let standing = central.view().rollup_status(&name("hello")).to_string();
        assert_eq!((standing.as_str(), shares.0, shares.1), expected);
    };
    stands(&story("rollback of one node")[..4], ("ROLLED_BACK", 1, 1));
    stands(&story("failed first install")[..8], ("ROLLED_BACK", 0, 0));
}

/// Version 2 stops on a.
fn stop(plant: &mut Plant) {
    plant.deploy(&app("2.0.0").with(STOP));
    failed(plant);
}

fn is_stopped(central: &Central) -> bool {
    central.view().deployments.values().any(|it| it.stopped.is_some())
}
