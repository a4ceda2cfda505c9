//! Which manifests are accepted, and what a bad document causes.

use std::collections::BTreeMap;

use colony_margo::{DeploymentId, Digest, ManifestVersion, StateManifest};

use crate::node::Input;
use crate::node::tests::check;
use crate::node::tests::kit::script::{document, id_of};
use crate::node::tests::kit::world::World;

#[test]
fn lower_version_is_refused() {
    offer(5, &["a"], "manifest has version 5, but 7 was accepted already");
    offer(7, &["a", "b"], "manifest has version 7, but 7 was accepted already");
}

#[test]
fn rejections_that_say_the_same_are_equal() {
    let rejected = |number: u64| {
        let (manifest, _) = StateManifest::new(version(number), &[]);
        accepted().node.check(&manifest.to_bytes(), None).expect_err("it is too low")
    };
    assert_eq!(rejected(5), rejected(5));
    assert_ne!(rejected(5), rejected(6));
}

#[test]
fn same_manifest_twice_is_nothing_new() {
    offer(7, &["a"], "known");
}

#[test]
fn documents_that_are_held_are_not_fetched_again() {
    offer(8, &["a", "b"], "fetch b");
    offer(8, &["a"], "fetch ");
    offer(8, &[], "fetch ");
}

#[test]
fn wrong_or_missing_document_keeps_the_state_before() {
    let mut world = accepted();
    let (id, good) = (id_of("b"), document(&id_of("b"), &["web@1"]).into_bytes());
    let digest = Digest::of(&good);
    let (manifest, _) = StateManifest::new(version(8), &[(id, good)]);
    let cases = [
        (BTreeMap::new(), "is missing"),
        (BTreeMap::from([(digest, b"other".to_vec())]), "the manifest says"),
    ];
    for (documents, expected) in cases {
        let input = Input::Manifest { bytes: manifest.to_bytes(), etag: None, documents };
        let step = world.node.step(input, world.now);
        let rejection = step.rejection.expect("a rejection").to_string();
        assert!(rejection.contains(expected), "{rejection}");
        assert!(step.changed.is_empty() && step.actions.is_empty());
        assert_eq!(world.node.version(), Some(version(7)));
        assert_eq!(world.node.wanted().keys().collect::<Vec<_>>(), [&id_of("a")]);
    }
}

#[test]
fn etag_that_is_not_the_digest_is_only_told() {
    let world = accepted();
    let (manifest, _) = StateManifest::new(version(8), &[]);
    let bytes = manifest.to_bytes();
    let differs = |etag: &str| world.node.check(&bytes, Some(etag)).unwrap().unwrap().etag_differs;
    assert!(differs("\"abc\""));
    assert!(!differs(&format!("\"{}\"", manifest.etag())));
}

#[test]
fn bad_document_fails_alone() {
    check(
        "also b broken; deploy a web@1; run 9",
        "a: installing, b: failed invalid-config, pull web@1, start web@1, a: installed",
    );
    check("deploy b stolen; run 9", "b: failed invalid-config");
    check("deploy b web@1 type=custom; run 9", "b: failed not-eligible pumps");
    check("deploy b web@1 hall=south; run 9", "b: failed not-eligible pumps");
    check("deploy b web@1 device=press-2; run 9", "b: failed 101 pumps");
    check("deploy b web@1 device=plant/*; run 9", "b: failed 103 pumps");
}

#[test]
fn bad_document_leaves_what_runs() {
    check("deploy a web@1; run 9; deploy a broken; run 60", "a: failed invalid-config");
    check(
        "deploy a web@1; run 9; deploy a broken; run 9; deploy a web@1 attempt=2; run 9",
        "a: installed",
    );
}

/// Offers a manifest to a node that has accepted version 7 with deployment a.
#[track_caller]
fn offer(number: u64, names: &[&str], expected: &str) {
    let (manifest, _) = StateManifest::new(version(number), &documents(names));
    let said = match accepted().node.check(&manifest.to_bytes(), None) {
        Ok(None) => "known".to_owned(),
        Ok(Some(fetch)) => {
            let names = fetch.missing.keys().map(super::script::name_of).collect::<Vec<_>>();
            format!("fetch {}", names.join(" "))
        }
        Err(rejection) => rejection.to_string(),
    };
    assert_eq!(said, expected);
}

fn accepted() -> World {
    let mut world = World::new();
    world.version = 6;
    world.desired = documents(&["a"]).into_iter().collect();
    world.publish();
    world.poll();
    world
}

fn documents(names: &[&str]) -> Vec<(DeploymentId, Vec<u8>)> {
    let document = |it: &&str| (id_of(it), document(&id_of(it), &["web@1"]).into_bytes());
    names.iter().map(document).collect()
}

fn version(number: u64) -> ManifestVersion {
    ManifestVersion::new(number).expect("a version")
}
