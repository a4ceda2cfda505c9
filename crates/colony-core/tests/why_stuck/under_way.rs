//! Attempts and removals under way, also those of an orchestrator before.

use super::*;

#[test]
fn attempt_is_under_way() {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0"));
    plant.pass(25);
    assert_snapshot!(on(&plant, "a"), @"hello on a is installing 1.0.0 (INSTALLING for 25 s): attempt 1 is in progress on node a. Next, in 9 min: it counts as failed unless node a reports success before.");
}

#[test]
fn everything_runs_and_has_to_settle() {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0"));
    plant.pass(4);
    plant.report("a", "hello", "installing~5000");
    plant.pass(3);
    assert_snapshot!(on(&plant, "a"), @"hello on a is installing 1.0.0 (INSTALLING for 7 s): all its containers have been running on node a for 3 s. Next, in 2 s: it counts as installed if they are still running after their settle time.");
    plant.report("a", "hello", "installing");
    assert_snapshot!(on(&plant, "a"), @"hello on a is installing 1.0.0 (INSTALLING for 7 s): attempt 1 is in progress on node a. Next, in 9 min: it counts as failed unless node a reports success before.");
}

#[test]
fn attempt_is_under_way_on_a_late_node() {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0"));
    plant.silence("a");
    plant.pass(13);
    assert_snapshot!(on(&plant, "a"), @"hello on a is installing 1.0.0 (INSTALLING for 13 s): attempt 1 is in progress on node a; also, node a is late, last contact 13 s ago. Next, in 9 min: it counts as failed unless node a reports success before.");
}

#[test]
fn newer_revision_waits_behind_the_one_under_way() {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0"));
    hold(&mut plant, HoldScope::Site, "");
    plant.deploy(&hello("3.0.0"));
    assert_snapshot!(on(&plant, "a"), @"hello on a is updating to 2.0.0 and has waited 0 s to update to 3.0.0 (UPDATING for 0 s): ana put the site on hold 0 s ago; also, attempt 2 is in progress on node a. Next: it is updated to 3.0.0 when the hold is released. To do (site engineer): release the hold.");
}

#[test]
fn node_was_lost_during_the_attempt() {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0"));
    plant.silence("a");
    plant.pass(90);
    assert_snapshot!(on(&plant, "a"), @"hello on a was updating to 2.0.0 when contact was lost (UNKNOWN for 75 s): the result of attempt 2 is unknown, node a is offline, last contact 90 s ago. Next, in 8 min: the attempt counts as failed unless the node is back before. To do (device owner): bring node a back.");
    plant.pass(3_600);
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to update to 2.0.0 (FAILED for 51 min): node a is offline, last contact 61 min ago. Next: it is tried again as soon as node a connects. To do (device owner): bring node a back.");
}

#[test]
fn node_is_back_but_silent_about_the_attempt() {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0"));
    plant.silence("a");
    plant.pass(60);
    plant.wake("a");
    plant.pass(10);
    assert_snapshot!(on(&plant, "a"), @"hello on a was installing 1.0.0 when contact was lost (UNKNOWN for 55 s): node a is back but has not reported attempt 1. Next, in 20 s: a new attempt starts unless the node reports this one first.");
}

#[test]
fn removal_is_not_confirmed_yet() {
    let mut plant = installed("a");
    plant.undeploy("hello");
    plant.pass(20);
    assert_snapshot!(on(&plant, "a"), @"hello on a is being removed because its file is gone from Git (DELETING for 20 s): node a received the removal 20 s ago and has not confirmed it. Next: it is gone when node a confirms.");
}

#[test]
fn removal_waits_for_an_offline_node() {
    let mut plant = installed("a");
    plant.silence("a");
    plant.pass(3_000);
    plant.undeploy("hello");
    plant.pass(600);
    assert_snapshot!(on(&plant, "a"), @"hello on a is being removed because its file is gone from Git (DELETING for 10 min): node a has to confirm but is offline, last contact 60 min ago. Next: it is removed as soon as node a connects. To do (device owner): bring node a back; if it is gone for good, retire it.");
}

