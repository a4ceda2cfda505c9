//! What a node is sent: manifests and documents.

use std::collections::BTreeMap;

use colony_core::margo::{ApplicationDeployment, DeploymentId, DeviceId, Digest, StateManifest};
use colony_core::node::{Input, Node, Plan, Policy};
use colony_core::time::Now;

use crate::{Outcome, hold};

pub(super) fn plan(input: &[u8]) -> Outcome {
    let node: DeviceId = "a".parse().expect("a device");
    let id = match ApplicationDeployment::parse(input) {
        Ok(read) => read.value.id,
        Err(_) => DeploymentId::from_bytes([7; 16]),
    };
    match Plan::read(&id, &node, input) {
        Ok(plan) => {
            assert!(plan.parts.len() <= 64 && !plan.parts.is_empty());
            let text = plan.document.to_yaml();
            let again = Plan::read(&id, &node, text.as_bytes()).expect("written again it is read");
            hold::same(&again, &plan, &text);
            Outcome::document(&serde_json::to_value(&plan.document).expect("JSON"))
        }
        Err(failure) => {
            assert!(failure.message.len() <= 16 << 10, "{} bytes", failure.message.len());
            Outcome::refused(failure.message)
        }
    }
}

pub(super) fn manifest(input: &[u8]) -> Outcome {
    let id: DeviceId = "a".parse().expect("a device");
    let mut node = Node::restore(id.clone(), Policy::default(), []);
    let before = node.version();
    let checked = node.check(input, Some("\"x\""));
    let documents = BTreeMap::new();
    let now = Now::default();
    let taken = Input::Manifest { bytes: input.to_vec(), etag: None, documents };
    let _ = node.step(taken, now);
    match checked {
        Err(error) => {
            assert_eq!(node.version(), before, "a manifest that was refused was taken");
            Outcome::refused(error)
        }
        Ok(None) => panic!("a node without a manifest has this one"),
        Ok(Some(fetch)) => {
            let read = StateManifest::parse(input).expect("it was read");
            assert_eq!(read.deployments.len(), fetch.missing.len());
            let complete = fetch.missing.is_empty();
            assert_eq!(node.version(), complete.then_some(fetch.version), "whole or not at all");
            assert!(node.etag().is_none());
            let _ = Digest::of(input);
            Outcome::taken(format!("{complete} {}", fetch.bundle.is_some()))
        }
    }
}
