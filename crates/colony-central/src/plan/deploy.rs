//! `deploy`: an upsert by name. Builds the next file for every place.

use std::collections::{BTreeMap, BTreeSet};

use colony_api::render::listed;
use colony_api::request::DeployRequest;
use colony_core::id::{DeploymentName, NodeName, SiteName};
use colony_core::margo::Capabilities;

use super::carry::{self, CarriedValues, DifferingParameter};
use super::draft::{Built, Draft};
use super::inputs::{DefaultSites, DeploymentAtSite, PlanInputs, read_plan_inputs};
use super::{Next, Plan, render, sites_text, view};
use crate::api::extract::parse_name;
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::catalog::{self, CatalogVersion};
use crate::fault::Fault;
use crate::repo::Facts;

/// Plans a request to deploy.
pub(crate) async fn deploy(
    app: &App,
    operator: &Operator,
    request: &DeployRequest,
) -> Result<Plan, Fault> {
    let handle = request.name.as_ref().unwrap_or(&request.application);
    let handle: DeploymentName = parse_name("name", handle)?;
    let node = request
        .node
        .as_deref()
        .map(|it| it.split_once('/').map_or((None, it), |(s, n)| (Some(s), n)));
    catalog::find(app.brain.store(), &request.application, request.version.as_deref()).await?;
    let wanted = sites_wanted(request, node.and_then(|it| it.0));
    let default = DefaultSites::FileOrOnlySite;
    let inputs = read_plan_inputs(app, operator, &handle, &wanted, default).await?;
    let places = &inputs.selected;
    places.iter().try_for_each(|it| operator.must_be_at(Role::Operator, &it.site))?;
    let node = node.map(|it| node_of(&inputs, it.1)).transpose()?;
    check_application(&handle, request, places)?;
    let mut plan = Plan::new(view(&handle, &request.application), String::new());
    draft(app, &mut plan, &handle, request, &inputs, node.as_ref(), places).await?;
    render::complete(&mut plan, &handle, &inputs.snapshot);
    plan.message = message(&handle, &plan, places);
    Ok(plan)
}

fn sites_wanted(request: &DeployRequest, of_node: Option<&str>) -> Vec<String> {
    let mut wanted = request.sites.clone();
    if let Some(site) = of_node.filter(|site| !wanted.iter().any(|it| it == site)) {
        wanted.push(site.to_owned());
    }
    wanted
}

/// The node that a request names, at the only site of the request.
fn node_of(inputs: &PlanInputs, node: &str) -> Result<(SiteName, NodeName), Fault> {
    let [place] = inputs.selected.as_slice() else {
        let sites = sites_text(inputs.selected.iter().map(|it| &it.site));
        return Err(Fault::field("node", format!("a node is of one site, not of {sites}")));
    };
    let (site, node): (&SiteName, NodeName) = (&place.site, parse_name("node", node)?);
    let nodes = || inputs.view(site).into_iter().flat_map(|it| it.nodes.keys());
    if nodes().any(|it| *it == node) {
        return Ok((site.clone(), node));
    }
    let known = listed(nodes(), "none yet: invite one with `colony node invite`");
    Err(Fault::not_found(format!("site {site} has no node `{node}`; there is {known}")))
}

/// Drafts the next file of these places; either all of them or none.
pub(super) async fn draft(
    app: &App,
    plan: &mut Plan,
    handle: &DeploymentName,
    request: &DeployRequest,
    inputs: &PlanInputs,
    node: Option<&(SiteName, NodeName)>,
    places: &[DeploymentAtSite],
) -> Result<(), Fault> {
    let wanted = request.version.as_deref();
    let newest = catalog::find(app.brain.store(), &request.application, wanted).await?;
    let known = known_nodes(inputs, places);
    let carried = match places.iter().any(|it| it.deployed.is_none()) {
        true => carry::carried(app, inputs).await,
        false => CarriedValues::default(),
    };
    let deployed = places.iter().filter_map(|it| it.deployed.as_ref());
    let running = agreed(&deployed.map(|it| Facts::of(it).version).collect::<Vec<_>>());
    let (mut versions, mut built, mut errors) = (Vec::new(), Vec::new(), BTreeMap::new());
    for place in places {
        let found = version_for(app, request, place, running.as_deref(), &newest).await?;
        let before = before(app, place, &found).await;
        let carried = &carried.values;
        let draft = Draft { handle, request, place, found: &found, node, carried };
        match draft.build(before.as_ref(), &known) {
            Ok(next) => built.push(next),
            Err(found) => errors.extend(found),
        }
        versions.push(found.version);
    }
    if !errors.is_empty() {
        return Err(Fault::fields(errors));
    }
    let profiles: Vec<String> = built.iter().map(|it| it.profile.clone()).collect();
    let given = |it: &&DifferingParameter| request.parameters.contains_key(&it.name);
    let lacking = carried.differing.iter().filter(|it| !given(it));
    lacking.for_each(|it| render::warn(&mut plan.view, &it.to_string()));
    for place in places {
        if let Some(finding) = &place.unusable_because {
            let (site, path) = (&place.site, place.path(handle));
            let problem = format!(
                "{site}: {path} in Git cannot be used ({finding}); the change starts from the \
                 version in force"
            );
            render::warn(&mut plan.view, &problem);
        }
    }
    places.iter().zip(built).for_each(|(place, next)| add(plan, handle, place, next));
    plan.view.version = agreed(&versions);
    plan.view.profile = agreed(&profiles);
    Ok(())
}

