//! A node of a site, as its orchestrator tells of it.

use std::collections::BTreeMap;
use std::time::Duration;

use colony_api::view::{NodePlacement, NodeView};
use colony_core::fleet::{self, Fleet};
use colony_core::id::{DeploymentName, NodeName, SiteName};
use colony_margo::Json;

use super::{Versions, silent, unknown_site, version_of, versions};
use crate::app::App;
use crate::auth::Operator;
use crate::clock;
use crate::fault::Fault;

/// The nodes of one site, or of all the operator sees.
pub(crate) async fn nodes(
    app: &App,
    operator: &Operator,
    site: Option<&SiteName>,
) -> Result<Vec<NodeView>, Fault> {
    let versions = all_versions(app).await?;
    let fleet = app.brain.read().await?;
    if let Some(site) = site {
        fleet.site(site).ok_or_else(|| unknown_site(&fleet, site))?;
    }
    let meant = fleet.sites().filter(|it| site.is_none_or(|site| site == it.0));
    let seen = meant.filter(|it| operator.sees(it.0));
    Ok(seen
        .flat_map(|(site, view)| view.nodes.keys().map(move |node| (site, view, node)))
        .filter_map(|(site, view, node)| build(app, site, view, node, &versions))
        .collect())
}

pub(crate) async fn node(app: &App, site: &SiteName, node: &NodeName) -> Result<NodeView, Fault> {
    let versions = all_versions(app).await?;
    let fleet = app.brain.read().await?;
    let view = fleet.site(site).ok_or_else(|| unknown_site(&fleet, site))?;
    build(app, site, view, node, &versions).ok_or_else(|| unknown_node(&fleet, site, node))
}

/// Says which nodes there are.
pub(crate) fn unknown_node(fleet: &Fleet, site: &SiteName, node: &NodeName) -> Fault {
    let known = fleet.site(site).into_iter().flat_map(|it| it.nodes.keys());
    let known: Vec<String> = known.map(ToString::to_string).collect();
    let known = crate::catalog::listed(&known, "none yet: invite one with `colony node invite`");
    Fault::not_found(format!("site {site} has no node `{node}`; there is {known}"))
}

async fn all_versions(app: &App) -> Result<Versions, Fault> {
    let names: Vec<DeploymentName> = app.brain.read().await?.deployment_names().cloned().collect();
    versions(app, &names).await
}

fn build(
    app: &App,
    site: &SiteName,
    view: &fleet::SiteView,
    name: &NodeName,
    versions: &Versions,
) -> Option<NodeView> {
    let node = view.nodes.get(name)?;
    let report = app.reports.get(site);
    let health = report.as_ref().and_then(|(at, report)| {
        let health = report.nodes.iter().find(|it| it.name == *name)?;
        Some((*at, health))
    });
    let heard = health
        .and_then(|(at, it)| it.last_heard_ms_ago.map(|ago| at.before(Duration::from_millis(ago))));
    let health = health.map(|it| it.1);
    // What a node said of a moment says nothing once nobody hears it.
    let current = health.filter(|_| node.is_online() && silent(view, clock::wall()).is_none());
    Some(NodeView {
        site: site.clone(),
        name: name.clone(),
        presence: node.presence,
        since: node.since,
        last_heard: heard,
        cordoned: node.cordoned,
        ready: current.and_then(|it| it.ready),
        reasons: current.map(|it| it.reasons.clone()).unwrap_or_default(),
        engine: health.and_then(|it| it.engine.clone()),
        labels: labels(node),
        capabilities: node.capabilities.as_ref().and_then(|it| serde_json::to_value(it).ok()),
        placements: placements(view, name, versions),
    })
}

fn labels(node: &fleet::NodeView) -> BTreeMap<String, String> {
    let said = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let labels = node.capabilities.iter().flat_map(|it| it.labels());
    labels.map(|(key, value)| (key.clone(), said(value))).collect()
}

fn placements(view: &fleet::SiteView, node: &NodeName, versions: &Versions) -> Vec<NodePlacement> {
    let all = view.placements.values().filter_map(|it| it.get(node));
    all.filter_map(|it| {
        let deployment = view.deployments.get(&it.id.deployment)?;
        let runs = it.revisions.target.as_ref();
        Some(NodePlacement {
            deployment: deployment.name.clone(),
            state: it.state,
            version: runs.and_then(|it| version_of(versions, &it.blob)),
            since: it.since,
        })
    })
    .collect()
}
