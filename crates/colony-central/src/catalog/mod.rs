//! The applications that can be deployed: registries in Git, read into SQL.
//!
//! A package that cannot be read is a finding of its registry; its previous
//! entry in the catalog stays. The application that comes with colony is the
//! registry `builtin`.

mod add;
mod package;
mod registries;
mod sync;
pub(crate) mod version;
mod withdrawn;

use std::collections::BTreeMap;
use std::sync::Arc;

use colony_api::render::listed;
use colony_core::margo::{ApplicationDescription, Digest};
use colony_store::{CentralStore, Package, PackageHead};

pub(crate) use add::NewRegistry;
pub(crate) use package::lint;
pub(crate) use registries::Registries;
pub(crate) use sync::{BUILTIN, add_builtin, branch, broken};

use crate::fault::Fault;

/// A version of an application, ready to be deployed.
#[derive(Debug, Clone)]
pub(crate) struct CatalogVersion {
    pub description: Arc<ApplicationDescription>,
    pub version: String,
    pub digest: Digest,
    pub registry: String,
    pub path: String,
    pub text: String,
}

/// Every application with its versions, the newest first.
pub(crate) async fn list(
    store: &CentralStore,
) -> Result<BTreeMap<String, Vec<PackageHead>>, colony_store::Error> {
    let withdrawn = withdrawn::kept_versions(store).await?;
    let mut applications: BTreeMap<String, Vec<PackageHead>> = BTreeMap::new();
    for head in store.package_list().await? {
        if withdrawn.contains(&(head.application.clone(), head.version.clone())) {
            continue;
        }
        applications.entry(head.application.clone()).or_default().push(head);
    }
    for heads in applications.values_mut() {
        heads.sort_by(|a, b| version::compare(&b.version, &a.version));
    }
    Ok(applications)
}

/// The versions of an application, the newest first; an error if there is none.
pub(crate) async fn versions(store: &CentralStore, id: &str) -> Result<Vec<String>, Fault> {
    let withdrawn = withdrawn::kept_versions(store).await?;
    let mut versions = store.package_versions(id).await?;
    versions.retain(|it| !withdrawn.contains(&(id.to_owned(), it.clone())));
    if versions.is_empty() {
        let known = list(store).await?;
        let known = listed(known.keys(), "nothing yet: add a registry with `colony app add`");
        let said = format!("application `{id}` is not in the catalog; there is {known}");
        return Err(Fault::not_found(said));
    }
    versions.sort_by(|a, b| version::compare(b, a));
    Ok(versions)
}

/// One version of an application; the newest release if none is named.
pub(crate) async fn find(
    store: &CentralStore,
    id: &str,
    wanted: Option<&str>,
) -> Result<CatalogVersion, Fault> {
    let named = match wanted {
        Some(version) => store.package(id, version).await?,
        None => None,
    };
    let package = match named {
        Some(package) => package,
        None => newest(store, id, wanted).await?,
    };
    let chosen = package.version.as_str();
    let parsed = ApplicationDescription::parse(package.text.as_bytes());
    let description = parsed.map_err(|it| {
        // It was valid when it was stored, so another program must have written
        // it.
        tracing::error!(application = id, version = chosen, "the catalog holds a broken package");
        Fault::from(colony_core::margo::Problem::semantic(&it))
    })?;
    Ok(CatalogVersion {
        description: Arc::new(description.value),
        version: package.version,
        digest: package.digest,
        registry: package.registry,
        path: package.path,
        text: package.text,
    })
}

/// The newest release if no version is named, else the error that there is no
/// such version.
async fn newest(store: &CentralStore, id: &str, wanted: Option<&str>) -> Result<Package, Fault> {
    let versions = versions(store, id).await?;
    let newest = || version::newest(versions.iter().map(String::as_str));
    let chosen = wanted.or_else(newest).unwrap_or_default();
    let package = match wanted {
        Some(_) => None,
        None => store.package(id, chosen).await?,
    };
    package.ok_or_else(|| {
        let known = listed(&versions, "none");
        Fault::not_found(format!("application `{id}` has no version `{chosen}`; there is {known}"))
    })
}
