//! Situations in which something is stuck, and what is said about each.

use colony_core::attempt::Revisions;
use colony_core::event::HoldScope;
use colony_core::id::{NodeName, SiteName};
use colony_core::site::{
    Action, Commit, Content, File, Input, Seed, SeedDeployment, SeedNode, SeedPlacement,
};
use colony_core::why;
use colony_testkit::{App, Plant, blob, capabilities, deployment_id};
use insta::assert_snapshot;

#[test]
fn node_is_offline_at_the_first_install() {
    let mut plant = plant("a");
    plant.silence("a");
    plant.pass(40);
    plant.deploy(&hello("1.0.0"));
    plant.pass(180);
    assert_snapshot!(on(&plant, "a"), @"hello on a waits to install 1.0.0 (PENDING for 3 min): node a is offline, last heard 3 min ago. Next: 1.0.0 is installed as soon as node a is heard. To do (device owner): bring node a back.");
}

#[test]
fn node_is_offline_while_it_runs_what_is_wanted() {
    let mut plant = installed("a");
    plant.silence("a");
    plant.pass(3 * 3_600);
    assert_snapshot!(on(&plant, "a"), @"hello on a runs 1.0.0 (INSTALLED for 3 h): node a is offline, last heard 3 h ago. Next: node a runs it on its own and reports when it is back. To do (device owner): bring node a back.");
}

#[test]
fn node_is_offline_when_an_update_is_wanted() {
    let mut plant = installed("a");
    plant.silence("a");
    plant.pass(600);
    plant.deploy(&hello("2.0.0"));
    plant.pass(60);
    assert_snapshot!(on(&plant, "a"), @"hello on a runs 1.0.0 and has waited 60 s to update to 2.0.0 (INSTALLED for 11 min): node a is offline, last heard 11 min ago. Next: it is updated to 2.0.0 as soon as node a is heard. To do (device owner): bring node a back.");
}

#[test]
fn node_has_never_been_heard() {
    let mut plant = plant("");
    plant.must(Input::Joined(name("b")));
    plant.pass(90);
    assert_snapshot!(node(&plant, "b"), @"node b joined 90 s ago and has not been heard since. Next: it gets its deployments as soon as node b is heard. To do (device owner): start colony on node b and check its network.");
}

#[test]
fn node_is_heard_but_has_no_capabilities() {
    let mut plant = plant("");
    plant.must(Input::Joined(name("b")));
    plant.wake("b");
    plant.deploy(&hello("1.0.0"));
    assert_snapshot!(node(&plant, "b"), @"node b is heard but has not reported its capabilities. Next: it gets its deployments once it has said. To do (device owner): look at the logs of colony on node b.");
    assert_snapshot!(hello_whole(&plant), @"hello: no node fits: node b: has not reported its capabilities yet. Next: it is placed on the first node that fits. To do (device owner): look at the logs of colony on node b.");
}

#[test]
fn node_is_late() {
    let mut plant = installed("a");
    plant.silence("a");
    plant.pass(13);
    assert_snapshot!(node(&plant, "a"), @"node a is late, last heard 13 s ago. Next, in 2 s: it counts as offline unless it is heard before.");
}

#[test]
fn node_is_offline() {
    let mut plant = installed("a");
    plant.silence("a");
    plant.pass(7_200);
    assert_snapshot!(node(&plant, "a"), @"node a is offline, last heard 2 h ago. Next: it gets its deployments as soon as node a is heard. To do (device owner): bring node a back.");
}

#[test]
fn node_is_cordoned() {
    let mut plant = plant("a");
    plant.command(Action::Cordon { node: name("a") }).expect("cordoned");
    plant.deploy(&hello("1.0.0"));
    assert_snapshot!(node(&plant, "a"), @"node a is cordoned. Next: it keeps what it has and gets nothing new. To do (site engineer): uncordon node a.");
    assert_snapshot!(hello_whole(&plant), @"hello: no node fits: node a: would fit but is cordoned. Next: it is placed on the first node that fits. To do (site engineer): uncordon node a.");
}

#[test]
fn architecture_is_another_one() {
    let mut plant = plant("a b c");
    let arm = "capacityRequirements:\n  cpu: {cores: 1, architectures: [arm64]}";
    plant.deploy(&hello("1.0.0").needing(arm));
    assert_snapshot!(hello_whole(&plant), @"hello: no node fits: 3 nodes (a, b and c): needs architecture arm64, device has amd64. Next: it is placed on the first node that fits. To do (author of the file in Git): change what the file asks for, or add a node that fits.");
}