/// A name belongs to one application; another application needs another name.
fn check_application(
    handle: &DeploymentName,
    request: &DeployRequest,
    places: &[DeploymentAtSite],
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

/// The version a place gets: the one the request names; when only other things
/// change, the one it has, or a new place the one that all others have
/// (`running`); else the newest.
async fn version_for(
    app: &App,
    request: &DeployRequest,
    place: &DeploymentAtSite,
    running: Option<&str>,
    newest: &CatalogVersion,
) -> Result<CatalogVersion, Fault> {
    if request.version.is_some() || !changes_other(request) {
        return Ok(newest.clone());
    }
    let own = place.deployed.as_ref().map(|it| Facts::of(it).version);
    let Some(version) = own.or_else(|| running.map(str::to_owned)) else {
        return Ok(newest.clone());
    };
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

/// The catalog entry of the deployed version, if there still is one.
async fn before(
    app: &App,
    place: &DeploymentAtSite,
    next: &CatalogVersion,
) -> Option<CatalogVersion> {
    let facts = Facts::of(place.deployed.as_ref()?);
    if facts.version == next.version {
        return None;
    }
    catalog::find(app.brain.store(), &facts.application, Some(&facts.version)).await.ok()
}

/// The nodes of these places, with the capabilities they last reported.
fn known_nodes(inputs: &PlanInputs, places: &[DeploymentAtSite]) -> Vec<(String, Capabilities)> {
    let mut known = Vec::new();
    for place in places {
        let Some(view) = inputs.view(&place.site) else { continue };
        for (node, it) in &view.nodes {
            let name = format!("{}/{node}", place.site);
            known.extend(it.capabilities.clone().map(|it| (name, it)));
        }
    }
    known
}

fn add(plan: &mut Plan, handle: &DeploymentName, place: &DeploymentAtSite, built: Built) {
    if let Some(warning) = built.warning.filter(|_| place.deployed.is_none()) {
        render::warn(&mut plan.view, &warning);
    }
    let mut next = Next::new(&place.site, Some(built.text.clone()));
    next.fresh = place.deployed.is_none();
    next.file.carried = built.carried;
    plan.next.push(next);
    plan.edit(&place.site, place.path(handle), place.file.as_ref(), Some(built.text));
}

/// The value that all have in common, if there is one.
fn agreed(all: &[String]) -> Option<String> {
    let first = all.first()?;
    all.iter().all(|it| it == first).then(|| first.clone())
}

/// The subject of the commit: the version if it changes, else the change.
fn message(handle: &DeploymentName, plan: &Plan, places: &[DeploymentAtSite]) -> String {
    let sites = sites_text(places.iter().map(|it| &it.site));
    let version = plan.view.version.as_deref();
    if places.iter().all(|it| it.deployed.is_none()) {
        let version = version.map(|it| format!(" {it}")).unwrap_or_default();
        return format!("Deploy {handle}{version} at {sites}");
    }
    let had = |it: &DeploymentAtSite| it.deployed.as_ref().map(|it| Facts::of(it).version);
    let same = version.is_some() && places.iter().all(|it| had(it).as_deref() == version);
    let values = plan.view.parameters.iter().chain(&plan.view.settings);
    let changed: BTreeSet<&str> = values.map(|it| it.name.as_str()).collect();
    match (version, changed.is_empty()) {
        (Some(version), _) if !same => format!("Update {handle} to {version} at {sites}"),
        (_, true) => format!("Update {handle} at {sites}"),
        (_, false) => format!("Change {} of {handle} at {sites}", listed(changed, "")),
    }
}
