//! Plans a deploy request, which creates or updates a deployment by name: builds
//! the file of each selected site.

use std::collections::{BTreeMap, BTreeSet};

use colony_api::render::listed;
use colony_api::request::DeployRequest;
use colony_core::id::{DeploymentName, NodeName, SiteName};
use colony_core::margo::Capabilities;

use super::carry::{self, CarriedValues, DifferingParameter};
use super::draft::{Draft, DraftedFile};
use super::inputs::{DefaultSites, DeploymentAtSite, PlanInputs, read_plan_inputs};
use super::{Plan, PlannedFile, render, sites_text, view};
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
    let name = request.name.as_ref().unwrap_or(&request.application);
    let name: DeploymentName = parse_name("name", name)?;
    let node = request
        .node
        .as_deref()
        .map(|it| it.split_once('/').map_or((None, it), |(s, n)| (Some(s), n)));
    // Fails early if the version is unknown.
    catalog::find(app.brain.store(), &request.application, request.version.as_deref()).await?;
    let wanted = sites_wanted(request, node.and_then(|it| it.0));
    let default = DefaultSites::FileOrOnlySite;
    let inputs = read_plan_inputs(app, operator, &name, &wanted, default).await?;
    let targets = &inputs.selected;
    targets.iter().try_for_each(|it| operator.require_role(Role::Operator, &it.site))?;
    let node = node.map(|it| requested_node(&inputs, it.1)).transpose()?;
    check_application(&name, request, targets)?;
    let mut plan = Plan::new(view(&name, &request.application), String::new());
    draft(app, &mut plan, &name, request, &inputs, node.as_ref(), targets).await?;
    render::complete(&mut plan, &name, &inputs.snapshot);
    plan.message = message(&name, &plan, targets);
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
fn requested_node(inputs: &PlanInputs, node: &str) -> Result<(SiteName, NodeName), Fault> {
    let [target] = inputs.selected.as_slice() else {
        let sites = sites_text(inputs.selected.iter().map(|it| &it.site));
        return Err(Fault::field(
            "node",
            format!("`--node` names a node of one site; the request selects {sites}"),
        ));
    };
    let (site, node): (&SiteName, NodeName) = (&target.site, parse_name("node", node)?);
    let nodes = || inputs.view(site).into_iter().flat_map(|it| it.nodes.keys());
    if nodes().any(|it| *it == node) {
        return Ok((site.clone(), node));
    }
    let known = listed(nodes(), "none yet (invite one with `colony node invite`)");
    Err(Fault::not_found(format!("site {site} has no node `{node}`; its nodes: {known}")))
}

/// Drafts the next file of these targets; either all of them or none.
pub(super) async fn draft(
    app: &App,
    plan: &mut Plan,
    name: &DeploymentName,
    request: &DeployRequest,
    inputs: &PlanInputs,
    node: Option<&(SiteName, NodeName)>,
    targets: &[DeploymentAtSite],
) -> Result<(), Fault> {
    let wanted = request.version.as_deref();
    let newest = catalog::find(app.brain.store(), &request.application, wanted).await?;
    let known = known_nodes(inputs, targets);
    let carried = match targets.iter().any(|it| it.deployed.is_none()) {
        true => carry::carried(app, inputs).await,
        false => CarriedValues::default(),
    };
    let deployed = targets.iter().filter_map(|it| it.deployed.as_ref());
    let common_version =
        common_value(&deployed.map(|it| Facts::of(it).version).collect::<Vec<_>>());
    let (mut versions, mut built, mut errors) = (Vec::new(), Vec::new(), BTreeMap::new());
    for target in targets {
        let version = version_for(app, request, target, common_version.as_deref(), &newest).await?;
        let deployed = deployed_version(app, target, &version).await;
        let carried = &carried.values;
        let draft = Draft { name, request, target, version: &version, node, carried };
        match draft.build(deployed.as_ref(), &known) {
            Ok(next) => built.push(next),
            Err(errors_here) => errors.extend(errors_here),
        }
        versions.push(version.version);
    }
    if !errors.is_empty() {
        return Err(Fault::fields(errors));
    }
    let profiles: Vec<String> = built.iter().map(|it| it.profile.clone()).collect();
    let given = |it: &&DifferingParameter| request.parameters.contains_key(&it.name);
    let not_given = carried.differing.iter().filter(|it| !given(it));
    not_given.for_each(|it| render::warn(&mut plan.view, &it.to_string()));
    for target in targets {
        if let Some(finding) = &target.unusable_because {
            let (site, path) = (&target.site, target.path(name));
            let problem = format!(
                "{site}: {path} in Git cannot be used ({finding}); the change starts from the \
                 version in force"
            );
            render::warn(&mut plan.view, &problem);
        }
    }
    targets.iter().zip(built).for_each(|(target, next)| add(plan, name, target, next));
    plan.view.version = common_value(&versions);
    plan.view.profile = common_value(&profiles);
    Ok(())
}

