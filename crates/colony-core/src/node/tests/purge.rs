//! Removing a deployment with its volumes.

use crate::node::tests::check;

const INSTALLED: &str = "deploy a web@1; run 9";

#[test]
fn volumes_go_only_if_the_manifest_says_so() {
    check(&format!("{INSTALLED}; undeploy a; run 1"), "a: removing, remove a, a: removed");
    check(&format!("{INSTALLED}; purge a; run 1"), "a: removing, purge a, a: removed");
}

#[test]
fn purge_of_one_deployment_leaves_the_volumes_of_another() {
    check(
        "also a web@1; deploy b web@1; run 9; undeploy b; purge a; run 1",
        "a: removing, b: removing, purge a, a: removed, remove b, b: removed",
    );
}

#[test]
fn purge_survives_a_crash_and_is_repeated_until_it_succeeds() {
    let failed = format!("{INSTALLED}; removal off; purge a; work");
    check(&failed.replace("work", "run 0"), "a: removing, purge a, a: failed removal-failed pumps");
    let rebooted = failed.replace("work", "run 0; reboot; removal on; run 9");
    check(&rebooted, "purge a, a: removed");
}

/// The removal had already begun, or was even reported.
#[test]
fn purge_that_comes_after_the_removal_is_done_as_well() {
    check(
        &format!("{INSTALLED}; undeploy a; run 1; purge a; run 1"),
        "a: removing, purge a, a: removed",
    );
    let unacked =
        format!("{INSTALLED}; manager off; undeploy a; run 1; purge a; manager on; run 1");
    check(&unacked, "a: removing, purge a, a: removed");
    let begun = format!("{INSTALLED}; actions off; undeploy a; run 1; purge a; actions on; run 1");
    check(&begun, "remove a, purge a, a: removed");
}

#[test]
fn purge_that_is_done_is_not_repeated_by_the_next_manifest() {
    check(
        &format!("{INSTALLED}; manager off; purge a; run 1; deploy b web@1; run 0"),
        "pull web@1, start web@1",
    );
}

/// The node lost its disk: it may still have the volumes.
#[test]
fn node_without_a_record_of_the_deployment_purges_it() {
    check("purge a; run 1", "a: removing, purge a, a: removed");
}

#[test]
fn deployment_that_is_listed_again_starts_after_the_purge_that_had_begun() {
    let again =
        format!("{INSTALLED}; actions off; purge a; run 1; deploy a web@1; actions on; run 9");
    check(&again, "a: installing, purge a, pull web@1, start web@1, a: installed");
}

#[test]
fn images_go_only_if_the_manifest_says_so() {
    let removed = "a: removing, remove a and its images, a: removed";
    check(&format!("{INSTALLED}; discard a; run 1"), removed);
    check("discard a; run 1", "");
}