#[test]
fn label_has_another_value_or_is_missing() {
    let mut plant = plant("a");
    plant.join_with("b", "amd64", r#""zone":"south""#);
    plant.deploy(&hello("1.0.0").with("selector: {zone: north}"));
    assert_snapshot!(hello_whole(&plant), @"hello: no node fits: node a: needs label zone=north, device has no such label; node b: needs label zone=north, device has zone=south. Next: it is placed on the first node that fits. To do (author of the file in Git): change what the file asks for, or add a node that fits.");
}

#[test]
fn profile_type_is_not_supported() {
    let mut plant = plant("a");
    plant.deploy(&App { kind: "helm".to_owned(), ..hello("1.0.0") });
    assert_snapshot!(hello_whole(&plant), @"hello: no node fits: node a: needs profile type helm, device supports compose. Next: it is placed on the first node that fits. To do (author of the file in Git): change what the file asks for, or add a node that fits.");
}

#[test]
fn named_node_has_not_joined() {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0").on("press-7"));
    assert_snapshot!(hello_whole(&plant), @"hello: its file names node press-7, which has not joined this site. Next: it is placed when node press-7 joins. To do (author of the file in Git): name another node, or let node press-7 join.");
}

#[test]
fn site_has_no_nodes() {
    let mut plant = plant("");
    plant.deploy(&hello("1.0.0"));
    assert_snapshot!(hello_whole(&plant), @"hello: no node has joined this site. Next: deployments are placed when a node joins. To do (site engineer): invite a node and let it join this site.");
    assert_snapshot!(site(&plant), @"site home: no node has joined this site. Next: deployments are placed when a node joins. To do (site engineer): invite a node and let it join this site.");
}

#[test]
fn replicas_cannot_be_fulfilled() {
    let mut plant = plant("a b");
    plant.join_with("c", "arm64", "");
    let amd = "capacityRequirements:\n  cpu: {cores: 1, architectures: [amd64]}";
    plant.deploy(&hello("1.0.0").with("replicas: 3").needing(amd));
    plant.converge();
    assert_snapshot!(hello_whole(&plant), @"hello: 3 replicas are wanted, 2 placed (a and b); node c: needs architecture amd64, device has arm64. Next: the next one is placed on the first node that fits. To do (author of the file in Git): ask for fewer replicas, or add nodes that fit.");
}

#[test]
fn node_no_longer_meets_the_constraints() {
    let mut plant = plant("a");
    let amd = "capacityRequirements:\n  cpu: {cores: 1, architectures: [amd64]}";
    plant.deploy(&hello("1.0.0").needing(amd));
    plant.converge();
    let changed = capabilities("a", "arm64", "");
    plant.must(Input::Capabilities(name("a"), Box::new(changed)));
    assert_snapshot!(on(&plant, "a"), @"hello on a runs 1.0.0 (INSTALLED for 0 s): node a would not get it again: needs architecture amd64, device has arm64. Next: it keeps running there; nothing is evicted. To do (author of the file in Git): change what the file asks for, or choose another node.");
}

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
    assert_snapshot!(on(&plant, "a"), @r#"hello on a runs 1.0.0 and has waited 0 s to update to 2.0.0 (INSTALLED for 60 s): node a is offline, last heard 60 s ago; also, ana put the site on hold 60 s ago ("inventory"). Next: it is updated to 2.0.0 as soon as node a is heard and nothing else is in the way. To do (device owner): bring node a back."#);
}

#[test]
fn rollout_slot_is_taken() {
    let mut plant = installed("a b c");
    plant.deploy(&hello("2.0.0"));
    plant.pass(40);
    assert_snapshot!(on(&plant, "b"), @"hello on b runs 1.0.0 and has waited 40 s to update to 2.0.0 (INSTALLED for 40 s): 1 of 1 rollout slot is taken by a (UPDATING for 40 s). Next: it is updated to 2.0.0 when a is done.");
    assert_snapshot!(hello_whole(&plant), @r"
    hello on a is updating to 2.0.0 (UPDATING for 40 s): attempt 2 is under way on node a. Next, in 9 min: it counts as failed unless node a reports success before.
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
fn revision_is_quarantined() {
    let mut plant = installed("a b");
    plant.deploy(&hello("2.0.0"));
    plant.report("a", "hello", "failed:unhealthy");
    assert_snapshot!(on(&plant, "a"), @"hello on a is rolling back to 1.0.0 (ROLLINGBACK for 0 s): attempt 3 is under way on node a; also, 2.0.0 was quarantined at this site 0 s ago: on node a, the health check does not pass (unhealthy in web: it went wrong). Next, in 10 min: it counts as failed unless node a reports success before.");
    plant.converge();
    plant.pass(600);
    assert_snapshot!(on(&plant, "b"), @"hello on b runs 1.0.0 (INSTALLED for 10 min): 2.0.0 was quarantined at this site 10 min ago: on node a, the health check does not pass (unhealthy in web: it went wrong). Next: 1.0.0 stays until another version is committed or 2.0.0 is released. To do (operator): deploy a corrected version, or release 2.0.0.");
    assert_snapshot!(hello_whole(&plant), @"hello: 2.0.0 was quarantined at this site 10 min ago: on node a, the health check does not pass (unhealthy in web: it went wrong). Next: 1.0.0 stays until another version is committed or 2.0.0 is released. To do (operator): deploy a corrected version, or release 2.0.0.");
}

#[test]
fn operator_rolled_back() {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0"));
    plant.converge();
    let rollback = Action::Rollback { deployment: deployment_id("hello") };
    plant.command(rollback).expect("rolled back");
    plant.converge();
    plant.pass(120);
    assert_snapshot!(on(&plant, "a"), @"hello on a runs 1.0.0 (INSTALLED for 2 min): 2.0.0 was rolled back by an operator 2 min ago. Next: 1.0.0 stays until another version is committed or 2.0.0 is released. To do (operator): deploy a corrected version, or release 2.0.0.");
}

#[test]
fn first_install_is_quarantined() {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0").with("retry: {installs: 1}"));
    plant.report("a", "hello", "failed:exited");
    assert_snapshot!(on(&plant, "a"), @"hello on a is being removed because 1.0.0 failed and there is nothing to go back to (DELETING for 0 s): node a was told 0 s ago and has not confirmed. Next: it is gone when node a confirms.");
    plant.converge();
    plant.pass(240);
    assert_snapshot!(hello_whole(&plant), @"hello: 1.0.0 was quarantined at this site 4 min ago: on node a, a container ended (exited in web: it went wrong). Next: nothing runs until another version is committed or 1.0.0 is released. To do (operator): deploy a corrected version, or release 1.0.0.");
}

#[test]
fn revision_is_rejected_on_one_node() {
    let mut plant = plant("a b");
    let app = |version| hello(version).with("onFailure: rollback-node");
    plant.deploy(&app("1.0.0"));
    plant.converge();
    plant.deploy(&app("2.0.0"));
    plant.report("a", "hello", "failed:unhealthy");
    plant.converge();
    plant.pass(60);
    assert_snapshot!(hello_whole(&plant), @"hello on a runs 1.0.0 (INSTALLED for 60 s): 2.0.0 was given up on node a: the health check does not pass (unhealthy in web: it went wrong). Next: 1.0.0 stays until another version is committed or 2.0.0 is released. To do (operator): deploy a corrected version, or release 2.0.0.");
}

#[test]
fn first_install_is_rejected_on_one_node() {
    let mut plant = plant("a b");
    plant.deploy(&hello("1.0.0").with("onFailure: rollback-node\nretry: {installs: 1}"));
    plant.report("a", "hello", "failed:unhealthy");
    plant.converge();
    assert_snapshot!(hello_whole(&plant), @"hello: 1.0.0 was given up on node a: the health check does not pass (unhealthy in web: it went wrong). Next: nothing runs there until another version is committed or 1.0.0 is released. To do (operator): deploy a corrected version, or release 1.0.0.");
}

#[test]
fn registry_does_not_answer() {
    let mut plant = failing("registry-unavailable", "");
    plant.pass(1);
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 1 s): the registry answered with a server error or not at all (registry-unavailable in web: it went wrong). Next, in 3 s: try 2, and so on until it works. To do (site engineer): check the registry.");
}

#[test]
fn disk_is_full() {
    let plant = failing("disk-full", "");
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 0 s): the device has too little free disk (disk-full in web: it went wrong). Next, in 4 s: try 2, and so on until it works. To do (device owner): free disk space on the device.");
}

#[test]
fn image_is_missing() {
    let plant = failing("image-missing", "");
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 0 s): the image or archive does not exist (image-missing in web: it went wrong). Next, in 4 s: try 2 of 3. To do (application vendor): push it, or deploy another version.");
}

