//! Purges: the volumes of a deleted deployment are removed with it.
//!
//! The intent is a file in Git beside the deployments of the site, the *mark*:
//! `deployments/<site>/<id>.purge`. It names the deployment by its id, so it
//! says nothing about a later deployment of the same name. It takes effect
//! while the site removes the deployment, and is without effect while the
//! deployment is in Git. Only the path counts; the content is for people.
//!
//! Nodes get the intent in the manifest, as an extension: the ids of the
//! deployments whose volumes they must remove; and those whose images, which is
//! a setting of the deployment (`removeImage`). Devices of other vendors ignore
//! it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use colony_margo::StateManifest;

use crate::document::EXTENSION;
use crate::id::{DeploymentId, DeploymentName, SiteName};

const SUFFIX: &str = ".purge";
/// The keys below the manifest's extension.
const KEY: &str = "purge";
const IMAGES_KEY: &str = "removeImage";
/// The most ids that a manifest lists; the others follow as these are done.
pub(crate) const PURGE_LIMIT: usize = 1_000;

/// The path of the mark in Git.
pub fn mark_path(site: &SiteName, id: &DeploymentId) -> String {
    format!("deployments/{site}/{id}{SUFFIX}")
}

/// The deployment that a file of the site's folder marks.
pub fn marked(site: &SiteName, path: &str) -> Option<DeploymentId> {
    let name = path.strip_prefix("deployments/")?.strip_prefix(site.as_str())?;
    name.strip_prefix('/')?.strip_suffix(SUFFIX)?.parse().ok()
}

/// The content of a mark.
pub fn mark_text(name: &DeploymentName, id: &DeploymentId) -> String {
    format!(
        "# {name} was deleted with its volumes. Nodes that still have deployment {id}\n\
         # remove its volumes with it. This file may be deleted when none has it.\n"
    )
}

/// What a node removes with deployments, beside their containers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cleanup {
    /// Deployments whose volumes go.
    pub(crate) volumes: BTreeSet<DeploymentId>,
    /// Deployments whose images go at once.
    pub(crate) images: BTreeSet<DeploymentId>,
}

impl Cleanup {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Cleanup::default()
    }

    /// The manifest's extension.
    pub(crate) fn to_extension(&self) -> Map<String, Value> {
        let mut extension = Map::new();
        for (key, ids) in [(KEY, &self.volumes), (IMAGES_KEY, &self.images)] {
            if !ids.is_empty() {
                let ids = ids.iter().take(PURGE_LIMIT).map(DeploymentId::as_str);
                extension.insert(key.to_owned(), ids.collect());
            }
        }
        extension
    }

    /// What the receiver of a manifest must remove; an error says what is wrong
    /// with a list.
    pub(crate) fn of_manifest(manifest: &StateManifest) -> Result<Cleanup, String> {
        let own = manifest.extensions.get(EXTENSION);
        let list = |key: &str| {
            let found = own.and_then(|it| it.get(key));
            found.map_or(Ok(BTreeSet::new()), ids).map_err(|it| format!("`{key}`: {it}"))
        };
        Ok(Cleanup { volumes: list(KEY)?, images: list(IMAGES_KEY)? })
    }
}

fn ids(list: &Value) -> Result<BTreeSet<DeploymentId>, String> {
    let list = list.as_array().ok_or("it is not a list of deployment ids")?;
    if list.len() > PURGE_LIMIT {
        return Err(format!("it has {} entries, at most {PURGE_LIMIT} are accepted", list.len()));
    }
    let id = |(index, it): (usize, &Value)| {
        let id = it.as_str().and_then(|it| it.parse().ok());
        id.ok_or_else(|| format!("entry {index} is not the id of a deployment"))
    };
    list.iter().enumerate().map(id).collect()
}

#[cfg(test)]
mod tests {
    use colony_margo::ManifestVersion;
    use serde_json::json;

    use super::*;

    const ID: &str = "0b9e2a6e-4f0c-4b1b-9d5a-0d4f6c1d2e3f";

    #[test]
    fn mark_names_its_deployment_by_its_path() {
        check_path(&format!("deployments/home/{ID}.purge"), Some(ID));
        check_path(&format!("deployments/home/{ID}.yaml"), None);
        check_path(&format!("deployments/other/{ID}.purge"), None);
        check_path(&format!("deployments/home/old/{ID}.purge"), None);
        check_path("deployments/home/hello.purge", None);
    }

    #[test]
    fn manifest_lists_what_to_purge() {
        check_list(json!([ID]), Ok(1));
        check_list(json!([]), Ok(0));
        check_list(json!("all"), Err("it is not a list of deployment ids"));
        check_list(json!([ID, 7]), Err("entry 1 is not the id of a deployment"));
        check_list(json!([ID, "*"]), Err("entry 1 is not the id of a deployment"));
        let many = vec![ID; PURGE_LIMIT + 1];
        check_list(json!(many), Err("it has 1001 entries, at most 1000 are accepted"));
    }

    #[test]
    fn list_is_read_as_it_was_written() {
        let mut manifest = StateManifest::new(ManifestVersion::FIRST, &[]).0;
        let ids = BTreeSet::from([ID.parse().expect("an id")]);
        for (volumes, images) in [(ids.clone(), BTreeSet::new()), (BTreeSet::new(), ids)] {
            let cleanup = Cleanup { volumes, images };
            manifest.extensions.insert(EXTENSION, cleanup.to_extension());
            let read = StateManifest::parse(&manifest.to_bytes()).expect("a manifest");
            assert_eq!(Cleanup::of_manifest(&read), Ok(cleanup));
        }
    }

    #[track_caller]
    fn check_path(path: &str, expected: Option<&str>) {
        let site = "home".parse().expect("a name");
        let found = marked(&site, path);
        assert_eq!(found.as_ref().map(DeploymentId::as_str), expected, "{path}");
        if let Some(id) = found {
            assert_eq!(mark_path(&site, &id), path);
        }
    }

    #[track_caller]
    fn check_list(list: Value, expected: Result<usize, &str>) {
        let mut manifest = StateManifest::new(ManifestVersion::FIRST, &[]).0;
        manifest.extensions.insert(EXTENSION, Map::from_iter([(KEY.to_owned(), list)]));
        let read = Cleanup::of_manifest(&manifest).map(|it| it.volumes.len());
        assert_eq!(read, expected.map_err(|it| format!("`{KEY}`: {it}")));
    }
}
