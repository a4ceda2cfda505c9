//! The capabilities of this device: detected, with the operator's labels.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Context;
use serde_json::json;

use colony_core::margo::capability::{Cpu, Properties};
use colony_core::margo::{Capabilities, Cores, Quantity};
use colony_runtime::{Facts, Runtime};

use crate::{Config, Identity};

pub(crate) async fn detect(
    config: &Config,
    identity: &Identity,
    runtime: &Runtime,
) -> anyhow::Result<Capabilities> {
    let facts = runtime.facts().await;
    let mut own = Capabilities::new(properties(identity, &facts, runtime.profile_types())?);
    if let Some(engine) = runtime.engines().next() {
        own.set_label("engine", json!(engine.kind.name()));
        own.set_label("engine-version", json!(engine.version));
    }
    own.set_label("os", json!(facts.os));
    own.set_label("colony", json!(env!("CARGO_PKG_VERSION")));
    for (key, value) in &config.labels {
        own.set_label(key, json!(value));
    }
    Ok(own)
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
