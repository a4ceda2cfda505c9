//! Reads registries into the catalog: when one is added, asked for, and now
//! and then.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use colony_core::time::Wall;
use colony_git::Remote;
use colony_git::registry::{Packages, packages};
use colony_margo::{Finding, Severity};
use colony_store::{CentralStore, Registry};
use colony_task::Reconcile;
use serde_json::{Value, json};

use super::package::{self, Broken, file_of};
use crate::brain::Brain;
use crate::clock;

/// The registry that comes with the binary.
pub(crate) const BUILTIN: &str = "builtin";

/// How often every registry is read again.
const PERIOD: Duration = Duration::from_secs(300);
pub(super) const FINDINGS: &str = "registry-findings/";
pub(super) const BRANCH: &str = "registry-branch/";

/// Reads every registry now and then.
#[derive(Debug)]
pub(crate) struct Sync {
    pub brain: Arc<Brain>,
    pub data: PathBuf,
}

impl Reconcile for Sync {
    const NAME: &'static str = "catalog-sync";

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        let store = self.brain.store();
        for registry in store.registry_list().await? {
            // One broken registry must not hold up the others.
            let synced = sync(store, &self.data, registry).await?;
            if let Some(error) = &synced.last_error {
                tracing::warn!(registry = synced.name, "could not read the registry: {error}");
            }
        }
        Ok(PERIOD)
    }
}

/// Puts the application that comes with the binary into the catalog.
pub(crate) async fn add_builtin(store: &CentralStore, at: Wall) -> anyhow::Result<()> {
    let registry = Registry {
        name: BUILTIN.to_owned(),
        url: "builtin:".to_owned(),
        at,
        last_sync: Some(at),
        last_error: None,
        revision: Some(env!("CARGO_PKG_VERSION").to_owned()),
    };
    store.registry_put(&registry).await?;
    for (version, text) in colony_builtin::packages() {
        let package = package::read(BUILTIN, &format!("hello/{version}"), text.as_bytes(), at);
        let package = package.map_err(|it| anyhow::anyhow!("{BUILTIN} {version}: {it:?}"))?;
        store.package_put(&package).await?;
    }
    Ok(())
}

/// Reads one registry; whatever went wrong is in the answer and is kept.
pub(crate) async fn sync(
    store: &CentralStore,
    data: &Path,
    mut registry: Registry,
) -> Result<Registry, colony_store::Error> {
    if registry.name == BUILTIN {
        return Ok(registry);
    }
    let now = clock::wall();
    let branch = branch(store, &registry.name).await?;
    match read(data, &registry.name, &registry.url, branch.as_deref()).await {
        Ok(found) => {
            registry.revision = Some(found.revision.clone());
            registry.last_error = None;
            take(store, &registry.name, found, now).await?;
        }
        Err(error) => registry.last_error = Some(error),
    }
    registry.last_sync = Some(now);
    if !store.registry_synced(&registry).await? {
        tracing::info!(registry = registry.name, "the registry was removed while it was read");
    }
    Ok(registry)
}

/// Reads what a registry holds; an error is told without its passwords.
pub(super) async fn read(
    data: &Path,
    name: &str,
    url: &str,
    branch: Option<&str>,
) -> Result<Packages, String> {
    let (dir, remote) = (folder(data, name), Remote::new(url));
    let branch = branch.map(str::to_owned);
    let read = move || packages(&dir, &remote, branch.as_deref());
    match tokio::task::spawn_blocking(read).await {
        Ok(read) => read.map_err(|it| crate::repo::said(&it)),
        Err(error) => Err(error.to_string()),
    }
}

/// Where the copy of a registry is.
pub(super) fn folder(data: &Path, name: &str) -> PathBuf {
    data.join("registries").join(name)
}

pub(super) async fn take(
    store: &CentralStore,
    registry: &str,
    found: Packages,
    now: Wall,
) -> Result<(), colony_store::Error> {
    let mut broken: Vec<Broken> = found.skipped.iter().map(|it| too_large(it)).collect();
    let mut versions: BTreeMap<(String, String), String> = BTreeMap::new();
    for file in &found.packages {
        match package::read(registry, &file.path, &file.text, now) {
            Err(it) => broken.push(*it),
            Ok(package) => {
                let key = (package.application.clone(), package.version.clone());
                match versions.insert(key, package.path.clone()) {
                    Some(first) => broken.push(twice(&package, &first)),
                    None => drop(store.package_put(&package).await?),
                }
            }
        }
    }
    store.note_put(&format!("{FINDINGS}{registry}"), &json!(broken)).await?;
    colony_fail::hit(colony_fail::Point::CentralPackagesStored);
    Ok(())
}

/// The packages of a registry that could not be read at its last sync.
pub(crate) async fn broken(
    store: &CentralStore,
    registry: &str,
) -> Result<Vec<Broken>, colony_store::Error> {
    let kept = store.note_get(&format!("{FINDINGS}{registry}")).await?;
    Ok(kept.and_then(|it| serde_json::from_value(it).ok()).unwrap_or_default())
}

/// The branch of a registry, if somebody named one.
pub(crate) async fn branch(
    store: &CentralStore,
    registry: &str,
) -> Result<Option<String>, colony_store::Error> {
    let kept = store.note_get(&format!("{BRANCH}{registry}")).await?;
    Ok(kept.as_ref().and_then(Value::as_str).map(str::to_owned))
}

fn too_large(file: &str) -> Broken {
    let finding = finding(file, "is too large to be read", "at most 1 MiB");
    let path = file.strip_suffix("/margo.yaml").unwrap_or(file).to_owned();
    Broken { path, application: None, findings: vec![finding] }
}

fn twice(package: &colony_store::Package, first: &str) -> Broken {
    let problem = format!("is version {} again, like {}", package.version, file_of(first));
    let finding = finding(&file_of(&package.path), &problem, "another `metadata.version`");
    let application = Some(package.application.clone());
    Broken { path: package.path.clone(), application, findings: vec![finding] }
}

fn finding(file: &str, problem: &str, expected: &str) -> Finding {
    Finding {
        file: Some(file.to_owned()),
        line: 0,
        column: 0,
        path: String::new(),
        severity: Severity::Error,
        problem: problem.to_owned(),
        expected: expected.to_owned(),
    }
}
