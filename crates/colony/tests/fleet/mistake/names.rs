//! Unknown names: the answer says which there are, and nothing is written.

use crate::kit::Fleet;

#[test]
fn unknown_application() {
    check(&["deploy", "helo", "--yes"], "application `helo` is not in the catalog; there is hello");
}

#[test]
fn unknown_site() {
    let deploy = ["deploy", "hello", "--site", "mars", "--yes"];
    check(&deploy, "no site `mars`; there is home");
}

#[test]
fn unknown_version() {
    let deploy = ["deploy", "hello", "--version", "9.9", "--yes"];
    check(&deploy, "has no version `9.9`; there is 1.2-bad, 1.1, 1.0");
}

#[track_caller]
fn check(deploy: &[&str], sentence: &str) {
    let fleet = Fleet::small();
    let commit = fleet.json(["status"])["commit"].clone();

    fleet.type_in(deploy).ends(1).says(sentence);

    assert_eq!(fleet.json(["deployment", "list"]), serde_json::json!([]));
    assert_eq!(fleet.json(["status"])["commit"], commit);
    fleet.hello_installs();
}
