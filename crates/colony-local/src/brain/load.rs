//! The site from its records, or an empty one of this incarnation.

use anyhow::Context;

use colony_core::site::{RowKey, Site};
use colony_store::LocalStore;

use crate::brain::Origin;

/// Records of an incarnation before this one are removed: what they said comes
/// again with the seed, corrected by what CO heard since.
pub(super) async fn site(store: &LocalStore, origin: &Origin) -> anyhow::Result<Site> {
    let Origin { site: name, incarnation, timing } = origin;
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
    let members = site.members().map(|it| RowKey::Member(it.name.clone()));
    std::iter::once(RowKey::Meta).chain(deployments).chain(placements).chain(members)
}
