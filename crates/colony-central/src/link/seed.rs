//! The seed: the state of a site that its new orchestrator starts from.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::extract::State;
use colony_core::fleet::{Fleet, Seeded, UnknownSite};
use colony_core::id::{BlobId, SiteName};
use colony_core::site::Seed;

use crate::app::App;
use crate::auth::Local;
use crate::fault::Fault;

/// Tell a new orchestrator what runs at its site
#[utoipa::path(get, path = "/api/v1/sites/{site}/seed", tag = "site link",
    params(("site" = String, Path)),
    responses((status = 200, description = "The projection of the site", body = Object)))]
pub(crate) async fn seed(State(app): State<App>, local: Local) -> Result<Json<Seed>, Fault> {
    let wanted = {
        let fleet = app.brain.read().await?;
        blobs(&fleet, &local.site)?
    };
    let texts = app.repo.texts(wanted).await?;
    let fleet = app.brain.read().await?;
    let seeded = build(&fleet, &local.site, &texts)?;
    for left in &seeded.left_out {
        tracing::warn!(site = %local.site, "left out of the seed: {left:?}");
    }
    Ok(Json(seeded.seed))
}

fn build(
    fleet: &Fleet,
    site: &SiteName,
    texts: &BTreeMap<BlobId, String>,
) -> Result<Seeded, Fault> {
    fleet.seed(site, |blob| texts.get(blob).cloned()).map_err(|it| unknown(&it))
}

/// Every blob that the seed needs.
fn blobs(fleet: &Fleet, site: &SiteName) -> Result<BTreeSet<BlobId>, Fault> {
    let asked = std::cell::RefCell::new(BTreeSet::new());
    let note = |blob: &BlobId| {
        asked.borrow_mut().insert(blob.clone());
        None
    };
    fleet.seed(site, note).map_err(|it| unknown(&it))?;
    Ok(asked.into_inner())
}

fn unknown(error: &UnknownSite) -> Fault {
    Fault::not_found(error.to_string())
}