#[test]
fn compose_key_is_not_supported() {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0"));
    let message = "compose.yaml:7:5: services.web.privileged is not supported";
    plant.report("a", "hello", &format!("failed:unsupported-key|{message}"));
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 0 s): the compose file uses a key that is not supported (unsupported-key in web: compose.yaml:7:5: services.web.privileged is not supported). Next, in 4 s: try 2 of 3. To do (application vendor): remove the key or use another device.");
}

#[test]
fn devices_own_code_is_told_as_it_came() {
    let plant = failing("E4711", "");
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 0 s): the device reported a code of its own (E4711 in web: it went wrong). Next, in 4 s: try 2, and so on until it works. To do (device owner): look the code up in the device's manual.");
}

#[test]
fn tries_are_used_up() {
    let plant = failing("unhealthy", "onFailure: stop\nretry: {installs: 1}");
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 0 s): the health check does not pass (unhealthy in web: it went wrong); its only try is used up. Next: nothing until somebody retries it or deploys another version. To do (operator): look at the container's logs; then retry it, or deploy another version.");
}

#[test]
fn others_wait_because_the_rollout_stopped() {
    let mut plant = installed("a b c");
    plant.deploy(&hello("2.0.0").with("onFailure: stop"));
    plant.report("a", "hello", "failed:unhealthy");
    plant.pass(300);
    assert_snapshot!(on(&plant, "b"), @"hello on b runs 1.0.0 and has waited 5 min to update to 2.0.0 (INSTALLED for 5 min): the rollout of 2.0.0 stopped 5 min ago on node a: the health check does not pass (unhealthy in web: it went wrong). Next: nothing more is started until it is retried or another version is deployed. To do (operator): look at the container's logs; then retry it, or deploy another version.");
    assert_snapshot!(hello_whole(&plant), @r"
    hello: the rollout of 2.0.0 stopped 5 min ago on node a: the health check does not pass (unhealthy in web: it went wrong). Next: nothing more is started until it is retried or another version is deployed. To do (operator): look at the container's logs; then retry it, or deploy another version.
    hello on a failed to update to 2.0.0 (FAILED for 5 min): the health check does not pass (unhealthy in web: it went wrong); its only try is used up. Next: nothing until somebody retries it or deploys another version. To do (operator): look at the container's logs; then retry it, or deploy another version.
    ");
}

#[test]
fn failed_rollback_is_tried_again() {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0").with("retry: {installs: 1}"));
    plant.report("a", "hello", "failed:unhealthy");
    plant.report("a", "hello", "failed:exited");
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to roll back to 1.0.0 (FAILED for 0 s): a container ended (exited in web: it went wrong); also, 2.0.0 was quarantined at this site 0 s ago: on node a, the health check does not pass (unhealthy in web: it went wrong). Next, in 4 s: try 2, and so on until it works. To do (application vendor): look at the container's logs.");
}

#[test]
fn failed_try_waits_for_its_node() {
    let mut plant = failing("port-in-use", "");
    for _ in 0..4 {
        plant.pass(60);
        plant.report("a", "hello", "failed:port-in-use");
    }
    plant.silence("a");
    plant.pass(20);
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 20 s): node a is offline, last heard 20 s ago; also, a host port is taken by something else (port-in-use in web: it went wrong). Next: it is tried again as soon as node a is heard. To do (device owner): bring node a back.");
    plant.pass(120);
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 2 min): node a is offline, last heard 2 min ago; also, the last try failed: a host port is taken by something else (port-in-use in web: it went wrong). Next: it is tried again as soon as node a is heard. To do (device owner): bring node a back.");
}

