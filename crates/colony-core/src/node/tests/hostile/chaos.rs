//! Inputs that no correct shell would send: nothing panics, and the invariants
//! hold.

use std::collections::BTreeMap;

use colony_margo::{Digest, ManifestVersion, StateManifest};
use proptest::prelude::*;

use crate::attempt::Failure;
use crate::code::Code;
use crate::node::tests::kit::script::{document, id_of};
use crate::node::tests::kit::world::{capabilities, fresh};
use crate::node::{
    Action, Container, Health, Input, Key, Node, Prepared, Row, Status, Step, fingerprint, staged,
};
use crate::time::{Monotonic, Now, Timestamp};

/// What an input is made from.
type Seed = (u8, u8, u8, u64);

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_said_the_promises_hold(seeds in prop::collection::vec(any::<Seed>(), 0..60)) {
        let mut node = fresh([]);
        let mut disk = BTreeMap::new();
        let mut begun = Vec::new();
        for seed in seeds {
            let (before, numbers) = (node.version(), node.meta.report);
            let now = Now { mono: Monotonic(seed.3 >> 8), wall: Timestamp(seed.3), entropy: seed.3 };
            let step = node.step(input(seed, &begun), now);
            prop_assert!(before <= node.version(), "versions never go back");
            prop_assert!(numbers <= node.meta.report, "nor do report numbers");
            prop_assert!(removes_nothing_early(&node, &step));
            store(&node, &step, &mut disk);
            begun.extend(step.actions);
            let rows = disk.values().map(|it: &String| serde_json::from_str(it).expect("a row"));
            let restored = fresh(rows.collect::<Vec<Row>>());
            prop_assert_eq!(records(&restored), records(&node));
            prop_assert_eq!(restored.reports(), node.reports());
        }
    }
}

fn removes_nothing_early(node: &Node, step: &Step) -> bool {
    node.version().is_some() || step.actions.is_empty()
}

fn store(node: &Node, step: &Step, disk: &mut BTreeMap<Key, String>) {
    for key in &step.changed {
        match node.row(key) {
            Some(row) => {
                disk.insert(key.clone(), serde_json::to_string(&row).expect("rows are JSON"));
            }
            None => _ = disk.remove(key),
        }
    }
}

fn records(node: &Node) -> Vec<Row> {
    let keys = node.deployments.keys().cloned().map(Key::Deployment);
    keys.filter_map(|it| node.row(&it)).collect()
}

fn input(seed: Seed, begun: &[Action]) -> Input {
    let (kind, a, b, number) = seed;
    let deployment = id_of(["a", "b", "c"][usize::from(a % 3)]);
    match kind % 9 {
        8 => Input::ReportsRequested(vec![deployment]),
        0 => Input::Tick,
        1 => Input::Capabilities(Box::new(capabilities())),
        2 | 3 => manifest(a, b, number),
        4 => Input::Acked { deployment, report: number },
        5 => {
            let containers = (0..b % 6).map(|it| container(a.wrapping_mul(it), b.wrapping_add(it)));
            Input::Observed { taken: Monotonic(number >> 8), containers: containers.collect() }
        }
        _ => {
            let chosen = begun.get(usize::from(a).min(begun.len().saturating_sub(1))).cloned();
            let action =
                chosen.unwrap_or(Action::Remove { deployment, purge: false, images: false });
            let services = ["main", "side"].into_iter().take(usize::from(b % 3));
            let prepared =
                Prepared { services: services.map(str::to_owned).collect(), ..Prepared::default() };
            let failed = Failure::new(Code::ALL[usize::from(b) % Code::ALL.len()].clone(), "no");
            Input::Done {
                action,
                result: if b.is_multiple_of(4) { Err(failed) } else { Ok(prepared) },
            }
        }
    }
}

/// A manifest of some of the deployments; sometimes one that is refused.
fn manifest(a: u8, b: u8, number: u64) -> Input {
    let listed = ["a", "b"].into_iter().filter(|it| it.as_bytes()[0] & a != 0x61 || a > 99);
    let documents: Vec<_> = listed.map(|it| (id_of(it), text(it, b))).collect();
    let version = ManifestVersion::new(number % 64 + 1).expect("a version");
    let mut bytes = StateManifest::new(version, &documents).0.to_bytes();
    bytes.truncate(if b == 7 { 20 } else { usize::MAX });
    let taken = documents.into_iter().take(if b == 8 { 0 } else { 9 });
    let documents = taken.map(|(_, it)| (Digest::of(&it), it)).collect();
    Input::Manifest { bytes, etag: None, documents }
}

fn text(name: &str, b: u8) -> Vec<u8> {
    match b % 5 {
        0 => b"\xff\xfe".to_vec(),
        1 => document(&id_of(name), &["web@1", "db@1/nowait"]).into_bytes(),
        2 => document(&id_of(name), &["db@1"]).into_bytes(),
        _ => document(&id_of(name), &["web@2/0m1s"]).into_bytes(),
    }
}

fn container(a: u8, b: u8) -> Container {
    let deployment = id_of(["a", "b", "x"][usize::from(a % 3)]);
    let parsed =
        colony_margo::ApplicationDeployment::parse(&text("a", 1)).expect("a document").value;
    let part = &parsed.spec.profile.components[usize::from(b % 2)];
    let made_from =
        if b.is_multiple_of(7) { Digest::of(b"else") } else { fingerprint(&parsed, part) };
    let beside = a.is_multiple_of(5);
    Container {
        deployment,
        component: part.name.clone(),
        fingerprint: if beside { staged(made_from) } else { made_from },
        staged: beside,
        service: ["main", "side"][usize::from(a % 2)].to_owned(),
        run: b.to_string(),
        status: [
            Status::Running,
            Status::Starting,
            Status::Stopped,
            Status::Exited { code: 1 },
            Status::Dead,
        ][usize::from(b % 4)],
        health: [
            Health::None,
            Health::Healthy,
            Health::Unhealthy { code: Code::Unhealthy, detail: String::new() },
        ][usize::from(a % 3)]
        .clone(),
        log: Vec::new(),
    }
}
