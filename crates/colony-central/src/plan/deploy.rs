//! `deploy`: an upsert by name. Builds the next file for every place.

use std::collections::BTreeMap;

use colony_api::request::DeployRequest;
use colony_core::id::{DeploymentName, NodeName, SiteName};
use colony_margo::Capabilities;

use super::draft::{Built, Draft};
use super::place::{self, Place};
use super::{Next, Plan, said, target, values, view};
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::catalog::{self, Found};
use crate::extract::name;
use crate::fault::Fault;
use crate::repo::Facts;

/// Plans what was asked for.
pub(crate) async fn deploy(
    app: &App,
    operator: &Operator,
    request: &DeployRequest,
) -> Result<Plan, Fault> {
    let handle = request.name.as_ref().unwrap_or(&request.application);
    let handle: DeploymentName = name("name", handle)?;
    let wanted = request.version.as_deref();
    let newest = catalog::find(app.brain.store(), &request.application, wanted).await?;
    let (places, node) = places(app, operator, &handle, request).await?;
    check_application(&handle, request, &places)?;
    let mut plan = Plan::new(view(&handle, &request.application), String::new());
    let (mut versions, mut profiles, mut errors) = (Vec::new(), Vec::new(), BTreeMap::new());
    let known = known_nodes(app, &places).await?;
    let mut nexts = Vec::new();
    for place in &places {
        let found = version_for(app, request, place, &newest).await?;
        let before = before(app, place, &found).await;
        let draft = Draft { handle: &handle, request, place, found: &found, node: node.as_ref() };
        match draft.build(before.as_ref(), &known) {
            Ok(next) => {
                versions.push(found.version.clone());
                profiles.push(next.profile.clone());
                nexts.push(next);
            }
            Err(found) => errors.extend(found),
        }
    }
    if !errors.is_empty() {
        return Err(Fault::fields(errors));
    }
    for (place, next) in places.iter().zip(nexts) {
        add(&mut plan, &handle, place, next);
    }
    plan.view.version = agreed(&versions);
    plan.view.profile = agreed(&profiles);
    target::fill(app, &mut plan, &handle).await?;
    plan.message = message(&handle, &plan, &places);
    Ok(plan)
}

async fn places(
    app: &App,
    operator: &Operator,
    handle: &DeploymentName,
    request: &DeployRequest,
) -> Result<(Vec<Place>, Option<(SiteName, NodeName)>), Fault> {
    let mut wanted = request.sites.clone();
    let node = request
        .node
        .as_deref()
        .map(|it| it.split_once('/').map_or((None, it), |(s, n)| (Some(s), n)));
    if let Some((Some(site), _)) = node
        && !wanted.iter().any(|it| it == site)
    {
        wanted.push(site.to_owned());
    }
    let mut sites = place::sites_of(app, operator, &wanted).await?;
    if sites.is_empty() {
        sites = place::default_sites(app, operator, handle).await?;
    }
    for site in &sites {
        operator.must_be_at(Role::Operator, site)?;
    }
    let node = match (node, sites.as_slice()) {
        (None, _) => None,
        (Some((_, node)), [site]) => Some((site.clone(), known_node(app, site, node).await?)),
        (Some(_), many) => {
            let sites = said(many);
            return Err(Fault::field("node", format!("a node is of one site, not of {sites}")));
        }
    };
    Ok((place::read(app, handle, sites).await?, node))
}

async fn known_node(app: &App, site: &SiteName, node: &str) -> Result<NodeName, Fault> {
    let node: NodeName = name("node", node)?;
    let fleet = app.brain.read().await?;
    let view = fleet.site(site);
    let names: Vec<String> =
        view.into_iter().flat_map(|it| it.nodes.keys()).map(ToString::to_string).collect();
    if names.iter().any(|it| it == node.as_str()) {
        return Ok(node);
    }
    let known = catalog::listed(&names, "none yet: invite one with `colony node invite`");
    Err(Fault::not_found(format!("site {site} has no node `{node}`; there is {known}")))
}

/// A name stands for one application; another one needs another name.
fn check_application(
    handle: &DeploymentName,
    request: &DeployRequest,
    places: &[Place],
) -> Result<(), Fault> {
    let other = places.iter().find_map(|it| {
        let deployed = it.deployed.as_ref()?;
        let application = deployed.spec.application_id.to_string();
        (application != request.application).then_some((it.site.clone(), application))
    });
    other.map_or(Ok(()), |(site, application)| {
        Err(Fault::field(
            "name",
            format!("`{handle}` at {site} is application `{application}`; choose another name with `--name`"),
        ))
    })
}

/// The version a place gets: the asked one; when only other things change, the
/// one it has; else the newest.
async fn version_for(
    app: &App,
    request: &DeployRequest,
    place: &Place,
    newest: &Found,
) -> Result<Found, Fault> {
    let Some(deployed) =
        place.deployed.as_ref().filter(|_| request.version.is_none() && changes_other(request))
    else {
        return Ok(newest.clone());
    };
    let version = Facts::of(deployed).version;
    if version == newest.version {
        return Ok(newest.clone());
    }
    catalog::find(app.brain.store(), &request.application, Some(&version)).await
}

fn changes_other(request: &DeployRequest) -> bool {
    !request.parameters.is_empty()
        || !request.settings.is_empty()
        || request.node.is_some()
        || request.profile.is_some()
}

/// The catalog's entry of what is deployed, if it still has one.
async fn before(app: &App, place: &Place, next: &Found) -> Option<Found> {
    let facts = Facts::of(place.deployed.as_ref()?);
    if facts.version == next.version {
        return None;
    }
    catalog::find(app.brain.store(), &facts.application, Some(&facts.version)).await.ok()
}

async fn known_nodes(app: &App, places: &[Place]) -> Result<Vec<(String, Capabilities)>, Fault> {
    let fleet = app.brain.read().await?;
    let mut known = Vec::new();
    for place in places {
        let Some(view) = fleet.site(&place.site) else { continue };
        for (node, it) in &view.nodes {
            let name = format!("{}/{node}", place.site);
            known.extend(it.capabilities.clone().map(|it| (name, it)));
        }
    }
    Ok(known)
}

fn add(plan: &mut Plan, handle: &DeploymentName, place: &Place, built: Built) {
    let before = values::values_of(place.deployed.as_ref());
    let after = values::values_of(Some(&built.deployment));
    for change in values::changes(&before, &after) {
        if place.deployed.is_some() && !plan.view.parameters.contains(&change) {
            plan.view.parameters.push(change);
        }
    }
    for reason in built.reasons.iter().filter(|_| place.deployed.is_none()) {
        target::remark(plan, reason);
    }
    let (site, text) = (place.site.clone(), Some(built.text.clone()));
    plan.next.push(Next { site, text, fresh: place.deployed.is_none() });
    plan.edit(&place.site, place.path(handle), place.file.as_ref(), Some(built.text));
}

/// The one value all have, if they agree.
fn agreed(all: &[String]) -> Option<String> {
    let first = all.first()?;
    all.iter().all(|it| it == first).then(|| first.clone())
}

fn message(handle: &DeploymentName, plan: &Plan, places: &[Place]) -> String {
    let version = plan.view.version.as_deref().unwrap_or("with other settings");
    let verb = if places.iter().all(|it| it.deployed.is_none()) { "Deploy" } else { "Update" };
    let to = if verb == "Update" { " to" } else { "" };
    format!("{verb} {handle}{to} {version} at {}", said(places.iter().map(|it| &it.site)))
}