#[test]
fn next_try_needs_a_slot() {
    let mut plant = installed("a b");
    plant.deploy(&hello("2.0.0"));
    plant.silence("a");
    plant.pass(620);
    plant.wake("a");
    plant.pass(1);
    assert_snapshot!(hello_whole(&plant), @r"
    hello on a failed to update to 2.0.0 (FAILED for 21 s): 1 of 1 rollout slot is taken by b (UPDATING for 21 s); also, the last try failed: the node went silent during the attempt (node-offline: the node did not come back). Next: it is tried again when b is done.
    hello on b is updating to 2.0.0 (UPDATING for 21 s): attempt 2 is under way on node b. Next, in 9 min: it counts as failed unless node b reports success before.
    ");
}

#[test]
fn newer_version_waits_behind_a_failure_and_a_hold() {
    let mut plant = failing("disk-full", "");
    hold(&mut plant, HoldScope::Site, "");
    plant.deploy(&hello("1.1.0"));
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 and has waited 0 s to install 1.1.0 (FAILED for 0 s): ana put the site on hold 0 s ago; also, the last try failed: the device has too little free disk (disk-full in web: it went wrong). Next: 1.1.0 is installed when the hold is released. To do (site engineer): release the hold.");
}

#[test]
fn health_was_lost_after_the_soak() {
    let mut plant = installed("a");
    plant.pass(120);
    plant.report("a", "hello", "failed:exited");
    assert_snapshot!(on(&plant, "a"), @"hello on a ran 1.0.0 until it lost its health (FAILED for 0 s): a container ended (exited in web: it went wrong), after it had proven itself. Next, in 4 s: it is started again. To do (application vendor): look at the container's logs.");
}

#[test]
fn attempt_is_under_way() {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0"));
    plant.pass(25);
    assert_snapshot!(on(&plant, "a"), @"hello on a is installing 1.0.0 (INSTALLING for 25 s): attempt 1 is under way on node a. Next, in 9 min: it counts as failed unless node a reports success before.");
}

#[test]
fn attempt_is_under_way_on_a_late_node() {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0"));
    plant.silence("a");
    plant.pass(13);
    assert_snapshot!(on(&plant, "a"), @"hello on a is installing 1.0.0 (INSTALLING for 13 s): attempt 1 is under way on node a; also, node a is late, last heard 13 s ago. Next, in 9 min: it counts as failed unless node a reports success before.");
}

#[test]
fn newer_revision_waits_behind_the_one_under_way() {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0"));
    hold(&mut plant, HoldScope::Site, "");
    plant.deploy(&hello("3.0.0"));
    assert_snapshot!(on(&plant, "a"), @"hello on a is updating to 2.0.0 and has waited 0 s to update to 3.0.0 (UPDATING for 0 s): ana put the site on hold 0 s ago; also, attempt 2 is under way on node a. Next: it is updated to 3.0.0 when the hold is released. To do (site engineer): release the hold.");
}

#[test]
fn node_was_lost_during_the_attempt() {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0"));
    plant.silence("a");
    plant.pass(90);
    assert_snapshot!(on(&plant, "a"), @"hello on a was updating to 2.0.0 when contact was lost (UNKNOWN for 75 s): how attempt 2 went is not known, node a is offline, last heard 90 s ago. Next, in 8 min: the attempt counts as failed unless the node is back before. To do (device owner): bring node a back.");
    plant.pass(3_600);
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to update to 2.0.0 (FAILED for 51 min): node a is offline, last heard 61 min ago. Next: it is tried again as soon as node a is heard. To do (device owner): bring node a back.");
}

#[test]
fn node_is_back_but_silent_about_the_attempt() {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0"));
    plant.silence("a");
    plant.pass(60);
    plant.wake("a");
    plant.pass(10);
    assert_snapshot!(on(&plant, "a"), @"hello on a was installing 1.0.0 when contact was lost (UNKNOWN for 55 s): node a is back but has said nothing of attempt 1. Next, in 20 s: a new attempt starts unless the node speaks of this one before.");
}

#[test]
fn removal_is_not_confirmed_yet() {
    let mut plant = installed("a");
    plant.undeploy("hello");
    plant.pass(20);
    assert_snapshot!(on(&plant, "a"), @"hello on a is being removed because its file is gone from Git (DELETING for 20 s): node a was told 20 s ago and has not confirmed. Next: it is gone when node a confirms.");
}

#[test]
fn removal_waits_for_an_offline_node() {
    let mut plant = installed("a");
    plant.silence("a");
    plant.pass(3_000);
    plant.undeploy("hello");
    plant.pass(600);
    assert_snapshot!(on(&plant, "a"), @"hello on a is being removed because its file is gone from Git (DELETING for 10 min): node a has to confirm but is offline, last heard 60 min ago. Next: it is removed as soon as node a is heard. To do (device owner): bring node a back; if it is gone for good, force the removal.");
}

#[test]
fn removal_failed() {
    let mut plant = installed("a");
    plant.undeploy("hello");
    plant.report("a", "hello", "failed:removal-failed");
    assert_snapshot!(on(&plant, "a"), @"hello on a could not be removed (FAILED for 0 s): the workload could not be removed (removal-failed in web: it went wrong). Next, in 4 s: the removal is tried again. To do (device owner): look at the engine on the device, or force the removal.");
}

#[test]
fn file_is_broken() {
    let mut plant = installed("a");
    let broken =
        hello("2.0.0").text(plant.site.name()).replace("deviceId: home/", "deviceId: away/");
    commit_text(&mut plant, "deployments/home/hello.yaml", &broken);
    assert_snapshot!(hello_whole(&plant), @"hello: a file in Git cannot be used and 1.0.0 stays in force: deployments/home/hello.yaml:5:13: metadata.deviceId: `away/*` names no node of this site; expected `home/*` or `home/<node>`. Next: the file is read again with the commit that corrects it. To do (author of the file in Git): commit a corrected file.");
    assert_snapshot!(site(&plant), @"site home: a file in Git cannot be used and 1.0.0 stays in force: deployments/home/hello.yaml:5:13: metadata.deviceId: `away/*` names no node of this site; expected `home/*` or `home/<node>`. Next: the file is read again with the commit that corrects it. To do (author of the file in Git): commit a corrected file.");
}

#[test]
fn file_was_broken_from_the_start() {
    let mut plant = plant("a");
    commit_text(&mut plant, "deployments/home/hello.yaml", "id: [\n");
    assert_snapshot!(hello_whole(&plant), @"hello: a file in Git cannot be used: deployments/home/hello.yaml:1:5: YAML cannot be read here: unclosed bracket '['; expected valid YAML. Next: the file is read again with the commit that corrects it. To do (author of the file in Git): commit a corrected file.");
}

#[test]
fn two_files_have_one_id() {
    let mut plant = installed("a");
    let twin = hello("1.0.0").text(plant.site.name());
    commit_text(&mut plant, "deployments/home/twin.yaml", &twin);
    assert_snapshot!(whole(&plant, "twin"), @"twin: a file in Git cannot be used: deployments/home/twin.yaml:1:1: the id 2cf24dba-5fb0-430e-86e8-3b2ac5b9e29e is that of deployment `hello`; expected an id of its own. Next: the file is read again with the commit that corrects it. To do (author of the file in Git): commit a corrected file.");
}

#[test]
fn mass_removal_is_held() {
    let mut plant = installed("a");
    for app in ["one", "two", "three"] {
        plant.deploy(&App::new(app, "1.0.0"));
    }
    plant.converge();
    let gone = ["one", "two", "three"].map(|it| File::gone(&format!("deployments/home/{it}.yaml")));
    plant.commit(gone.to_vec());
    assert_snapshot!(site(&plant), @"site home: the removal of 3 deployments at once (one, three and two), more than half, is held. Next: they keep running until the removal is released. To do (operator): release the removal, or put the files back.");
    assert_snapshot!(whole(&plant, "two"), @"two: the removal of 3 deployments at once (one, three and two), more than half, is held. Next: they keep running until the removal is released. To do (operator): release the removal, or put the files back.");
}

#[test]
fn rewritten_history_is_held() {
    let mut plant = installed("a");
    let revision = "9f".repeat(20).parse().expect("a commit");
    let commit = Commit { revision, base: None, rewritten: true, files: vec![] };
    let _ = plant.step(Input::Commit(commit));
    assert_snapshot!(site(&plant), @"site home: Git's history was rewritten; 9f9f9f9 waits to be accepted, 0000000 is in force. Next: nothing of 9f9f9f9 is taken until it is accepted. To do (operator): accept history 9f9f9f9 or restore the old one.");
    assert_snapshot!(whole(&plant, "newcomer"), @"site home: Git's history was rewritten; 9f9f9f9 waits to be accepted, 0000000 is in force. Next: nothing of 9f9f9f9 is taken until it is accepted. To do (operator): accept history 9f9f9f9 or restore the old one.");
}

#[test]
fn orchestrator_is_fenced() {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0"));
    plant.must(Input::Fenced { by: 3 });
    assert_snapshot!(site(&plant), @"site home: this orchestrator was replaced by incarnation 3 and changes nothing. Next: nodes follow the orchestrator that replaced it. To do (site engineer): stop this orchestrator, or let it join again.");
    assert_snapshot!(on(&plant, "a"), @"hello on a is updating to 2.0.0 (UPDATING for 0 s): this orchestrator was replaced by incarnation 3 and changes nothing. Next: nodes follow the orchestrator that replaced it. To do (site engineer): stop this orchestrator, or let it join again.");
}

#[test]
fn orchestrator_has_not_been_seeded() {
    let plant = Plant::unseeded(1);
    assert_snapshot!(site(&plant), @"site home: the central orchestrator has not told yet what runs here. Next: nodes are served once their state and Git are read. To do (site engineer): check the line to the central orchestrator.");
    assert_snapshot!(hello_whole(&plant), @"site home: the central orchestrator has not told yet what runs here. Next: nodes are served once their state and Git are read. To do (site engineer): check the line to the central orchestrator.");
}

#[test]
fn git_has_not_been_read() {
    let mut plant = Plant::unseeded(1);
    plant.must(Input::Seed(Box::default()));
    assert_snapshot!(site(&plant), @"site home: Git has not been read yet. Next: nodes are served once Git is read. To do (site engineer): check the line to the Git repository.");
}

#[test]
fn orchestrator_takes_a_site_over() {
    let mut plant = taken_over("UPDATING");
    assert_snapshot!(on(&plant, "a"), @"hello on a was updating to 1.0.0 when contact was lost (UNKNOWN for 0 s): Git has not been read yet. Next: nodes are served once Git is read. To do (site engineer): check the line to the Git repository.");
    plant.commit(vec![hello("1.0.0").file(plant.site.name())]);
    assert_snapshot!(on(&plant, "a"), @"hello on a was updating to 1.0.0 when contact was lost (UNKNOWN for 0 s): how attempt 4 went is not known, node a has not been heard by this orchestrator yet. Next, in 10 min: the attempt counts as failed unless the node is back before. To do (device owner): bring node a back.");
}

#[test]
fn failure_of_the_orchestrator_before_is_tried_again() {
    let mut plant = taken_over("FAILED(install)");
    plant.commit(vec![hello("1.0.0").file(plant.site.name())]);
    plant.wake("a");
    plant.pass(60);
    assert_snapshot!(on(&plant, "a"), @"hello on a is installing 1.0.0 (INSTALLING for 60 s): attempt 5 is under way on node a. Next, in 9 min: it counts as failed unless node a reports success before.");
}

#[test]
fn removal_of_the_orchestrator_before_waits_for_the_node() {
    let mut plant = taken_over("DELETING");
    plant.commit(vec![]);
    plant.pass(60);
    assert_snapshot!(on(&plant, "a"), @"hello on a is being removed because its file is gone from Git (DELETING for 60 s): node a has to confirm but has not been heard by this orchestrator yet. Next: it is removed as soon as node a is heard. To do (device owner): bring node a back; if it is gone for good, force the removal.");
}

#[test]
fn unplaced_node_is_left() {
    let mut plant = installed("a b");
    plant.deploy(&hello("1.0.0").on("b"));
    assert_snapshot!(on(&plant, "a"), @"hello on a is being removed because its file no longer chooses this node (DELETING for 0 s): node a was told 0 s ago and has not confirmed. Next: it is gone when node a confirms.");
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
    hello on a is rolling back to 1.0.0 (ROLLINGBACK for 10 s): attempt 3 is under way on node a; also, 2.0.0 was rolled back by an operator 10 s ago. Next, in 9 min: it counts as failed unless node a reports success before.
    hello on b and c runs 2.0.0 and has waited 10 s to roll back to 1.0.0 (INSTALLED for 10 s): 1 of 1 rollout slot is taken by a (ROLLINGBACK for 10 s); also, 2.0.0 was rolled back by an operator 10 s ago. Next: it is rolled back to 1.0.0 when a is done.
    ");
}

#[test]
fn nothing_is_in_the_way_any_more() {
    let mut plant = failing("disk-full", "");
    plant.now.mono = plant.now.mono.after(std::time::Duration::from_secs(60));
    plant.now.wall = plant.now.wall.after(std::time::Duration::from_secs(60));
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 60 s): nothing is in its way any more; also, the last try failed: the device has too little free disk (disk-full in web: it went wrong). Next: it is tried again at once.");
}

