//! The capabilities of this device: detected, with the operator's labels.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Context;
use serde_json::{Value, json};

use colony_core::margo::capability::{Cpu, Properties};
use colony_core::margo::{Capabilities, Cores, Quantity};
use colony_runtime::{EngineInfo, Facts, Runtime};

use crate::{Config, Identity};

pub(crate) async fn detect(
    config: &Config,
    identity: &Identity,
    runtime: &Runtime,
) -> anyhow::Result<Capabilities> {
    let facts = runtime.facts().await;
    let mut own = Capabilities::new(properties(identity, &facts, runtime.profile_types())?);
    for (key, value) in engine_labels(runtime.engines()) {
        own.set_label(key, value);
    }
    own.set_label("os", json!(facts.os));
    own.set_label("colony", json!(env!("CARGO_PKG_VERSION")));
    for (key, value) in &config.labels {
        own.set_label(key, json!(value));
    }
    Ok(own)
}

/// A selector matches a label that is a list by each of its values. The
/// versions are in the order of the engines.
fn engine_labels<'a>(engines: impl Iterator<Item = &'a EngineInfo>) -> Vec<(&'static str, Value)> {
    let (kinds, versions): (Vec<&str>, Vec<&str>) =
        engines.map(|it| (it.kind.name(), it.version.as_str())).unzip();
    let label = |values: &[&str]| match values {
        [one] => json!(one),
        several => json!(several),
    };
    match kinds.is_empty() {
        true => Vec::new(),
        false => vec![("engine", label(&kinds)), ("engine-version", label(&versions))],
    }
}

fn properties(
    identity: &Identity,
    facts: &Facts,
    profile_types: BTreeSet<&str>,
) -> anyhow::Result<Properties> {
    let serial = text("/etc/machine-id");
    let (vendor, model) = (dmi("sys_vendor"), dmi("product_name"));
    let mut properties = Properties::non_hosting(identity.device()?, &vendor, &model, &serial);
    let cores = Cores::new(facts.cpus).context("the engine names no number of processors")?;
    let architecture = architecture(&facts.architecture).map(str::to_owned);
    properties.cpus = vec![Cpu { cores, architecture }];
    properties.memory = quantity(facts.memory_bytes);
    properties.storage = quantity(facts.storage_bytes);
    properties.otel_collector = Some(false);
    properties.supported_runtimes = vec!["oci".to_owned()];
    properties.supported_deployment_types = profile_types.into_iter().map(str::to_owned).collect();
    Ok(properties)
}

/// In whole Mi, so that a small difference is not a change.
fn quantity(bytes: u64) -> Option<Quantity> {
    let mebibyte = 1024 * 1024;
    (bytes >= mebibyte).then(|| Quantity::from_bytes(bytes / mebibyte * mebibyte))
}

/// The Margo name of the architecture, if there is one.
fn architecture(machine: &str) -> Option<&'static str> {
    match machine {
        "x86_64" | "amd64" => Some("amd64"),
        "aarch64" | "arm64" => Some("arm64"),
        "arm" | "armv6l" | "armv7l" => Some("arm"),
        _ => None,
    }
}

fn dmi(name: &str) -> String {
    text(&format!("/sys/class/dmi/id/{name}"))
}

fn text(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let text: String = text.trim().chars().take(100).collect();
    if text.is_empty() { "unknown".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use colony_runtime::EngineKind;

    use super::*;

    #[test]
    fn every_engine_is_named() {
        check(&[], &[]);
        let one = [("engine", json!("docker")), ("engine-version", json!("20.10"))];
        check(&[(EngineKind::Docker, "20.10")], &one);
        let both = [
            ("engine", json!(["podman", "kubernetes"])),
            ("engine-version", json!(["4.3", "1.20"])),
        ];
        check(&[(EngineKind::Podman, "4.3"), (EngineKind::Kubernetes, "1.20")], &both);
    }

    #[track_caller]
    fn check(engines: &[(EngineKind, &str)], expected: &[(&str, Value)]) {
        let info = |(kind, version): &(EngineKind, &str)| EngineInfo {
            kind: *kind,
            version: (*version).to_owned(),
            address: String::new(),
        };
        let engines: Vec<EngineInfo> = engines.iter().map(info).collect();
        assert_eq!(engine_labels(engines.iter()), expected);
    }
}
