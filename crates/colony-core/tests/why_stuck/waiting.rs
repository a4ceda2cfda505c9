//! Holds, windows and slots.

use super::*;

#[test]
fn site_is_on_hold() {
    let mut plant = installed("a b");
    hold(&mut plant, HoldScope::Site, "inventory");
    plant.deploy(&hello("2.0.0"));
    plant.pass(120);
    assert_snapshot!(hello_whole(&plant), @r#"hello on a and b runs 1.0.0 and has waited 2 min to update to 2.0.0 (INSTALLED for 2 min): ana put the site on hold 2 min ago ("inventory"). Next: it is updated to 2.0.0 when the hold is released. To do (site engineer): release the hold."#);
    assert_snapshot!(site(&plant), @r#"site home: ana put the site on hold 2 min ago ("inventory"). Next: changes go on when the hold is released. To do (site engineer): release the hold."#);
}

#[test]
fn deployment_is_on_hold() {
    let mut plant = installed("a");
    hold(&mut plant, HoldScope::Deployment(deployment_id("hello")), "");
    plant.deploy(&hello("2.0.0"));
    plant.pass(30);
    assert_snapshot!(on(&plant, "a"), @"hello on a runs 1.0.0 and has waited 30 s to update to 2.0.0 (INSTALLED for 30 s): ana put the deployment on hold 30 s ago. Next: it is updated to 2.0.0 when the hold is released. To do (site engineer): release the hold.");
}

#[test]
fn nobody_is_a_canary() {
    let mut plant = installed("a");
    let labels = "strategy: {type: canary, canary: {line: test}, soak: 10s}";
    plant.deploy(&hello("2.0.0").with(labels));
    plant.pass(30);
    assert_snapshot!(on(&plant, "a"), @"hello on a runs 1.0.0 and has waited 30 s to update to 2.0.0 (INSTALLED for 30 s): no reachable node is a canary, and the others wait for one. Next: a canary gets it first, then it is updated to 2.0.0. To do (author of the file in Git): choose canaries by labels that a node has, or bring one that has them back.");
}

#[test]
fn nobody_can_stage_it() {
    let mut plant = plant("a");
    plant.silence("a");
    plant.pass(60);
    plant.deploy(&hello("1.0.0").with("strategy: {type: blue-green, soak: 10s}"));
    assert!(
        on(&plant, "a").contains("no reachable node runs an earlier version to stage next to"),
        "{}",
        on(&plant, "a")
    );
}

#[test]
fn removal_waits_for_a_hold() {
    let mut plant = installed("a");
    hold(&mut plant, HoldScope::Site, "night shift");
    plant.undeploy("hello");
    plant.pass(30);
    assert_snapshot!(on(&plant, "a"), @r#"hello on a runs 1.0.0 and has waited 30 s to be removed because its file is gone from Git (INSTALLED for 30 s): ana put the site on hold 30 s ago ("night shift"). Next: it is removed when the hold is released. To do (site engineer): release the hold."#);
}

#[test]
fn maintenance_window_is_closed() {
    let mut plant = installed("a");
    let windows = "maintenanceWindows:\n  - {from: '22:00', to: '04:00'}\n";
    commit_text(&mut plant, "sites/home.yaml", windows);
    plant.deploy(&hello("2.0.0"));
    assert_snapshot!(on(&plant, "a"), @"hello on a runs 1.0.0 and has waited 0 s to update to 2.0.0 (INSTALLED for 0 s): the maintenance window is closed. Next, in 10 h: the window opens and it is updated to 2.0.0.");
    assert_snapshot!(site(&plant), @"site home: the maintenance window is closed. Next, in 10 h: the window opens and changes go on.");
}

#[test]
fn two_things_are_in_the_way() {
    let mut plant = installed("a");
    hold(&mut plant, HoldScope::Site, "inventory");
    plant.silence("a");
    plant.pass(60);
    plant.deploy(&hello("2.0.0"));
    assert_snapshot!(on(&plant, "a"), @r#"hello on a runs 1.0.0 and has waited 0 s to update to 2.0.0 (INSTALLED for 60 s): node a is offline, last contact 60 s ago; also, ana put the site on hold 60 s ago ("inventory"). Next: it is updated to 2.0.0 as soon as node a connects and nothing else is in the way. To do (device owner): bring node a back."#);
}

#[test]
fn rollout_slot_is_taken() {
    let mut plant = installed("a b c");
    plant.deploy(&hello("2.0.0"));
    plant.pass(40);
    assert_snapshot!(on(&plant, "b"), @"hello on b runs 1.0.0 and has waited 40 s to update to 2.0.0 (INSTALLED for 40 s): 1 of 1 rollout slot is taken by a (UPDATING for 40 s). Next: it is updated to 2.0.0 when a is done.");
    assert_snapshot!(hello_whole(&plant), @r"
    hello on a is updating to 2.0.0 (UPDATING for 40 s): attempt 2 is in progress on node a. Next, in 9 min: it counts as failed unless node a reports success before.
    hello on b and c runs 1.0.0 and has waited 40 s to update to 2.0.0 (INSTALLED for 40 s): 1 of 1 rollout slot is taken by a (UPDATING for 40 s). Next: it is updated to 2.0.0 when a is done.
    ");
}

#[test]
fn rollout_slot_is_taken_by_a_lost_node() {
    let mut plant = installed("a b");
    plant.deploy(&hello("2.0.0"));
    plant.silence("a");
    plant.pass(60);
    assert_snapshot!(on(&plant, "b"), @"hello on b runs 1.0.0 and has waited 60 s to update to 2.0.0 (INSTALLED for 60 s): 1 of 1 rollout slot is taken by a (UNKNOWN for 45 s). Next: it is updated to 2.0.0 when a is done.");
}

#[test]
fn rollback_waits_for_its_turn() {
    let mut plant = installed("a b c");
    plant.deploy(&hello("2.0.0"));
    plant.converge();
    let rollback = Action::Rollback { deployment: deployment_id("hello") };
    plant.command(rollback).expect("rolled back");
    plant.pass(10);
    assert_snapshot!(hello_whole(&plant), @r"
    hello: 2.0.0 was rolled back by an operator 10 s ago. Next: 1.0.0 stays until another version is committed or 2.0.0 is released. To do (operator): deploy a corrected version, or release 2.0.0.
    hello on a is rolling back to 1.0.0 (ROLLINGBACK for 10 s): attempt 3 is in progress on node a; also, 2.0.0 was rolled back by an operator 10 s ago. Next, in 9 min: it counts as failed unless node a reports success before.
    hello on b and c runs 2.0.0 and has waited 10 s to roll back to 1.0.0 (INSTALLED for 10 s): 1 of 1 rollout slot is taken by a (ROLLINGBACK for 10 s); also, 2.0.0 was rolled back by an operator 10 s ago. Next: it is rolled back to 1.0.0 when a is done.
    ");
}

#[test]
fn nodes_that_run_other_versions_are_told_apart() {
    let mut plant = installed("a b");
    plant.silence("a");
    plant.pass(20);
    plant.deploy(&hello("1.1.0"));
    plant.converge();
    hold(&mut plant, HoldScope::Site, "");
    plant.wake("a");
    plant.deploy(&hello("2.0.0"));
    assert_snapshot!(hello_whole(&plant), @r"
    hello on a runs 1.0.0 and has waited 0 s to update to 2.0.0 (INSTALLED for 20 s): ana put the site on hold 0 s ago. Next: it is updated to 2.0.0 when the hold is released. To do (site engineer): release the hold.
    hello on b runs 1.1.0 and has waited 0 s to update to 2.0.0 (INSTALLED for 0 s): ana put the site on hold 0 s ago. Next: it is updated to 2.0.0 when the hold is released. To do (site engineer): release the hold.
    ");
}

#[test]
fn what_was_never_started_waits_to_be_removed() {
    let mut plant = plant("a");
    plant.silence("a");
    plant.pass(20);
    plant.deploy(&hello("1.0.0"));
    hold(&mut plant, HoldScope::Site, "");
    plant.undeploy("hello");
    assert_snapshot!(on(&plant, "a"), @"hello on a was never started and has waited 0 s to be removed because its file is gone from Git (PENDING for 0 s): ana put the site on hold 0 s ago. Next: it is removed when the hold is released. To do (site engineer): release the hold.");
}

#[test]
fn staged_version_waits_to_take_over() {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0").with("strategy: {type: blue-green, soak: 5m}"));
    plant.report("a", "hello", "installed");
    plant.pass(20);
    assert_snapshot!(on(&plant, "a"), @"hello on a has 2.0.0 staged (UPDATING for 20 s): soaking: nodes on the new version must stay healthy. Next, in 4 min: the soak ends and 2.0.0 takes over.");
}

#[test]
fn hold_of_a_deployment_says_what_waits_for_it() {
    let mut plant = installed("a");
    hold(&mut plant, HoldScope::Deployment(deployment_id("hello")), "");
    assert_snapshot!(hello_whole(&plant), @"hello: ana put the deployment on hold 0 s ago. Next: the next change starts when the hold is released. To do (site engineer): release the hold.");
    plant.deploy(&hello("2.0.0"));
    assert_snapshot!(hello_whole(&plant), @"hello on a runs 1.0.0 and has waited 0 s to update to 2.0.0 (INSTALLED for 0 s): ana put the deployment on hold 0 s ago. Next: it is updated to 2.0.0 when the hold is released. To do (site engineer): release the hold.");
}

#[test]
fn soak_before_a_promotion_says_who_goes_on() {
    let mut plant = installed("a");
    let manual = "strategy: {type: blue-green, soak: 5m, promote: manual}";
    plant.deploy(&hello("2.0.0").with(manual));
    plant.report("a", "hello", "installed");
    plant.pass(20);
    assert_snapshot!(on(&plant, "a"), @"hello on a has 2.0.0 staged (UPDATING for 20 s): soaking: nodes on the new version must stay healthy. Next, in 4 min: the soak ends and an operator has to promote it before 2.0.0 takes over.");
}

#[test]
fn delay_runs_and_ends() {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0").with("delay: 5m"));
    plant.pass(120);
    assert_snapshot!(on(&plant, "a"), @"hello on a runs 1.0.0 and has waited 2 min to update to 2.0.0 (INSTALLED for 2 min): its `delay` is not over: the site accepted the revision 2 min ago. Next, in 3 min: the delay ends and it is updated to 2.0.0.");
    plant.crash();
    plant.pass(179);
    assert_eq!(plant.states(), "hello@a INSTALLED 1.0.0");
    plant.pass(2);
    assert_eq!(plant.states(), "hello@a UPDATING 2.0.0");
}

#[test]
fn window_that_opens_after_the_delay_is_waited_for() {
    let mut plant = installed("a");
    let windows = "maintenanceWindows:\n  - {from: '22:00', to: '04:00'}\n";
    commit_text(&mut plant, "sites/home.yaml", windows);
    plant.deploy(&hello("2.0.0").with("delay: 1m"));
    assert!(on(&plant, "a").contains("window is closed"), "{}", on(&plant, "a"));
    plant.deploy(&hello("3.0.0").with("delay: 24h"));
    assert!(on(&plant, "a").contains("its `delay` is not over"), "{}", on(&plant, "a"));
}

#[test]
fn clock_that_is_set_back_does_not_stretch_a_delay() {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0").with("delay: 5m"));
    plant.now.wall = plant.now.wall.before(std::time::Duration::from_secs(86_400));
    plant.pass(61);
    assert_eq!(plant.states(), "hello@a UPDATING 2.0.0");
}

#[test]
fn deployment_waits_for_the_volumes_of_the_one_before() {
    let mut plant = installed("a");
    plant.silence("a");
    plant.pass(60);
    plant.purge("hello");
    plant.deploy(&hello("2.0.0").with_id(deployment_id("hello again")));
    plant.wake("a");
    plant.pass(30);
    let id = plant.placement("a", "hello again");
    let why = why::placement(&plant.site, &id, plant.now).expect("it waits");
    assert_snapshot!(why.text(plant.now.wall), @"hello on a waits to install 2.0.0 (PENDING for 30 s): node a has not removed the volumes of the deployment of this name that was deleted 30 s ago. Next: it is installed with empty volumes once they are gone. To do (device owner): bring node a back if it is offline; `colony why --node a` says more.");
}
