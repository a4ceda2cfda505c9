//! What changes a fingerprint and what does not.

use colony_margo::DeviceId;

use crate::node::Plan;
use crate::node::tests::kit::script::{document, id_of};

#[test]
fn fingerprint_is_blind_to_what_does_not_reach_the_containers() {
    check(&["web@1"], &["web@1", "attempt=7"], true);
    check(&["web@1"], &["web@1/nowait"], true);
    check(&["web@1"], &["web@1/1m0s"], true);
    check(&["web@1"], &["web@1", "hall=north"], true);
    check(&["web@1"], &["web@1", "db@1"], true);
    check(&["web@1", "db@1"], &["web@1", "db@2"], true);
}

#[test]
fn fingerprint_sees_artifact_and_parameters() {
    check(&["web@1"], &["web@2"], false);
    check(&["web@1"], &["web@1", "type=helm"], false);
    check(&["web@1"], &["web@1", "setting=x"], false);
    check(&["web@1", "setting=x"], &["web@1", "setting=y"], false);
}

/// Compares the fingerprints of the first components of two documents.
#[track_caller]
fn check(one: &[&str], other: &[&str], equal: bool) {
    let node: DeviceId = "press-1".parse().expect("an id");
    let first = |words: &[&str]| {
        let plan = Plan::read(&id_of("a"), &node, document(&id_of("a"), words).as_bytes());
        plan.expect("a plan").parts[0].fingerprint
    };
    assert_eq!(first(one) == first(other), equal);
}