#[test]
fn removal_failed() {
    let mut plant = installed("a");
    plant.undeploy("hello");
    plant.report("a", "hello", "failed:removal-failed");
    assert_snapshot!(on(&plant, "a"), @"hello on a could not be removed (FAILED for 0 s): the workload could not be removed (removal-failed in web: it went wrong). Next, in 5 s: the removal is tried again. To do (device owner): look at the engine on the device, or delete again with `--force`.");
}

#[test]
fn orchestrator_takes_a_site_over() {
    let mut plant = taken_over("UPDATING");
    assert_snapshot!(on(&plant, "a"), @"hello on a was updating to 1.0.0 when contact was lost (UNKNOWN for 0 s): Git has not been read yet. Next: nodes are served once Git is read. To do (site engineer): check the connection to the Git repository.");
    plant.commit(vec![hello("1.0.0").file(plant.site.name())]);
    assert_snapshot!(on(&plant, "a"), @"hello on a was updating to 1.0.0 when contact was lost (UNKNOWN for 0 s): the result of attempt 4 is unknown, node a has not connected to this orchestrator yet. Next, in 10 min: the attempt counts as failed unless the node is back before. To do (device owner): bring node a back.");
}

#[test]
fn failure_of_the_orchestrator_before_is_tried_again() {
    let mut plant = taken_over("FAILED(install)");
    plant.commit(vec![hello("1.0.0").file(plant.site.name())]);
    plant.wake("a");
    plant.pass(60);
    assert_snapshot!(on(&plant, "a"), @"hello on a is installing 1.0.0 (INSTALLING for 60 s): attempt 5 is in progress on node a. Next, in 9 min: it counts as failed unless node a reports success before.");
}

#[test]
fn removal_of_the_orchestrator_before_waits_for_the_node() {
    let mut plant = taken_over("DELETING");
    plant.commit(vec![]);
    plant.pass(60);
    assert_snapshot!(on(&plant, "a"), @"hello on a is being removed because its file is gone from Git (DELETING for 60 s): node a has to confirm but has not connected to this orchestrator yet. Next: it is removed as soon as node a connects. To do (device owner): bring node a back; if it is gone for good, retire it.");
}

#[test]
fn unplaced_node_is_left() {
    let mut plant = installed("a b");
    plant.deploy(&hello("1.0.0").on("b"));
    assert_snapshot!(on(&plant, "a"), @"hello on a is being removed because its file no longer chooses this node (DELETING for 0 s): node a received the removal 0 s ago and has not confirmed it. Next: it is gone when node a confirms.");
}

#[test]
fn newer_version_waits_behind_a_lost_attempt_and_a_hold() {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0"));
    plant.silence("a");
    plant.pass(60);
    hold(&mut plant, HoldScope::Site, "inventory");
    plant.deploy(&hello("1.1.0"));
    assert_snapshot!(on(&plant, "a"), @r#"hello on a was installing 1.0.0 when contact was lost and has waited 0 s to install 1.1.0 (UNKNOWN for 45 s): the result of attempt 1 is unknown, node a is offline, last contact 60 s ago; also, ana put the site on hold 0 s ago ("inventory"). Next, in 9 min: the attempt counts as failed unless the node is back before. To do (device owner): bring node a back."#);
}

#[test]
fn time_of_the_attempt_is_up() {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0"));
    plant.now.mono = plant.now.mono.after(std::time::Duration::from_secs(600));
    plant.now.wall = plant.now.wall.after(std::time::Duration::from_secs(600));
    assert_snapshot!(on(&plant, "a"), @"hello on a is installing 1.0.0 (INSTALLING for 10 min): attempt 1 is in progress on node a. Next, now: it counts as failed unless node a reports success before.");
}
