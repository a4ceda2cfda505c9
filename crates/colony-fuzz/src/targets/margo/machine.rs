//! What machines send: manifests, reports, capabilities, problems.

use std::fmt::Debug;

use colony_core::margo::{
    Capabilities, DeploymentStatus, Finding, Json, Parsed, Problem, StateManifest, canonical,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Outcome, hold};

pub(super) fn manifest(input: &[u8]) -> Outcome {
    let read = match StateManifest::parse(input) {
        Ok(read) => read,
        Err(error) => return Outcome::refused(error),
    };
    let bytes = read.to_bytes();
    let printed = String::from_utf8_lossy(&bytes);
    let again = StateManifest::parse(&bytes);
    let again = again.unwrap_or_else(|it| panic!("we write what we refuse: {it}\n{printed}"));
    hold::same(&again, &read, &printed);
    assert_eq!(again.etag(), read.etag());
    assert_eq!(read.bundle.is_none(), read.deployments.is_empty(), "bundle and list disagree");
    let version = read.manifest_version;
    assert!(version.get() >= 1 && version.get() < 1 << 53);
    assert!(version.next().map_or(true, |it| it > version), "versions rise");
    Outcome::document(&serde_json::to_value(&read).expect("a manifest is JSON"))
}

pub(super) fn status(input: &[u8]) -> Outcome {
    match sent(input, DeploymentStatus::parse) {
        Err(outcome) => outcome,
        Ok((status, outcome)) => {
            let log = status.colony.and_then(|it| it.log).unwrap_or_default();
            assert!(log.len() <= 200 && status.components.len() <= 1_000);
            assert!(status.deployment_id.len() <= 256);
            outcome
        }
    }
}

pub(super) fn capabilities(input: &[u8]) -> Outcome {
    match sent(input, Capabilities::parse) {
        Ok((_, outcome)) | Err(outcome) => outcome,
    }
}

/// Read, sent on, and read again.
fn sent<T: Serialize + DeserializeOwned + PartialEq + Debug>(
    input: &[u8],
    parse: impl Fn(&[u8]) -> Result<Parsed<T>, Vec<Finding>>,
) -> Result<(T, Outcome), Outcome> {
    let read = parse(input).map_err(|found| {
        hold::refusal(input, &found);
        Outcome::found(&found)
    })?;
    hold::findings(input, &read.warnings);
    let json: Json = serde_json::to_value(&read.value).expect("it is JSON");
    let text = json.to_string();
    let again = parse(text.as_bytes());
    let again = again.unwrap_or_else(|it| panic!("we send what we refuse: {it:?}\n{text}"));
    hold::same(&again.value, &read.value, &text);
    hold::canonical(&json);
    Ok((read.value, Outcome::document(&json)))
}

pub(super) fn problem(input: &[u8]) -> Outcome {
    let problem: Problem = match serde_json::from_slice(input) {
        Ok(problem) => problem,
        Err(error) => return Outcome::refused(error),
    };
    let json = serde_json::to_value(&problem).expect("a problem is JSON");
    let again: Problem = serde_json::from_value(json.clone()).expect("our problem is read");
    hold::same(&again, &problem, &json.to_string());
    if let Some(kind) = problem.problem_type() {
        assert_eq!(kind.uri(), problem.kind);
    }
    let _ = (problem.may_retry(), canonical::to_vec(&json));
    Outcome::document(&json)
}
