//! Loads the site from its records, or creates an empty one.

use anyhow::Context;

use colony_core::site::{RowKey, Site};
use colony_store::LocalStore;

use crate::brain::SiteConfig;

/// Records of an earlier incarnation are removed: the seed from central
/// contains the same state, updated by the events that central received since.
pub(super) async fn site(store: &LocalStore, config: &SiteConfig) -> anyhow::Result<Site> {
    let SiteConfig { site: name, incarnation, timing } = config;
    let fresh = || Site::new(name.clone(), *incarnation, *timing);
    let rows = store.rows().await.context("could not read the site's records")?;
    if rows.is_empty() {
        return Ok(fresh());
    }
    let found = Site::restore(rows, *timing).context("could not put the site together")?;
    if found.name() == name && found.log().incarnation == *incarnation {
        return Ok(found);
    }
    let removed = keys(&found).map(|it| (it, None)).collect();
    store.commit(removed, &[]).await.context("could not remove the records of the LO before")?;
    Ok(fresh())
}

pub(super) fn keys(site: &Site) -> impl Iterator<Item = RowKey> + '_ {
    let deployments = site.deployments().map(|it| RowKey::Deployment(it.id.clone()));
    let placements = site.placements().map(|it| RowKey::Placement(it.id.clone()));
    let site_nodes = site.site_nodes().map(|it| RowKey::SiteNode(it.name.clone()));
    std::iter::once(RowKey::Meta).chain(deployments).chain(placements).chain(site_nodes)
}
