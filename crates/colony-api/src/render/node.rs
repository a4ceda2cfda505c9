//! A node of a site, as its orchestrator reports it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use colony_core::fleet::{self, Fleet, SiteView};
use colony_core::id::{NodeName, SiteName};
use colony_core::margo::Problem;
use colony_core::time::Timestamp;
use colony_core::why::AnswerKey;

use super::{Context, Page, unknown_node, unknown_site};
use crate::site::NodeHealth;
use crate::view::{NodePlacement, NodeView};

/// The nodes of one site, or of all the caller sees.
pub fn nodes(
    fleet: &Fleet,
    site: Option<&SiteName>,
    page: Page<'_>,
    context: &Context<'_>,
) -> Result<Vec<NodeView>, Problem> {
    if let Some(site) = site {
        fleet.site(site).ok_or_else(|| unknown_site(fleet, context.sees, site))?;
    }
    let after = position(&page)?;
    let selected = fleet.sites().filter(|it| site.is_none_or(|site| site == it.0));
    let seen = selected.filter(|it| (context.sees)(it.0));
    Ok(seen
        .flat_map(|(site, view)| view.nodes.iter().map(move |it| (site, view, it)))
        .filter(|(site, _, (node, _))| after.is_none_or(|it| (site.as_str(), node.as_str()) > it))
        .take(page.limit)
        .map(|(site, view, (name, node))| build(site, view, name, node, context))
        .collect())
}

pub fn node(
    fleet: &Fleet,
    site: &SiteName,
    node: &NodeName,
    context: &Context<'_>,
) -> Result<NodeView, Problem> {
    let view = fleet.site(site).ok_or_else(|| unknown_site(fleet, context.sees, site))?;
    let known = view.nodes.get(node).ok_or_else(|| unknown_node(fleet, site, node))?;
    Ok(build(site, view, node, known, context))
}

fn build(
    site: &SiteName,
    view: &SiteView,
    name: &NodeName,
    node: &fleet::NodeView,
    context: &Context<'_>,
) -> NodeView {
    let report = (context.report)(site);
    let of_node = |it: &&NodeHealth| it.name == *name;
    let health = report.as_ref().and_then(|it| it.1.nodes.iter().find(of_node));
    let silent = view.silent_since(context.now);
    // The momentary state of a node is void once the node or its site is
    // silent.
    let current = health.filter(|_| node.is_online() && silent.is_none());
    let answers = view.answers_about(&AnswerKey::Node(name.clone()));
    NodeView {
        site: site.clone(),
        name: name.clone(),
        presence: node.presence,
        since: node.since,
        silent_since: silent,
        last_heard: last_heard(site, view, name, context),
        cordoned: node.cordoned,
        ready: current.and_then(|it| it.ready),
        reasons: match answers {
            // A site of an earlier release sends no answers.
            [] => current.map(|it| it.reasons.clone()).unwrap_or_default(),
            _ => answers.iter().map(|it| it.statement(context.now)).collect(),
        },
        engine: health.and_then(|it| it.engine.clone()),
        labels: labels(node),
        capabilities: node.capabilities.as_ref().and_then(|it| serde_json::to_value(it).ok()),
        placements: placements(view, name, context),
    }
}

/// The last contact of a node: from the site's answers, or else from its last
/// report.
pub(super) fn last_heard(
    site: &SiteName,
    view: &SiteView,
    name: &NodeName,
    context: &Context<'_>,
) -> Option<Timestamp> {
    view.node_last_heard(name).or_else(|| {
        let (at, report) = (context.report)(site)?;
        let health = report.nodes.iter().find(|it| it.name == *name)?;
        Some(at.before(Duration::from_millis(health.last_heard_ms_ago?)))
    })
}

/// The site and the node that a page follows: `<site>/<node>`.
fn position<'a>(page: &Page<'a>) -> Result<Option<(&'a str, &'a str)>, Problem> {
    let Some(after) = page.after else { return Ok(None) };
    let message =
        || format!("a list of nodes cannot begin behind `{after}`: expected `<site>/<node>`");
    let position = after.split_once('/').ok_or_else(|| Problem::field("after", message()))?;
    Ok(Some(position))
}

fn labels(node: &fleet::NodeView) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let labels = node.capabilities.iter().flat_map(|it| it.labels());
    labels.map(|(key, value)| (key.clone(), text(value))).collect()
}

fn placements(view: &SiteView, node: &NodeName, context: &Context<'_>) -> Vec<NodePlacement> {
    let all = view.placements.values().filter_map(|it| it.get(node));
    all.filter_map(|it| {
        let deployment = view.deployments.get(&it.id.deployment)?;
        let runs = it.revisions.target.as_ref();
        Some(NodePlacement {
            deployment: deployment.name.clone(),
            state: it.state,
            version: runs.and_then(|it| context.version(&it.blob)),
            since: it.since,
        })
    })
    .collect()
}
