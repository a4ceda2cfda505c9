//! The workload digest: what a node would run, and nothing else.

use colony_core::document::{Document, workload};
use colony_margo::{ApplicationDeployment, Digest};
use colony_testkit::{App, blob};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const BASE: &str = r#"{
    "id": "0b9c6d1e-7a34-4c21-9f55-0d8e2b3a4c5d",
    "metadata": {"name": "hello", "namespace": "default", "deviceId": "home/*",
        "labels": {"team": "press"}},
    "spec": {
        "applicationId": "hello",
        "deploymentProfile": {
            "type": "compose",
            "components": [
                {"name": "web", "properties": {"repository": "oci://registry.test/hello",
                    "revision": "1.0.0", "wait": true, "timeout": "5m0s"}},
                {"name": "db", "properties": {"repository": "oci://registry.test/db",
                    "revision": "2.0.0"}}
            ],
            "deviceConstraints": {"capacityRequirements": {"cpu": {"cores": 2}, "memory": "1Gi"}}
        },
        "parameters": {
            "port": {"value": 8080, "targets": [{"pointer": "PORT", "components": ["web"]}]},
            "greeting": {"value": "hi", "targets": [{"pointer": "GREETING", "components": ["web"]}]},
            "loud": {"value": false, "targets": [{"pointer": "LOUD", "components": ["db"]}]}
        }
    }
}"#;

#[test]
fn policy_and_addressee_are_no_part_of_it() {
    let plain = digest_of(&App::new("hello", "1.0.0"));
    for app in [
        App::new("hello", "1.0.0").on("a"),
        App::new("hello", "1.0.0").with("onFailure: stop"),
        App::new("hello", "1.0.0").with("replicas: 2\nselector: {zone: north}").on("b"),
        App::new("hello", "1.0.0").with("strategy: {type: all-at-once}\nfollow: stable"),
    ] {
        assert_eq!(digest_of(&app), plain, "{app:?}");
    }
}

#[test]
fn every_other_value_is_part_of_it() {
    let base: Value = serde_json::from_str(BASE).expect("JSON");
    let before = digest(&base).expect("a valid document");
    let mut tried = 0;
    for place in places(&base, String::new()) {
        if place == "/metadata/deviceId" {
            continue;
        }
        for other in others(base.pointer(&place).expect("a place of it")) {
            let mut changed = base.clone();
            *changed.pointer_mut(&place).expect("a place of it") = other.clone();
            // An invalid document has no digest.
            let Some(after) = digest(&changed) else { continue };
            assert_ne!(after, before, "{place} as {other}");
            tried += 1;
        }
    }
    assert!(tried >= 20, "only {tried} changes were valid");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_order_of_keys_is_no_part_of_it(seed in any::<u64>()) {
        let base: Value = serde_json::from_str(BASE).expect("JSON");
        let mut seed = seed;
        let text = shuffled(&base, &mut seed);
        let parsed = ApplicationDeployment::parse(text.as_bytes()).expect("the same document");
        prop_assert_eq!(Some(workload(&parsed.value)), digest(&base));
    }
}

fn digest_of(app: &App) -> Digest {
    let site = "home".parse().expect("a name");
    let text = app.text(&site);
    let name = "hello".parse().expect("a name");
    let document = Document::parse(&site, &name, &blob(&text), text.as_bytes());
    document.expect("a valid document").revision.workload
}

fn digest(value: &Value) -> Option<Digest> {
    let parsed = ApplicationDeployment::parse(value.to_string().as_bytes()).ok()?;
    Some(workload(&parsed.value))
}

/// The pointers of all scalars.
fn places(value: &Value, path: String) -> Vec<String> {
    match value {
        Value::Object(entries) => {
            entries.iter().flat_map(|(key, it)| places(it, format!("{path}/{key}"))).collect()
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.flat_map(|(index, it)| places(it, format!("{path}/{index}"))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![path],
    }
}

/// Values like this one that might be valid in its place.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(it) => vec![json!(!it)],
        Value::Number(it) => vec![json!(it.as_f64().unwrap_or(0.0) + 1.0)],
        Value::String(it) => {
            let changed = [format!("{it}x"), format!("1{it}"), it.replace('5', "6")];
            let known = ["helm", "db", "web", "2Gi", "7m0s"].map(str::to_owned);
            changed.into_iter().chain(known).filter(|other| other != it).map(Value::from).collect()
        }
        Value::Null | Value::Array(_) | Value::Object(_) => vec![],
    }
}

/// The same value with the keys of every object in some other order.
fn shuffled(value: &Value, seed: &mut u64) -> String {
    match value {
        Value::Object(entries) => shuffled_object(entries, seed),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|it| shuffled(it, seed)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn shuffled_object(entries: &Map<String, Value>, seed: &mut u64) -> String {
    let mut ranked: Vec<(u64, String)> = Vec::new();
    for (key, value) in entries {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let rank = *seed >> 33;
        ranked.push((rank, format!("{}: {}", Value::from(key.as_str()), shuffled(value, seed))));
    }
    ranked.sort();
    let texts: Vec<String> = ranked.into_iter().map(|it| it.1).collect();
    format!("{{{}}}", texts.join(", "))
}
