//! What people are shown, computed from the projection.
//!
//! Nothing here is stored. Versions are read from the files in Git, by blob.

mod deployment;
mod event;
mod node;
mod outcome;
mod sentence;
mod site;
mod status;
mod told;
mod why;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use colony_api::view::FailureView;
use colony_core::attempt::Failure;
use colony_core::fleet::{Fleet, LO_SILENT, PlacementView, SiteView};
use colony_core::id::{BlobId, DeploymentName, SiteName};
use colony_core::time::Wall;

pub(crate) use deployment::{deployment, deployments, history};
pub(crate) use event::event;
pub(crate) use node::{node, nodes};
pub(crate) use site::{site, sites};
pub(crate) use status::status;
pub(crate) use why::{why, why_site};

use crate::app::App;
use crate::auth::Operator;
use crate::fault::Fault;
use crate::repo::Facts;

/// What files say, by blob.
pub(crate) type Versions = BTreeMap<BlobId, Arc<Facts>>;

/// The id of an event in streams.
pub(crate) fn event_id(app: &App, position: i64) -> String {
    format!("{}-{position}", app.brain.store().epoch())
}

/// Reads the versions of everything the views speak of.
async fn versions(app: &App, names: &[DeploymentName]) -> Result<Versions, Fault> {
    let blobs = {
        let fleet = app.brain.read().await?;
        names.iter().flat_map(|it| blobs(&fleet, it)).collect()
    };
    Ok(app.repo.facts(blobs).await?)
}

fn blobs(fleet: &Fleet, name: &DeploymentName) -> BTreeSet<BlobId> {
    let mut blobs = BTreeSet::new();
    for (_, view) in fleet.sites_of(name) {
        blobs.extend(view.targets.get(name).and_then(target_blob).cloned());
        for it in view.deployments_named(name) {
            let own = std::iter::once(&it.accepted).chain(&it.good);
            let left = it.rolled_back.iter().flat_map(|it| [Some(&it.bad), it.good.as_ref()]);
            let bad = it.quarantine.values().map(|it| &it.revision);
            let placed = view.placements_of(&it.id).flat_map(|it| it.revisions.iter());
            let all = own.chain(left.flatten()).chain(bad).chain(placed);
            blobs.extend(all.map(|it| it.blob.clone()));
        }
    }
    blobs
}

/// The file CO itself wants.
fn target_blob(target: &colony_core::fleet::Target) -> Option<&BlobId> {
    use colony_core::fleet::Target;
    match target {
        Target::Committed { blob, .. } | Target::Accepted { blob, .. } => blob.as_ref(),
        Target::Planned { .. } | Target::Conflict { .. } | Target::Refused { .. } => None,
    }
}

fn version_of(versions: &Versions, blob: &BlobId) -> Option<String> {
    versions.get(blob).map(|it| it.version.clone())
}

/// Since when a site is not heard, if it is not.
fn silent(view: &SiteView, now: Wall) -> Option<Wall> {
    let heard = view.head.last_heard?;
    (now.since(heard) >= LO_SILENT).then_some(heard)
}

fn failure(failure: &Failure) -> FailureView {
    FailureView {
        code: failure.code.to_string(),
        message: failure.message.clone(),
        source: failure.source.clone(),
        tries: None,
        of: None,
        retry_at: None,
        remedy: Some(failure.code.remedy().to_owned()),
        log: failure.log.clone(),
    }
}

/// The failure of a placement, and how it goes on.
fn failed(placement: &PlacementView) -> Option<FailureView> {
    let retry = placement.retry;
    placement.failure.as_ref().map(|it| FailureView {
        tries: retry.map(|it| it.tried),
        of: retry.and_then(|it| it.of),
        retry_at: retry.and_then(|it| it.at),
        ..failure(it)
    })
}

/// `unhealthy (GET / 500, 3×)`.
fn clause(failure: &Failure) -> String {
    let line: String =
        failure.message.lines().next().unwrap_or_default().chars().take(200).collect();
    if line.is_empty() { failure.code.to_string() } else { format!("{} ({line})", failure.code) }
}

fn unknown_site(fleet: &Fleet, site: &SiteName) -> Fault {
    let known: Vec<String> = fleet.sites().map(|it| it.0.to_string()).collect();
    let known = crate::catalog::listed(&known, "none yet: add one with `colony site add`");
    Fault::not_found(format!("site `{site}` does not exist; there is {known}"))
}

/// Names what is at sites the operator sees, and nothing else.
pub(crate) fn no_deployment(fleet: &Fleet, operator: &Operator, name: &DeploymentName) -> Fault {
    let seen = |it: &&DeploymentName| fleet.sites_of(it).any(|at| operator.sees(at.0));
    let known: Vec<String> =
        fleet.deployment_names().filter(seen).map(ToString::to_string).collect();
    let known = crate::catalog::listed(&known, "none yet: `colony deploy <application>`");
    Fault::not_found(format!("deployment `{name}` does not exist; there is {known}"))
}
