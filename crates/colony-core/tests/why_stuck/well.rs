//! What is as wanted, or about to be.

use super::*;

#[test]
fn nothing_is_in_the_way_any_more() {
    let mut plant = failing("disk-full", "");
    plant.now.mono = plant.now.mono.after(std::time::Duration::from_secs(60));
    plant.now.wall = plant.now.wall.after(std::time::Duration::from_secs(60));
    assert_snapshot!(on(&plant, "a"), @"hello on a failed to install 1.0.0 (FAILED for 60 s): nothing blocks it; also, the last try failed: the device has too little free disk (disk-full in web: it went wrong). Next: it is tried again at once.");
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
