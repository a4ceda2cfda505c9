//! Documents that were made to cost more than they are, and other inputs that
//! once broke a promise.

use colony_margo::yaml::{self, Limits};
use colony_margo::{ApplicationDeployment, Repository, StateManifest};

#[test]
fn anchors_inside_each_other_are_counted_as_the_copies_they_are() {
    let nested = format!("{}{}", "&a [".repeat(60), "x, ".repeat(90_000));
    check(&format!("{nested}x{}", "]".repeat(60)), "too many values");
}

#[test]
fn a_long_text_is_not_repeated_without_end() {
    let text = "x".repeat(200_000);
    check(&format!("a: &a {text}\nb: [{}*a]\n", "*a, ".repeat(50)), "repeats too much");
}

#[test]
fn a_long_key_does_not_make_every_place_below_it_long() {
    let key = "k".repeat(200_000);
    let items = "- {pointer: [], components: 7}\n      ".repeat(200);
    let text = format!("spec:\n  parameters:\n    ? {key}\n    : targets:\n      {items}\n");
    let found = ApplicationDeployment::parse(text.as_bytes()).expect_err("it is broken");
    assert!(found.len() > 50, "{}", found.len());
    let longest = found.iter().map(|it| it.to_string().len()).max();
    assert!(longest < Some(1_000), "{longest:?}");
}

#[test]
fn a_key_given_twice_is_shown_short() {
    let key = "k".repeat(900);
    check(&format!("{key}: 1\n{key}: 2\n"), "k… is given twice");
}

#[test]
fn a_size_that_json_cannot_hold_is_left_out() {
    let digest = format!("sha256:{}", "ab".repeat(32));
    let text = format!(
        r#"{{"manifestVersion":1,"bundle":{{"mediaType":"application/vnd.margo.bundle.v1+tar+gzip",
        "digest":"{digest}","sizeBytes":18446744073709551615,"url":"/b"}},"deployments":[{{
        "deploymentId":"2cf24dba-5fb0-4a30-826e-83b2ac5b9e29","digest":"{digest}",
        "sizeBytes":9007199254740993,"url":"/d"}}]}}"#
    );
    let manifest = StateManifest::parse(text.as_bytes()).expect("a manifest");
    let again = StateManifest::parse(&manifest.to_bytes()).expect("our own manifest");
    assert_eq!(again, manifest);
    assert_eq!(manifest.deployments[0].size_bytes, None);
}

#[test]
fn only_one_scheme_is_taken_off_a_repository() {
    let repository: Repository = "oci://oci://a".parse().expect("a repository");
    assert_eq!(repository.reference(), "oci://a");
}

#[test]
fn what_is_refused_as_json_says_the_error_not_a_warning_before_it() {
    let text = r#"{"a-stranger":1,"id":7}"#;
    let error = serde_json::from_str::<ApplicationDeployment>(text).expect_err("it is broken");
    assert!(!error.to_string().contains("warning"), "{error}");
}

#[track_caller]
fn check(text: &str, problem: &str) {
    let found = yaml::parse(text.as_bytes(), &Limits::default()).expect_err("it is refused");
    let printed = found[0].to_string().replace('`', "");
    assert!(printed.contains(problem) && printed.len() < 400, "{printed:.400}");
}
