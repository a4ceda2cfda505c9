//! What people write: descriptions and deployments.

use colony_core::margo::description::Order;
use colony_core::margo::{
    ApplicationDeployment, ApplicationDescription, Extensions, Finding, Json, Parsed,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::{Outcome, hold};

pub(super) fn description(input: &[u8]) -> Outcome {
    let parse = ApplicationDescription::parse;
    let (document, outcome) = match written(input, parse, ApplicationDescription::to_yaml) {
        Ok(it) => it,
        Err(outcome) => return outcome,
    };
    for profile in &document.profiles {
        deploy(&document, &profile.id);
    }
    outcome
}

/// What a description makes is a deployment that can be read.
fn deploy(description: &ApplicationDescription, profile: &str) {
    let order = Order {
        id: "0c2f9b1e-6d5a-4a51-9f0e-7d3a2b1c4d5e".parse().expect("an id"),
        name: "fuzz".to_owned(),
        namespace: "default".to_owned(),
        device_id: "home/*".parse().expect("a target"),
        labels: BTreeMap::new(),
        profile: profile.to_owned(),
        values: BTreeMap::new(),
        extensions: Extensions::new(),
    };
    if let Ok(made) = description.deploy(&order) {
        let text = made.to_yaml();
        let read = ApplicationDeployment::parse(text.as_bytes());
        let read = read.unwrap_or_else(|it| panic!("we make what we refuse: {it:?}\n{text}"));
        hold::same(&read.value, &made, &text);
    }
}

pub(super) fn deployment(input: &[u8]) -> Outcome {
    let parse = ApplicationDeployment::parse;
    match written(input, parse, ApplicationDeployment::to_yaml) {
        Ok((_, outcome)) | Err(outcome) => outcome,
    }
}

/// Read, written, read again; through YAML and through JSON.
fn written<T: Serialize + DeserializeOwned + PartialEq + Debug>(
    input: &[u8],
    parse: impl Fn(&[u8]) -> Result<Parsed<T>, Vec<Finding>>,
    print: impl Fn(&T) -> String,
) -> Result<(T, Outcome), Outcome> {
    let read = parse(input).map_err(|found| {
        hold::refusal(input, &found);
        Outcome::found(&found)
    })?;
    hold::findings(input, &read.warnings);
    let value = read.value;
    let text = print(&value);
    let again = parse(text.as_bytes());
    let again = again.unwrap_or_else(|it| panic!("we write what we refuse: {it:?}\n{text}"));
    hold::same(&again.value, &value, &text);
    assert_eq!(print(&again.value), text, "written twice, it differs");
    let json: Json = serde_json::to_value(&value).expect("a document is JSON");
    hold::canonical(&json);
    // Rules keep a plain scalar as YAML types it, so their JSON may be stricter.
    if let Ok(again) = serde_json::from_value::<T>(json.clone()) {
        hold::same(&again, &value, &text);
    }
    Ok((value, Outcome::document(&json)))
}
