//! `rollback`: back to an earlier version from Git, or to the last good
//! revision of each site.

use std::collections::BTreeSet;

use colony_api::request::{DeployRequest, Rollback};
use colony_core::id::{BlobId, DeploymentName, SiteName};
use colony_core::margo::ApplicationDeployment;
use colony_core::plan::plan_rollback;
use colony_core::site::Action;

use super::inputs::{DefaultSites, DeploymentAtSite, PlanInputs, read_plan_inputs};
use super::{Plan, PlannedFile, deploy, hash, not_at_sites, render, sites_text, view};
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::fault::Fault;
use crate::repo::Facts;

/// How far back the history is searched.
const HISTORY: usize = 500;

/// Plans a rollback.
pub(crate) async fn rollback(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
    request: &Rollback,
) -> Result<Plan, Fault> {
    let inputs = read_plan_inputs(app, operator, name, &request.sites, DefaultSites::File).await?;
    let targets = &inputs.selected;
    targets.iter().try_for_each(|it| operator.require_role(Role::Operator, &it.site))?;
    if targets.iter().all(|it| it.file.is_none()) {
        return Err(not_at_sites(app, operator, name, &request.sites));
    }
    match &request.to {
        Some(version) => restore(app, name, version, &inputs).await,
        None => order(app, name, &inputs).await,
    }
}

/// Restores an earlier file, at all sites or at none. A site that never had the
/// version takes it from the catalog.
async fn restore(
    app: &App,
    name: &DeploymentName,
    version: &str,
    inputs: &PlanInputs,
) -> Result<Plan, Fault> {
    let application = application(&inputs.selected);
    let mut plan = Plan::new(view(name, &application), String::new());
    let (mut without, mut versions) = (Vec::new(), BTreeSet::new());
    for target in inputs.selected.iter().filter(|it| it.file.is_some()) {
        let Some(text) = earlier(app, name, version, target).await? else {
            without.push(target.clone());
            continue;
        };
        let read = ApplicationDeployment::parse(text.as_bytes());
        versions.extend(read.map(|it| Facts::of(&it.value).version));
        plan.next.push(PlannedFile::new(&target.site, Some(text.clone())));
        plan.edit(&target.site, target.path(name), target.file.as_ref(), Some(text));
    }
    if !without.is_empty() {
        let request = from_catalog(&application, name, version);
        deploy::draft(app, &mut plan, name, &request, inputs, None, &without).await?;
    }
    if versions.len() <= 1 {
        plan.view.version = versions.pop_first().or_else(|| Some(version.to_owned()));
    }
    let sites = sites_text(inputs.selected.iter().map(|it| &it.site));
    plan.message = format!("Roll {name} back to {version} at {sites}");
    render::complete(&mut plan, name, &inputs.snapshot);
    Ok(plan)
}

fn from_catalog(application: &str, name: &DeploymentName, version: &str) -> DeployRequest {
    DeployRequest {
        application: application.to_owned(),
        version: Some(version.to_owned()),
        name: Some(name.to_string()),
        ..DeployRequest::default()
    }
}

/// An abbreviated commit id, as people copy it.
fn is_abbreviation(text: &str, commit: &str) -> bool {
    text.len() >= 7 && commit.starts_with(text)
}

/// The newest file of this version in the target's history, or that of a commit.
async fn earlier(
    app: &App,
    name: &DeploymentName,
    version: &str,
    target: &DeploymentAtSite,
) -> Result<Option<String>, Fault> {
    let path = target.path(name);
    let history = app.repo.call("read the history", move |git| git.history(&path, HISTORY)).await?;
    let by_commit = history.iter().find(|it| is_abbreviation(version, it.revision.as_str()));
    let by_commit = by_commit.and_then(|it| it.blob.clone());
    let blobs: Vec<BlobId> = history.into_iter().filter_map(|it| it.blob).collect();
    let facts = app.repo.facts(blobs.iter().cloned().collect()).await?;
    let found = blobs.iter().find(|it| facts.get(*it).is_some_and(|it| it.version == version));
    let Some(found) = found.or(by_commit.as_ref()) else { return Ok(None) };
    let texts = app.repo.texts(BTreeSet::from([found.clone()])).await?;
    Ok(texts.get(found).map(|it| with_own_id(it.clone(), target)))
}

/// A deployment keeps its id, also if it was deleted and recreated since.
fn with_own_id(text: String, target: &DeploymentAtSite) -> String {
    let Some(own) = &target.deployed else { return text };
    let Ok(mut earlier) = ApplicationDeployment::parse(text.as_bytes()) else { return text };
    if earlier.value.id == own.id {
        return text;
    }
    earlier.value.id = own.id.clone();
    earlier.value.to_yaml()
}

/// Orders every site back to its last good revision. The sites decide; Git
/// follows them, so the diff is shown and not written here.
async fn order(app: &App, name: &DeploymentName, inputs: &PlanInputs) -> Result<Plan, Fault> {
    let sites: Vec<SiteName> = inputs.selected.iter().map(|it| it.site.clone()).collect();
    let back = plan_rollback(name, &sites, &inputs.snapshot);
    if back.orders.is_empty() {
        let reasons: Vec<String> = back.refusals.iter().map(ToString::to_string).collect();
        let reasons = match reasons.is_empty() {
            true => format!("no site has reported deployment `{name}` yet"),
            false => reasons.join("; "),
        };
        return Err(Fault::refused(format!("{reasons}; name a version or a commit with `--to`")));
    }
    let mut plan = Plan::new(view(name, &application(&inputs.selected)), String::new());
    for refusal in &back.refusals {
        render::warn(&mut plan.view, &format!("left out: {refusal}"));
    }
    let blobs: BTreeSet<BlobId> = back.orders.iter().map(|it| it.2.blob.clone()).collect();
    let texts = app.repo.texts(blobs).await?;
    render::show(&mut plan.view, back.with_files(&texts, &inputs.snapshot));
    for (site, deployment, good) in back.orders {
        let target = inputs.selected.iter().find(|it| it.site == site);
        if let Some((target, good)) = target.zip(texts.get(&good.blob)) {
            let before = target.file.as_ref().map(|it| it.1.as_str());
            plan.show_diff(&target.path(name), before, Some(good));
        }
        let bad = inputs.view(&site).and_then(|it| it.deployments.get(&deployment));
        let bad = bad.and_then(|it| inputs.snapshot.versions.get(&it.accepted.blob));
        let bad = bad.map_or("the present revision", String::as_str);
        let release = format!("colony quarantine release {name} --site {site}");
        render::warn(
            &mut plan.view,
            &format!("site `{site}` will refuse {bad} until you run `{release}`"),
        );
        plan.commands.push((site, Action::Rollback { deployment }));
    }
    plan.message = format!("Roll {name} back at {}", sites_text(&plan.sites()));
    plan.view.version = to_version(&plan);
    plan.view.hash = hash::hash(&plan, name);
    Ok(plan)
}

/// The version that all nodes go back to, if it is the same for all.
fn to_version(plan: &Plan) -> Option<String> {
    let versions: BTreeSet<&String> =
        plan.view.targets.iter().filter_map(|it| it.to_version.as_ref()).collect();
    if versions.len() == 1 { versions.first().map(|it| (*it).clone()) } else { None }
}

fn application(targets: &[DeploymentAtSite]) -> String {
    let deployed = targets.iter().find_map(|it| it.deployed.as_ref());
    deployed.map(|it| Facts::of(it).application).unwrap_or_default()
}
