//! The views that people see, computed from the fleet's projection.
//!
//! Both orchestrators render with these functions: the central one its fleet, a
//! local one the fleet of its own site. All are pure; inputs beside the
//! projection come in a `Context`.

mod attention;
mod command;
mod deployment;
mod deployment_site;
mod node;
mod sentence;
mod site;
mod status;
mod why;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use colony_core::attempt::Failure;
use colony_core::document::FileFacts;
use colony_core::fleet::{CentralChange, Fleet, PlacementView, SiteView};
use colony_core::id::{BlobId, DeploymentName, NodeName, SiteName};
use colony_core::margo::Problem;
use colony_core::time::Timestamp;

pub use deployment::{deployment, deployments};
pub use node::{node, nodes};
pub use site::{site, sites};
pub use status::{About, status};
pub use why::*;

use crate::problem::Kind;
use crate::site::NodesReport;
use crate::view::FailureView;

/// The facts of files, by blob.
pub type Versions = BTreeMap<BlobId, Arc<FileFacts>>;

/// The last health report of a site's orchestrator, with its time.
pub type SiteReport = (Timestamp, Arc<NodesReport>);

/// The inputs of a view beside the fleet.
pub struct Context<'a> {
    pub now: Timestamp,
    pub versions: &'a Versions,
    /// Files that are accepted and not committed yet, by path.
    pub queued: &'a BTreeMap<String, FileFacts>,
    /// Labels of sites, from Git.
    pub labels: &'a BTreeMap<SiteName, BTreeMap<String, String>>,
    pub report: &'a (dyn Fn(&SiteName) -> Option<SiteReport> + Sync),
    /// Files of deployments that no site reads, by path.
    pub strays: &'a [String],
    /// The application of a deployment that no site has any longer.
    pub gone: Option<&'a str>,
    /// The error of the repository when it refused the last commit.
    pub git_problem: Option<&'a str>,
    /// Whether the caller may see a site; nothing of other sites is shown.
    pub sees: &'a (dyn Fn(&SiteName) -> bool + Sync),
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("now", &self.now).finish_non_exhaustive()
    }
}

impl Context<'_> {
    fn version(&self, blob: &BlobId) -> Option<String> {
        self.versions.get(blob).map(|it| it.version.clone())
    }
}

/// A part of a list, ordered by name.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Only items after this name.
    pub after: Option<&'a str>,
    pub limit: usize,
}

impl Page<'_> {
    pub const ALL: Page<'static> = Page { after: None, limit: usize::MAX };

    /// Whether an item of this name comes after the previous page.
    fn is_behind(&self, name: &str) -> bool {
        self.after.is_none_or(|it| name > it)
    }
}

/// The file of the central orchestrator's own target.
fn target_blob(target: &CentralChange) -> Option<&BlobId> {
    match target {
        CentralChange::Committed { blob, .. } | CentralChange::Accepted { blob, .. } => {
            blob.as_ref()
        }
        CentralChange::Planned { .. }
        | CentralChange::Conflict { .. }
        | CentralChange::Refused { .. } => None,
    }
}

/// Every blob whose version is shown in a view of these deployments.
pub fn blobs_of<'a>(
    fleet: &Fleet,
    names: impl Iterator<Item = &'a DeploymentName>,
) -> std::collections::BTreeSet<BlobId> {
    let mut blobs = std::collections::BTreeSet::new();
    for name in names {
        for (_, view) in fleet.sites_of(name) {
            blobs.extend(view.central_changes.get(name).and_then(target_blob).cloned());
            for it in view.deployments_named(name) {
                let own = std::iter::once(&it.accepted).chain(&it.last_converged);
                let left = it.rolled_back.iter().flat_map(|it| [Some(&it.bad), it.good.as_ref()]);
                let bad = it.quarantine.values().map(|it| &it.revision);
                let placed = view.placements_of(&it.id).flat_map(|it| it.revisions.iter());
                let all = own.chain(left.flatten()).chain(bad).chain(placed);
                blobs.extend(all.map(|it| it.blob.clone()));
            }
        }
    }
    blobs
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

/// The failure of a placement, and its next retry.
fn placement_failure(placement: &PlacementView) -> Option<FailureView> {
    let retry = placement.retry;
    placement.failure.as_ref().map(|it| FailureView {
        tries: retry.map(|it| it.tried),
        of: retry.and_then(|it| it.of),
        retry_at: retry.and_then(|it| it.at),
        ..failure(it)
    })
}

/// `unhealthy (GET / 500, 3×)`.
fn failure_clause(failure: &Failure) -> String {
    let line: String =
        failure.message.lines().next().unwrap_or_default().chars().take(200).collect();
    if line.is_empty() { failure.code.to_string() } else { format!("{} ({line})", failure.code) }
}

/// The problem of an unknown site; lists the known ones.
pub fn unknown_site(fleet: &Fleet, sees: &dyn Fn(&SiteName) -> bool, site: &SiteName) -> Problem {
    let known = fleet.sites().map(|it| it.0).filter(|it| sees(it));
    let known = listed(known, "none yet: add one with `colony site add`");
    Kind::NotFound.problem(format!("site `{site}` does not exist; there is {known}"))
}

/// The problem of an unknown node; lists the known ones.
pub fn unknown_node(fleet: &Fleet, site: &SiteName, node: &NodeName) -> Problem {
    let known = fleet.site(site).into_iter().flat_map(|it| it.nodes.keys());
    let known = listed(known, "none yet (invite one with `colony node invite`)");
    Kind::NotFound.problem(format!("site {site} has no node `{node}`; its nodes: {known}"))
}

/// The problem of an unknown deployment; lists the known ones.
pub fn unknown_deployment(
    fleet: &Fleet,
    sees: &dyn Fn(&SiteName) -> bool,
    name: &DeploymentName,
) -> Problem {
    let seen = |it: &&DeploymentName| fleet.sites_of(it).any(|at| sees(at.0));
    let known = fleet.deployment_names().filter(seen);
    let known = listed(known, "none yet: `colony deploy <application>`");
    let was_there =
        |view: &SiteView| view.archives.values().any(|it| it.name.as_ref() == Some(name));
    let deleted = fleet.sites().any(|it| sees(it.0) && was_there(it.1));
    let problem = if deleted { "is already deleted" } else { "does not exist" };
    Kind::NotFound.problem(format!("deployment `{name}` {problem}; there is {known}"))
}

/// `a, b and 3 more`, or `none` if the list is empty.
pub fn listed<T: fmt::Display>(names: impl IntoIterator<Item = T>, none: &str) -> String {
    const SHOWN: usize = 12;
    let all: Vec<String> = names.into_iter().map(|it| it.to_string()).collect();
    match all.len().saturating_sub(SHOWN) {
        0 if all.is_empty() => none.to_owned(),
        0 => all.join(", "),
        more => format!("{} and {more} more", all[..SHOWN].join(", ")),
    }
}
