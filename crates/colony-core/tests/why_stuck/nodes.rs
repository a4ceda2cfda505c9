//! Nodes that are away, late or unknown.

use super::*;

#[test]
fn node_is_offline_at_the_first_install() {
    let mut plant = plant("a");
    plant.silence("a");
    plant.pass(40);
    plant.deploy(&hello("1.0.0"));
    plant.pass(180);
    assert_snapshot!(on(&plant, "a"), @"hello on a waits to install 1.0.0 (PENDING for 3 min): node a is offline, last contact 3 min ago. Next: 1.0.0 is installed as soon as node a connects. To do (device owner): bring node a back.");
}

#[test]
fn node_is_offline_while_it_runs_what_is_wanted() {
    let mut plant = installed("a");
    plant.silence("a");
    plant.pass(3 * 3_600);
    assert_snapshot!(on(&plant, "a"), @"hello on a runs 1.0.0 (INSTALLED for 3 h): node a is offline, last contact 3 h ago. Next: node a runs it on its own and reports when it is back. To do (device owner): bring node a back.");
}

#[test]
fn node_is_offline_when_an_update_is_wanted() {
    let mut plant = installed("a");
    plant.silence("a");
    plant.pass(600);
    plant.deploy(&hello("2.0.0"));
    plant.pass(60);
    assert_snapshot!(on(&plant, "a"), @"hello on a runs 1.0.0 and has waited 60 s to update to 2.0.0 (INSTALLED for 11 min): node a is offline, last contact 11 min ago. Next: it is updated to 2.0.0 as soon as node a connects. To do (device owner): bring node a back.");
}

#[test]
fn node_has_never_been_heard() {
    let mut plant = plant("");
    plant.must(Input::Joined(name("b")));
    plant.pass(90);
    assert_snapshot!(node(&plant, "b"), @"node b joined 90 s ago and has not connected since. Next: it gets its deployments as soon as node b connects. To do (device owner): start colony on node b and check its network.");
}

#[test]
fn node_is_heard_but_has_no_capabilities() {
    let mut plant = plant("");
    plant.must(Input::Joined(name("b")));
    plant.wake("b");
    plant.deploy(&hello("1.0.0"));
    assert_snapshot!(node(&plant, "b"), @"node b is connected but has not reported its capabilities. Next: it gets its deployments once it has reported them. To do (device owner): look at the logs of colony on node b.");
    assert_snapshot!(hello_whole(&plant), @"hello: no node fits: node b: has not reported its capabilities yet. Next: it is placed on the first node that fits. To do (device owner): look at the logs of colony on node b.");
}

#[test]
fn node_is_late() {
    let mut plant = installed("a");
    plant.silence("a");
    plant.pass(13);
    assert_snapshot!(node(&plant, "a"), @"node a is late, last contact 13 s ago. Next, in 2 s: it counts as offline unless it sends a request before.");
}

#[test]
fn node_is_offline() {
    let mut plant = installed("a");
    plant.silence("a");
    plant.pass(7_200);
    assert_snapshot!(node(&plant, "a"), @"node a is offline, last contact 2 h ago. Next: it reports its state as soon as node a connects. To do (device owner): bring node a back.");
    plant.deploy(&hello("2.0.0"));
    assert_snapshot!(node(&plant, "a"), @"node a is offline, last contact 2 h ago. Next: what waits for it goes on as soon as node a connects. To do (device owner): bring node a back.");
}

#[test]
fn node_is_cordoned() {
    let mut plant = plant("a");
    plant.command(Action::Cordon { node: name("a") }).expect("cordoned");
    plant.deploy(&hello("1.0.0"));
    assert_snapshot!(node(&plant, "a"), @"node a is cordoned. Next: it keeps what it has and gets nothing new. To do (site engineer): uncordon node a.");
    assert_snapshot!(hello_whole(&plant), @"hello: no node fits: node a: would fit but is cordoned. Next: it is placed on the first node that fits. To do (site engineer): uncordon node a.");
}