#[test]
fn versions_that_read_the_same_are_told_apart() {
    let mut plant = installed("a b");
    let text = hello("1.0.0").text(plant.site.name());
    let text = text.replace("namespace: default", "namespace: other");
    commit_text(&mut plant, "deployments/home/hello.yaml", &text);
    assert_snapshot!(on(&plant, "b"), @"hello on b runs 1.0.0 (58d8809f2082) and has waited 0 s to update to 1.0.0 (828270c9c195) (INSTALLED for 0 s): 1 of 1 rollout slot is taken by a (UPDATING for 0 s). Next: it is updated to 1.0.0 (828270c9c195) when a is done.");
}

#[test]
fn what_runs_as_wanted_needs_no_answer() {
    let plant = installed("a b");
    assert_eq!(on(&plant, "a"), "");
    assert_eq!(hello_whole(&plant), "");
    assert_eq!(node(&plant, "a"), "");
    assert_eq!(site(&plant), "");
}

fn hello(version: &str) -> App {
    App::new("hello", version)
}

fn plant(nodes: &str) -> Plant {
    let mut plant = Plant::new();
    for node in nodes.split_whitespace() {
        plant.join(node);
    }
    plant
}

/// A plant on whose nodes hello 1.0.0 runs.
fn installed(nodes: &str) -> Plant {
    let mut plant = plant(nodes);
    plant.deploy(&hello("1.0.0"));
    plant.converge();
    plant
}