/// A name belongs to one application; another application needs another name.
fn check_application(
    name: &DeploymentName,
    request: &DeployRequest,
    targets: &[DeploymentAtSite],
) -> Result<(), Fault> {
    let other = targets.iter().find_map(|it| {
        let deployed = it.deployed.as_ref()?;
        let application = deployed.spec.application_id.to_string();
        (application != request.application).then_some((it.site.clone(), application))
    });
    other.map_or(Ok(()), |(site, application)| {
        Err(Fault::field(
            "name",
            format!("`{name}` at {site} deploys application `{application}`; choose another name with `--name`"),
        ))
    })
}

/// The version for one site: the requested one. If only the configuration
/// changes, the deployed one, or at a new site the version all other sites share.
/// Otherwise the newest.
async fn version_for(
    app: &App,
    request: &DeployRequest,
    target: &DeploymentAtSite,
    common_version: Option<&str>,
    newest: &CatalogVersion,
) -> Result<CatalogVersion, Fault> {
    if request.version.is_some() || !changes_configuration(request) {
        return Ok(newest.clone());
    }
    let own = target.deployed.as_ref().map(|it| Facts::of(it).version);
    let Some(version) = own.or_else(|| common_version.map(str::to_owned)) else {
        return Ok(newest.clone());
    };
    if version == newest.version {
        return Ok(newest.clone());
    }
    catalog::find(app.brain.store(), &request.application, Some(&version)).await
}

fn changes_configuration(request: &DeployRequest) -> bool {
    !request.parameters.is_empty()
        || !request.settings.is_empty()
        || request.node.is_some()
        || request.profile.is_some()
}

/// The catalog entry of the deployed version, if there still is one.
async fn deployed_version(
    app: &App,
    target: &DeploymentAtSite,
    next: &CatalogVersion,
) -> Option<CatalogVersion> {
    let facts = Facts::of(target.deployed.as_ref()?);
    if facts.version == next.version {
        return None;
    }
    catalog::find(app.brain.store(), &facts.application, Some(&facts.version)).await.ok()
}

/// The nodes of these targets, with the capabilities they last reported.
fn known_nodes(inputs: &PlanInputs, targets: &[DeploymentAtSite]) -> Vec<(String, Capabilities)> {
    let mut known = Vec::new();
    for target in targets {
        let Some(view) = inputs.view(&target.site) else { continue };
        for (node, it) in &view.nodes {
            let name = format!("{}/{node}", target.site);
            known.extend(it.capabilities.clone().map(|it| (name, it)));
        }
    }
    known
}

fn add(plan: &mut Plan, name: &DeploymentName, target: &DeploymentAtSite, built: DraftedFile) {
    if let Some(warning) = built.warning.filter(|_| target.deployed.is_none()) {
        render::warn(&mut plan.view, &warning);
    }
    let mut next = PlannedFile::new(&target.site, Some(built.text.clone()));
    next.fresh = target.deployed.is_none();
    next.file.carried = built.carried;
    plan.next.push(next);
    plan.edit(&target.site, target.path(name), target.file.as_ref(), Some(built.text));
}

/// The value that all have in common, if there is one.
fn common_value(all: &[String]) -> Option<String> {
    let first = all.first()?;
    all.iter().all(|it| it == first).then(|| first.clone())
}

/// The subject of the commit: the version if it changes, else the change.
fn message(name: &DeploymentName, plan: &Plan, targets: &[DeploymentAtSite]) -> String {
    let sites = sites_text(targets.iter().map(|it| &it.site));
    let version = plan.view.version.as_deref();
    if targets.iter().all(|it| it.deployed.is_none()) {
        let version = version.map(|it| format!(" {it}")).unwrap_or_default();
        return format!("Deploy {name}{version} at {sites}");
    }
    let had = |it: &DeploymentAtSite| it.deployed.as_ref().map(|it| Facts::of(it).version);
    let same = version.is_some() && targets.iter().all(|it| had(it).as_deref() == version);
    let values = plan.view.parameters.iter().chain(&plan.view.settings);
    let changed: BTreeSet<&str> = values.map(|it| it.name.as_str()).collect();
    match (version, changed.is_empty()) {
        (Some(version), _) if !same => format!("Update {name} to {version} at {sites}"),
        (_, true) => format!("Update {name} at {sites}"),
        (_, false) => format!("Change {} of {name} at {sites}", listed(changed, "")),
    }
}
