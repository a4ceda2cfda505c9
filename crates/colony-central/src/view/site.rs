//! A site: who speaks for it, what it has, what waits there for a person.

use std::collections::BTreeMap;

use colony_api::request::ReleaseWhat;
use colony_api::site::NodesReport;
use colony_api::view::{HoldView, NodeCounts, SitePresence, SiteView};
use colony_core::event::HoldScope;
use colony_core::fleet;
use colony_core::id::{DeploymentName, SiteName};
use colony_core::time::Wall;

use super::{silent, unknown_site};
use crate::app::App;
use crate::auth::Operator;
use crate::clock;
use crate::fault::Fault;

/// Every site the operator sees.
pub(crate) async fn sites(app: &App, operator: &Operator) -> Result<Vec<SiteView>, Fault> {
    let labels = app.repo.site_labels().await?;
    let fleet = app.brain.read().await?;
    let now = clock::wall();
    let seen = fleet.sites().filter(|it| operator.sees(it.0));
    Ok(seen.map(|(site, view)| build(app, site, view, labels.get(site), now)).collect())
}

pub(crate) async fn site(app: &App, site: &SiteName) -> Result<SiteView, Fault> {
    let labels = app.repo.site_labels().await?;
    let fleet = app.brain.read().await?;
    let view = fleet.site(site).ok_or_else(|| unknown_site(&fleet, site))?;
    Ok(build(app, site, view, labels.get(site), clock::wall()))
}

fn build(
    app: &App,
    site: &SiteName,
    view: &fleet::SiteView,
    labels: Option<&BTreeMap<String, String>>,
    now: Wall,
) -> SiteView {
    let report = app.reports.get(site).map(|it| it.1);
    let said = |it: fn(&NodesReport) -> bool| report.as_ref().is_none_or(it);
    SiteView {
        name: site.clone(),
        presence: presence(view, now),
        joined: view.head.joined,
        last_heard: view.head.last_heard,
        incarnation: view.incarnation(),
        ready: view.head.ready && said(|it| it.ready),
        reasons: report.as_ref().map(|it| it.reasons.clone()).unwrap_or_default(),
        version: report.as_ref().map(|it| it.version.clone()),
        commit: view.head.git.clone(),
        labels: labels.cloned().unwrap_or_default(),
        urls: report.as_ref().map(|it| it.urls.clone()).unwrap_or_default(),
        ca: report.as_ref().map(|it| it.ca.clone()),
        nodes: counts(view),
        deployments: standings(view),
        holds: holds(view),
        findings: view.files.values().flatten().cloned().collect(),
        commands_open: view.commands.len() as u64,
    }
}

fn presence(view: &fleet::SiteView, now: Wall) -> SitePresence {
    match (view.incarnation(), silent(view, now)) {
        (None, _) => SitePresence::Expected,
        (Some(_), None) => SitePresence::Online,
        (Some(_), Some(_)) => SitePresence::Offline,
    }
}

fn counts(view: &fleet::SiteView) -> NodeCounts {
    let count = |it: fn(&&fleet::NodeView) -> bool| view.nodes.values().filter(it).count() as u64;
    NodeCounts {
        total: view.nodes.len() as u64,
        online: count(|it| it.is_online()),
        cordoned: count(|it| it.cordoned),
    }
}

fn standings(view: &fleet::SiteView) -> BTreeMap<String, u64> {
    let mut names: Vec<&DeploymentName> = view.deployments.values().map(|it| &it.name).collect();
    names.extend(view.targets.keys());
    names.sort();
    names.dedup();
    let mut standings = BTreeMap::new();
    for name in names {
        *standings.entry(view.standing(name).to_string()).or_default() += 1;
    }
    standings
}

fn holds(view: &fleet::SiteView) -> Vec<HoldView> {
    let named = |scope: &HoldScope| match scope {
        HoldScope::Site => None,
        HoldScope::Deployment(id) => view.deployments.get(id).map(|it| it.name.clone()),
    };
    let mut holds: Vec<HoldView> = view
        .holds
        .holds
        .iter()
        .map(|(scope, it)| HoldView {
            what: ReleaseWhat::Hold,
            deployment: named(scope),
            by: it.by.clone(),
            note: it.note.clone(),
            since: it.since,
            commit: None,
        })
        .collect();
    holds.extend(view.holds.removal.as_ref().map(|it| HoldView {
        what: ReleaseWhat::Removal,
        deployment: None,
        by: "colony".to_owned(),
        note: format!("a commit removes {} deployments at once", it.deployments.len()),
        since: it.since,
        commit: Some(it.commit.clone()),
    }));
    holds.extend(view.holds.history.as_ref().map(|it| HoldView {
        what: ReleaseWhat::History,
        deployment: None,
        by: "colony".to_owned(),
        note: "Git's history was rewritten".to_owned(),
        since: it.since,
        commit: Some(it.commit.clone()),
    }));
    holds
}
