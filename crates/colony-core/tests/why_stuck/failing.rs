//! Revisions and devices that fail.

use super::*;

#[test]
fn revision_is_quarantined() {
    let mut plant = installed("a b");
    plant.deploy(&hello("2.0.0"));
    plant.report("a", "hello", "failed:unhealthy");
    assert_snapshot!(on(&plant, "a"), @"hello on a is rolling back to 1.0.0 (ROLLINGBACK for 0 s): attempt 3 is in progress on node a; also, 2.0.0 was quarantined at this site 0 s ago: on node a, the health check does not pass (unhealthy in web: it went wrong). Next, in 10 min: it counts as failed unless node a reports success before.");
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
    assert_snapshot!(on(&plant, "a"), @"hello on a is being removed because 1.0.0 failed and there is nothing to go back to (DELETING for 0 s): node a received the removal 0 s ago and has not confirmed it. Next: it is gone when node a confirms.");
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
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 1 s): the registry answered with a server error or not at all (registry-unavailable in web: it went wrong). Next, in 4 s: try 2, and so on until it works. To do (site engineer): check the registry.");
}

#[test]
fn disk_is_full() {
    let plant = failing("disk-full", "");
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 0 s): the device has too little free disk (disk-full in web: it went wrong). Next, in 5 s: try 2, and so on until it works. To do (device owner): free disk space on the device.");
}

#[test]
fn image_is_missing() {
    let plant = failing("image-missing", "");
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 0 s): the image or archive does not exist (image-missing in web: it went wrong). Next, in 5 s: try 2 of 3. To do (application vendor): push it, or deploy another version.");
}

#[test]
fn compose_key_is_not_supported() {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0"));
    let message = "compose.yaml:7:5: services.web.privileged is not supported";
    plant.report("a", "hello", &format!("failed:unsupported-key|{message}"));
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 0 s): the compose file uses a key that is not supported (unsupported-key in web: compose.yaml:7:5: services.web.privileged is not supported). Next, in 5 s: try 2 of 3. To do (application vendor): remove the key or use another device.");
}

#[test]
fn devices_own_code_is_told_as_it_came() {
    let plant = failing("E4711", "");
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 0 s): the device reported a code of its own (E4711 in web: it went wrong). Next, in 5 s: try 2, and so on until it works. To do (device owner): look the code up in the device's manual.");
}

#[test]
fn tries_are_used_up() {
    let plant = failing("unhealthy", "onFailure: stop\nretry: {installs: 1}");
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 0 s): the health check does not pass (unhealthy in web: it went wrong); its only try is used up. Next: nothing until it is retried or another version is deployed. To do (operator): look at the container's logs; then retry it, or deploy another version.");
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
    hello on a failed to update to 2.0.0 (FAILED for 5 min): the health check does not pass (unhealthy in web: it went wrong); its only try is used up. Next: nothing until it is retried or another version is deployed. To do (operator): look at the container's logs; then retry it, or deploy another version.
    ");
}

#[test]
fn failed_rollback_is_tried_again() {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0").with("retry: {installs: 1}"));
    plant.report("a", "hello", "failed:unhealthy");
    plant.report("a", "hello", "failed:exited");
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to roll back to 1.0.0 (FAILED for 0 s): a container ended (exited in web: it went wrong); also, 2.0.0 was quarantined at this site 0 s ago: on node a, the health check does not pass (unhealthy in web: it went wrong). Next, in 5 s: try 2, and so on until it works. To do (application vendor): look at the container's logs.");
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
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 20 s): node a is offline, last contact 20 s ago; also, a host port is taken by something else (port-in-use in web: it went wrong). Next: it is tried again as soon as node a connects. To do (device owner): bring node a back.");
    plant.pass(120);
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 2 min): node a is offline, last contact 2 min ago; also, the last try failed: a host port is taken by something else (port-in-use in web: it went wrong). Next: it is tried again as soon as node a connects. To do (device owner): bring node a back.");
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
    hello on b is updating to 2.0.0 (UPDATING for 21 s): attempt 2 is in progress on node b. Next, in 9 min: it counts as failed unless node b reports success before.
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
fn silence_of_a_node_that_is_away_is_told_once() {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0"));
    plant.silence("a");
    plant.pass(601);
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to update to 2.0.0 (FAILED for 1 s): node a is offline, last contact 10 min ago. Next: it is tried again as soon as node a connects. To do (device owner): bring node a back.");
}

#[test]
fn rollout_is_stopped_though_the_failure_is_another_one() {
    let mut plant = installed("a b");
    plant.deploy(&hello("2.0.0").with("onFailure: stop"));
    plant.report("a", "hello", "failed:unhealthy");
    plant.report("a", "hello", "installed");
    plant.report("a", "hello", "failed:disk-full");
    assert!(on(&plant, "a").contains("the rollout of 2.0.0 stopped"), "{}", on(&plant, "a"));
    plant.pass(60);
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to update to 2.0.0 (FAILED for 60 s): the rollout of 2.0.0 stopped 60 s ago on node a: the health check does not pass (unhealthy in web: it went wrong). Next: nothing more is started until it is retried or another version is deployed. To do (operator): look at the container's logs; then retry it, or deploy another version.");
}

#[test]
fn version_that_was_rolled_back_is_named_after_git_was_reverted() {
    let mut plant = reverted();
    assert_snapshot!(hello_whole(&plant), @"hello: 2.0.0 was quarantined at this site 0 s ago: on node a, the image or archive does not exist (image-missing in web: it went wrong). Next: 1.0.0 stays until another version is deployed. To do (operator): deploy a corrected version; 2.0.0 can be deployed again once it is released.");
    plant.deploy(&hello("3.0.0"));
    plant.converge();
    assert_eq!(hello_whole(&plant), "");
}

#[test]
fn other_settings_of_what_was_gone_back_to_end_the_rollback() {
    let mut plant = reverted();
    plant.deploy(&hello("1.0.0").with("soak: 10s"));
    assert_eq!(hello_whole(&plant), "");
}

/// 2.0.0 failed, the site rolled back to 1.0.0, and Git holds 1.0.0 again.
fn reverted() -> Plant {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0"));
    plant.report("a", "hello", "failed:image-missing");
    plant.converge();
    plant.deploy(&hello("1.0.0"));
    plant.converge();
    plant
}