/// The first install of hello on node a has just failed with `code`.
fn failing(code: &str, settings: &str) -> Plant {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0").with(settings));
    plant.report("a", "hello", &format!("failed:{code}"));
    plant
}

/// A new orchestrator that was told of hello 1.0.0 on node a in `state`.
fn taken_over(state: &str) -> Plant {
    let mut plant = Plant::unseeded(1);
    let text = hello("1.0.0").text(plant.site.name());
    let Content::Deployment(document) = hello("1.0.0").file(plant.site.name()).content else {
        panic!("a deployment");
    };
    let revision = document.revision.clone();
    let deployment = SeedDeployment {
        id: deployment_id("hello"),
        name: Plant::name("hello"),
        wanted: revision.clone(),
        good: None,
        withdrawn: false,
        quarantine: vec![],
        rejected: Default::default(),
        stopped: None,
        texts: vec![(blob(&text), text)],
    };
    let placement = SeedPlacement {
        id: plant.placement("a", "hello"),
        state: state.parse().expect("a state"),
        attempt: 4,
        revisions: Revisions { target: Some(revision), last_good: None },
        failure: None,
    };
    let seed = Seed {
        nodes: vec![SeedNode { name: name("a"), cordoned: false, capabilities: None }],
        deployments: vec![deployment],
        placements: vec![placement],
        ..Seed::default()
    };
    plant.must(Input::Seed(Box::new(seed)));
    plant
}

