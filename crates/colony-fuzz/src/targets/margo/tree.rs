//! YAML, JSON, and the canonical form.

use colony_core::margo::yaml::{self, Limits, Node, Value};
use colony_core::margo::{Json, canonical as jcs};

use crate::{Outcome, hold};

const SMALL: Limits = Limits { bytes: 8 << 10, depth: 12, nodes: 300, aliases: 5, scalar: 1 << 10 };

pub(super) fn yaml(input: &[u8]) -> Outcome {
    let _ = within(input, &SMALL);
    match within(input, &Limits::default()) {
        Err(outcome) => outcome,
        Ok(node) => {
            let json = node.to_json();
            hold::yaml(&json);
            hold::canonical(&json);
            Outcome::document(&json)
        }
    }
}

/// Reads within limits and checks that they were kept.
fn within(input: &[u8], limits: &Limits) -> Result<Node, Outcome> {
    match yaml::parse(input, limits) {
        Err(found) => {
            hold::refusal(input, &found);
            Err(Outcome::found(&found))
        }
        Ok(node) => {
            let (nodes, height) = measure(&node, limits);
            assert!(input.len() <= limits.bytes && nodes <= limits.nodes && height <= limits.depth);
            Ok(node)
        }
    }
}

/// Nodes and levels; keys and scalars are checked on the way.
fn measure(node: &Node, limits: &Limits) -> (usize, usize) {
    let below: Vec<(usize, usize)> = match &node.value {
        Value::Null => return (1, 0),
        Value::Scalar { text, .. } => {
            assert!(text.len() <= limits.scalar, "a scalar of {} bytes", text.len());
            return (1, 0);
        }
        Value::Seq(items) => items.iter().map(|it| measure(it, limits)).collect(),
        Value::Map(entries) => entries.iter().map(|it| measure(&it.1, limits)).collect(),
    };
    let nodes: usize = below.iter().map(|it| it.0).sum();
    (1 + nodes, 1 + below.iter().map(|it| it.1).max().unwrap_or(0))
}

pub(super) fn json(input: &[u8]) -> Outcome {
    let _ = yaml::parse_json(input, &SMALL);
    let read = yaml::parse_json(input, &Limits::default());
    let other: Result<Json, _> = serde_json::from_slice(input);
    match read {
        Err(found) => {
            hold::refusal(input, &found);
            Outcome::found(&found)
        }
        Ok(node) => {
            let json = node.to_json();
            let other = other.unwrap_or_else(|it| panic!("no JSON to others: {it}"));
            // Both take the nearest double for what a double cannot hold.
            assert_eq!(jcs::to_vec(&json), jcs::to_vec(&other), "JSON means something else here");
            assert_eq!(Node::from_json(&json).to_json(), json, "a tree of JSON is not that JSON");
            Outcome::document(&json)
        }
    }
}

pub(super) fn canonical(input: &[u8]) -> Outcome {
    let json: Json = match serde_json::from_slice(input) {
        Ok(json) => json,
        Err(error) => return Outcome::refused(error.classify() as u8),
    };
    let bytes = hold::canonical(&json);
    assert!(!bytes.iter().any(|it| *it < 0x20), "canonical JSON has a control character");
    hold::yaml(&json);
    Outcome::document(&json)
}
