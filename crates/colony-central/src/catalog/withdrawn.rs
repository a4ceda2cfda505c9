//! Versions that their registry no longer holds.
//!
//! They leave the catalog, so that they get no new deployments. A version that
//! Git still deploys can still be found by its number: its deployments can be
//! changed, and other sites can follow. A package that is present but broken
//! withdraws nothing.

use std::collections::{BTreeMap, BTreeSet};

use colony_git::Deployments;
use colony_store::CentralStore;
use serde_json::json;

use super::registries::Registries;

const WITHDRAWN: &str = "registry-withdrawn/";

/// Application and version.
pub(super) type Key = (String, String);

/// The versions that are kept only because they are deployed.
pub(super) async fn kept_versions(
    store: &CentralStore,
) -> Result<BTreeSet<Key>, colony_store::Error> {
    let notes = store.notes(WITHDRAWN).await?;
    let read = |it: serde_json::Value| serde_json::from_value::<Vec<Key>>(it).unwrap_or_default();
    Ok(notes.into_iter().flat_map(|it| read(it.1)).collect())
}

/// Withdraws the versions that a registry no longer holds: it holds `present`,
/// and broken packages in the folders `broken`.
pub(super) async fn take_out(
    registries: &Registries,
    registry: &str,
    present: &BTreeMap<Key, String>,
    broken: &BTreeSet<&str>,
) -> Result<(), colony_store::Error> {
    let store = registries.brain.store();
    let mut gone = Vec::new();
    for head in store.package_list().await?.into_iter().filter(|it| it.registry == registry) {
        let key = (head.application, head.version);
        if present.contains_key(&key) {
            continue;
        }
        let stored = store.package(&key.0, &key.1).await?;
        if stored.is_some_and(|it| !broken.contains(it.path.as_str())) {
            gone.push(key);
        }
    }
    let mut kept = Vec::new();
    if !gone.is_empty() {
        let deployed = deployed(registries).await;
        for key in gone {
            // If Git cannot be read, the version may be deployed.
            if deployed.as_ref().is_none_or(|it| it.contains(&key)) {
                kept.push(key);
            } else {
                store.package_remove(registry, &key.0, &key.1).await?;
            }
        }
    }
    store.note_put(&format!("{WITHDRAWN}{registry}"), &json!(kept)).await
}

/// The versions that the head of the branch deploys; `None` if it cannot be
/// read.
async fn deployed(registries: &Registries) -> Option<BTreeSet<Key>> {
    let files = |git: &Deployments| git.list("deployments");
    let files = registries.repo.call("list the deployments", files).await.ok()?;
    let blobs = files.into_iter().map(|it| it.1).collect();
    let facts = registries.repo.facts(blobs).await.ok()?;
    Some(facts.values().map(|it| (it.application.clone(), it.version.clone())).collect())
}
