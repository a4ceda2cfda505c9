//! A site: its orchestrator, its deployments and nodes, its findings and holds.

use std::collections::BTreeMap;

use colony_core::event::HoldScope;
use colony_core::fleet::{self, Fleet, SitePresence};
use colony_core::id::SiteName;
use colony_core::margo::{Finding, Problem};

use super::{Context, Page, unknown_site};
use crate::request::ReleaseWhat;
use crate::view::{HoldView, NodeCounts, SiteView};

/// The sites the caller sees.
pub fn sites(fleet: &Fleet, page: Page<'_>, context: &Context<'_>) -> Vec<SiteView> {
    let seen = fleet.sites().filter(|it| page.is_behind(it.0.as_str()) && (context.sees)(it.0));
    seen.take(page.limit).map(|(site, view)| build(fleet, site, view, context)).collect()
}

pub fn site(fleet: &Fleet, site: &SiteName, context: &Context<'_>) -> Result<SiteView, Problem> {
    let view = fleet.site(site).ok_or_else(|| unknown_site(fleet, context.sees, site))?;
    Ok(build(fleet, site, view, context))
}

fn build(
    fleet: &Fleet,
    site: &SiteName,
    view: &fleet::SiteView,
    context: &Context<'_>,
) -> SiteView {
    let report = (context.report)(site).map(|it| it.1);
    let report = report.as_deref();
    SiteView {
        name: site.clone(),
        presence: view.presence(context.now),
        joined: view.head.joined,
        last_heard: view.head.last_heard,
        incarnation: view.incarnation(),
        ready: view.head.ready && report.is_none_or(|it| it.ready),
        reasons: report.map(|it| it.reasons.clone()).unwrap_or_default(),
        version: report.map(|it| it.version.clone()),
        commit: view.head.git.clone(),
        labels: context.labels.get(site).cloned().unwrap_or_default(),
        urls: report.map(|it| it.urls.clone()).unwrap_or_default(),
        ca: report.map(|it| it.ca.clone()),
        nodes: counts(view, context),
        deployments: statuses(fleet, site),
        holds: holds(view),
        findings: findings(view),
        commands_open: view.commands.len() as u64,
    }
}

/// A node counts as online only while its site is online.
fn counts(view: &fleet::SiteView, context: &Context<'_>) -> NodeCounts {
    let count = |it: fn(&&fleet::NodeView) -> bool| view.nodes.values().filter(it).count() as u64;
    let heard = view.presence(context.now) == SitePresence::Online;
    NodeCounts {
        total: view.nodes.len() as u64,
        online: if heard { count(|it| it.is_online()) } else { 0 },
        unknown: if heard { 0 } else { view.nodes.len() as u64 },
        cordoned: count(|it| it.cordoned),
    }
}

fn statuses(fleet: &Fleet, site: &SiteName) -> BTreeMap<String, u64> {
    let mut statuses = BTreeMap::new();
    // `FAILED` is the text of several states.
    for (status, count) in fleet.status_counts(site).into_iter().flatten() {
        *statuses.entry(status.to_string()).or_default() += count;
    }
    statuses
}

/// Errors before warnings.
fn findings(view: &fleet::SiteView) -> Vec<Finding> {
    let mut all: Vec<Finding> =
        view.files.values().flat_map(|it| it.findings.iter().cloned()).collect();
    all.sort_by_key(|it| it.severity != colony_core::margo::Severity::Error);
    all
}

fn holds(view: &fleet::SiteView) -> Vec<HoldView> {
    let named = |scope: &HoldScope| match scope {
        HoldScope::Site => None,
        HoldScope::Deployment(id) => view.deployments.get(id).map(|it| it.name.clone()),
    };
    let own = view.holds.holds.iter().map(|(scope, it)| HoldView {
        what: ReleaseWhat::Hold,
        deployment: named(scope),
        by: it.by.clone(),
        note: it.note.clone(),
        since: it.since,
        commit: None,
    });
    let removal = view.holds.removal.as_ref().map(|it| HoldView {
        what: ReleaseWhat::Removal,
        deployment: None,
        by: "colony".to_owned(),
        note: format!("a commit removes {} deployments at once", it.deployments.len()),
        since: it.since,
        commit: Some(it.commit.clone()),
    });
    let history = view.holds.history.as_ref().map(|it| HoldView {
        what: ReleaseWhat::History,
        deployment: None,
        by: "colony".to_owned(),
        note: "Git's history was rewritten".to_owned(),
        since: it.since,
        commit: Some(it.commit.clone()),
    });
    own.chain(removal).chain(history).collect()
}
