//! How much a node accepts, and how it recognizes a manifest.

use colony_margo::{DeploymentId, DeviceId, ManifestVersion, StateManifest};

use crate::node::tests::check;
use crate::node::tests::kit::script::{document, id_of};
use crate::node::tests::kit::world::World;
use crate::node::{COMPONENT_LIMIT, DEPLOYMENT_LIMIT, Plan};

#[test]
fn manifest_lists_so_many_deployments() {
    for (count, expected) in [(DEPLOYMENT_LIMIT, true), (DEPLOYMENT_LIMIT + 1, false)] {
        let id = |it: usize| DeploymentId::from_bytes((it as u128 + 1).to_be_bytes());
        let documents: Vec<_> = (0..count).map(|it| (id(it), it.to_string().into())).collect();
        let (manifest, _) = StateManifest::new(version(1), &documents);
        let taken = World::new().node.check(&manifest.to_bytes(), None);
        assert_eq!(taken.is_ok(), expected, "{count}: {:?}", taken.err());
    }
}

#[test]
fn deployment_has_so_many_components() {
    let node: DeviceId = "press-1".parse().expect("an id");
    for (count, expected) in [(COMPONENT_LIMIT, true), (COMPONENT_LIMIT + 1, false)] {
        let words: Vec<String> = (0..count).map(|it| format!("web{it}@1")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let plan = Plan::read(&id_of("a"), &node, document(&id_of("a"), &words).as_bytes());
        assert_eq!(plan.is_ok(), expected, "{count}: {:?}", plan.err());
    }
}

#[test]
fn document_that_cannot_be_read_says_where() {
    let node: DeviceId = "press-1".parse().expect("an id");
    let failure = Plan::read(&id_of("a"), &node, b"id: 7\n").expect_err("not a document");
    assert!(failure.message.contains("metadata"), "{}", failure.message);
}

#[test]
fn manifest_is_known_again_by_its_etag_or_its_bytes() {
    let mut world = World::new();
    world.desired.insert(id_of("a"), document(&id_of("a"), &["web@1"]).into_bytes());
    world.publish();
    world.poll();
    let stored = world.node.etag().map(ToOwned::to_owned);
    let (other, _) = StateManifest::new(version(1), &[]);
    let said = |etag: Option<&str>, bytes: &[u8]| {
        world.node.check(bytes, etag).map_or("refused", |it| it.map_or("known", |_| "new"))
    };
    assert_eq!(said(None, &world.manifest), "known");
    assert_eq!(said(Some("\"x\""), &world.manifest), "known");
    assert_eq!(said(stored.as_deref(), &other.to_bytes()), "known");
    assert_eq!(said(Some("\"x\""), &other.to_bytes()), "refused");
    assert_eq!(said(None, &other.to_bytes()), "refused");
}

#[test]
fn manifest_that_says_the_same_of_a_deployment_starts_nothing_over() {
    check(
        "web@1 is exiting; deploy a web@1; run 9; deploy b db@1; run 9",
        "b: installing, pull db@1, start db@1, b: installed",
    );
}

fn version(number: u64) -> ManifestVersion {
    ManifestVersion::new(number).expect("a version")
}
