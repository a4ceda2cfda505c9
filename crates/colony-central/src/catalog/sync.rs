//! Reads one registry into the catalog: when it is added, on request, and
//! periodically.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use colony_core::margo::{Finding, Severity};
use colony_core::time::Timestamp;
use colony_git::registry::{Packages, packages};
use colony_git::{FetchLimits, Remote};
use colony_store::{CentralStore, Registry};
use serde_json::{Value, json};

use super::package::{self, Broken, file_of};
use super::registries::{Registries, is_folder, is_recent};
use super::withdrawn;
use crate::clock;

/// The registry that comes with the binary.
pub(crate) const BUILTIN: &str = "builtin";

pub(super) const FINDINGS: &str = "registry-findings/";
pub(super) const BRANCH: &str = "registry-branch/";

/// Puts the application that comes with the binary into the catalog.
pub(crate) async fn add_builtin(store: &CentralStore, at: Timestamp) -> anyhow::Result<()> {
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

impl Registries {
    /// Reads one registry; an error is stored in the registry and returned with
    /// it.
    ///
    /// With `asked`, on request of an operator, the result is stored in any
    /// case.
    pub(crate) async fn sync(
        &self,
        mut registry: Registry,
        asked: bool,
    ) -> Result<Registry, colony_store::Error> {
        if registry.name == BUILTIN {
            return Ok(registry);
        }
        let _turn = self.turn(&registry.name).await;
        let (store, now, folder) = (self.brain.store(), clock::wall(), is_folder(&registry));
        let branch = branch(store, &registry.name).await?;
        if !folder {
            self.mark(&registry.name, Some(now)).await?;
        }
        match self.read(&registry.name, &registry.url, branch.as_deref()).await {
            Ok(found) => {
                let same = registry.revision.as_ref() == Some(&found.revision);
                if folder
                    && same
                    && !asked
                    && registry.last_error.is_none()
                    && is_recent(&registry, now)
                {
                    return Ok(registry);
                }
                registry.revision = Some(found.revision.clone());
                registry.last_error = None;
                self.take(&registry.name, found, now).await?;
            }
            Err(error) => registry.last_error = Some(error),
        }
        registry.last_sync = Some(now);
        if !store.registry_synced(&registry).await? {
            tracing::info!(registry = registry.name, "the registry was removed while it was read");
        }
        if !folder {
            self.mark(&registry.name, None).await?;
        }
        Ok(registry)
    }

    /// Reads the packages of a registry; the error contains no passwords.
    pub(super) async fn read(
        &self,
        name: &str,
        url: &str,
        branch: Option<&str>,
    ) -> Result<Packages, String> {
        let (dir, remote) = (folder(&self.data, name), Remote::new(url));
        let (branch, limits): (_, FetchLimits) = (branch.map(str::to_owned), self.limits);
        let read = move || packages(&dir, &remote, branch.as_deref(), limits);
        match tokio::task::spawn_blocking(read).await {
            Ok(read) => read.map_err(|it| crate::repo::error_text(&it)),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Updates the catalog to the packages of a registry.
    pub(super) async fn take(
        &self,
        registry: &str,
        found: Packages,
        now: Timestamp,
    ) -> Result<(), colony_store::Error> {
        let store = self.brain.store();
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
        let paths: BTreeSet<&str> = broken.iter().map(|it| it.path.as_str()).collect();
        withdrawn::take_out(self, registry, &versions, &paths).await?;
        colony_process::fail::hit(colony_process::fail::Point::CentralPackagesStored);
        Ok(())
    }
}

/// Where the copy of a registry is.
pub(super) fn folder(data: &Path, name: &str) -> PathBuf {
    data.join("registries").join(name)
}

/// The packages of a registry that could not be read at its last sync.
pub(crate) async fn broken(
    store: &CentralStore,
    registry: &str,
) -> Result<Vec<Broken>, colony_store::Error> {
    let kept = store.note_get(&format!("{FINDINGS}{registry}")).await?;
    Ok(kept.and_then(|it| serde_json::from_value(it).ok()).unwrap_or_default())
}

/// The branch of a registry, if one was given.
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