fn hold(plant: &mut Plant, scope: HoldScope, note: &str) {
    plant.command(Action::Hold { scope, note: note.to_owned() }).expect("held");
}

fn commit_text(plant: &mut Plant, path: &str, text: &str) {
    let home: SiteName = "home".parse().expect("a name");
    plant.commit(vec![File::read(&home, path, &blob(text), text.as_bytes())]);
}

fn name(node: &str) -> NodeName {
    node.parse().expect("a name")
}

/// Why hello on `node` is not as wanted.
fn on(plant: &Plant, node: &str) -> String {
    let id = plant.placement(node, "hello");
    lines(why::placement(&plant.site, &id, plant.now))
}

fn hello_whole(plant: &Plant) -> String {
    whole(plant, "hello")
}

fn whole(plant: &Plant, deployment: &str) -> String {
    lines(why::deployment(&plant.site, &Plant::name(deployment), plant.now))
}

fn node(plant: &Plant, node: &str) -> String {
    lines(why::node(&plant.site, &name(node), plant.now))
}

fn site(plant: &Plant) -> String {
    lines(why::site(&plant.site, plant.now))
}

fn lines(all: impl IntoIterator<Item = why::Why>) -> String {
    all.into_iter().map(|it| it.to_string()).collect::<Vec<_>>().join("\n")
}
