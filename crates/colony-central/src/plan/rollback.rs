//! `rollback`: back to a version Git had before, or to what each site knows as
//! good.

use std::collections::{BTreeMap, BTreeSet};

use colony_api::request::{DeployRequest, Rollback};
use colony_api::view::{PlanAction, PlanTarget};
use colony_core::id::{BlobId, DeploymentName};
use colony_core::site::Action;
use colony_margo::ApplicationDeployment;

use super::place::{Place, places};
use super::{Next, Plan, deploy, hash, said, target, view};
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::fault::Fault;
use crate::repo::Facts;

/// How far back the history is searched.
const HISTORY: usize = 500;

/// Plans a way back.
pub(crate) async fn rollback(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
    request: &Rollback,
) -> Result<Plan, Fault> {
    let places = places(app, operator, name, &request.sites).await?;
    places.iter().try_for_each(|it| operator.must_be_at(Role::Operator, &it.site))?;
    if places.iter().all(|it| it.file.is_none()) {
        return Err(Fault::not_found(format!("deployment `{name}` is nowhere in Git")));
    }
    match &request.to {
        Some(version) => restore(app, operator, name, version, &places).await,
        None => order(app, name, &places).await,
    }
}

/// Puts an earlier file back, everywhere or nowhere. A site that never had the
/// version takes it from the catalog.
async fn restore(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
    version: &str,
    places: &[Place],
) -> Result<Plan, Fault> {
    let application = application(places);
    let mut plan = Plan::new(view(name, &application), String::new());
    let mut strangers = Vec::new();
    for place in places.iter().filter(|it| it.file.is_some()) {
        let Some(text) = earlier(app, name, version, place).await? else {
            strangers.push(place.site.to_string());
            continue;
        };
        let next = Next { site: place.site.clone(), text: Some(text.clone()), fresh: false };
        plan.next.push(next);
        plan.edit(&place.site, place.path(name), place.file.as_ref(), Some(text));
    }
    if !strangers.is_empty() {
        let request = from_catalog(&application, name, version, strangers);
        plan.take_edits(deploy(app, operator, &request).await?);
    }
    plan.view.version = Some(version.to_owned());
    plan.message =
        format!("Roll {name} back to {version} at {}", said(places.iter().map(|it| &it.site)));
    target::fill(app, &mut plan, name).await?;
    Ok(plan)
}

fn from_catalog(
    application: &str,
    name: &DeploymentName,
    version: &str,
    sites: Vec<String>,
) -> DeployRequest {
    DeployRequest {
        application: application.to_owned(),
        version: Some(version.to_owned()),
        name: Some(name.to_string()),
        sites,
        ..DeployRequest::default()
    }
}

/// The newest file of this version in the place's history.
async fn earlier(
    app: &App,
    name: &DeploymentName,
    version: &str,
    place: &Place,
) -> Result<Option<String>, Fault> {
    let path = place.path(name);
    let history = app.repo.call("read the history", move |git| git.history(&path, HISTORY)).await?;
    let blobs: Vec<BlobId> = history.into_iter().filter_map(|it| it.blob).collect();
    let facts = app.repo.facts(blobs.iter().cloned().collect()).await?;
    let found = blobs.iter().find(|it| facts.get(*it).is_some_and(|it| it.version == version));
    let Some(found) = found else { return Ok(None) };
    let texts = app.repo.texts(BTreeSet::from([found.clone()])).await?;
    Ok(texts.get(found).map(|it| with_own_id(it.clone(), place)))
}

/// A deployment keeps its id, also if it was deleted and made again since.
fn with_own_id(text: String, place: &Place) -> String {
    let Some(own) = &place.deployed else { return text };
    let Ok(mut earlier) = ApplicationDeployment::parse(text.as_bytes()) else { return text };
    if earlier.value.id == own.id {
        return text;
    }
    earlier.value.id = own.id.clone();
    earlier.value.to_yaml()
}

/// Orders every site back to its last good revision.
async fn order(app: &App, name: &DeploymentName, places: &[Place]) -> Result<Plan, Fault> {
    let mut plan = Plan::new(view(name, &application(places)), String::new());
    let mut ways = Vec::new();
    {
        let fleet = app.brain.read().await?;
        for place in places {
            let Some(view) = fleet.site(&place.site) else { continue };
            let Some(deployment) = view.deployment_named(name).filter(|it| !it.withdrawn) else {
                continue;
            };
            let placed = view.placements_of(&deployment.id);
            let back: BTreeMap<_, _> = placed
                .filter_map(|it| {
                    let good = it.revisions.way_back().or(deployment.good.as_ref())?;
                    let from = it.revisions.target.clone()?;
                    (from.workload != good.workload)
                        .then(|| (it.id.node.clone(), (from.blob, good.blob.clone())))
                })
                .collect();
            ways.push((place.site.clone(), deployment.id.clone(), back));
        }
    }
    let blobs =
        ways.iter().flat_map(|it| it.2.values()).flat_map(|it| [it.0.clone(), it.1.clone()]);
    let facts = app.repo.facts(blobs.collect()).await?;
    let version = |blob: &BlobId| facts.get(blob).map(|it| it.version.clone());
    for (site, id, back) in ways.into_iter().filter(|it| !it.2.is_empty()) {
        for (node, (from, to)) in back {
            plan.view.targets.push(PlanTarget {
                site: site.clone(),
                node: Some(node),
                action: PlanAction::Update,
                from_version: version(&from),
                to_version: version(&to),
                reason: None,
            });
        }
        plan.commands.push((site, Action::Rollback { deployment: id }));
    }
    if plan.commands.is_empty() {
        return Err(Fault::refused(format!(
            "no site knows a good revision before the one `{name}` has; name one with `--to`"
        )));
    }
    plan.message = format!("Roll {name} back at {}", said(&plan.sites()));
    plan.view.hash = hash::hash(&plan, name);
    Ok(plan)
}

fn application(places: &[Place]) -> String {
    let deployed = places.iter().find_map(|it| it.deployed.as_ref());
    deployed.map(|it| Facts::of(it).application).unwrap_or_default()
}
