//! `delete`: the files go, the sites take the workloads away.

use std::collections::BTreeSet;

use colony_core::id::{DeploymentId, DeploymentName, SiteName};
use colony_core::site::Action;

use super::place::{Place, places};
use super::{Next, Plan, said, target, view};
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::fault::Fault;
use crate::repo::Facts;
use crate::view::no_deployment;

/// Plans the end of a deployment. With `force` sites stop waiting for nodes
/// that cannot confirm it.
pub(crate) async fn delete(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
    sites: &[String],
    force: bool,
) -> Result<Plan, Fault> {
    operator.must_be(Role::Operator)?;
    let mut found = places(app, operator, name, sites).await?;
    let named: BTreeSet<&str> = sites.iter().map(String::as_str).collect();
    let meant = |it: &SiteName| named.is_empty() || named.contains(it.as_str());
    let mut leaving = leaving(app, operator, name).await?;
    leaving.retain(meant);
    if found.iter().all(|it| it.file.is_none()) && leaving.is_empty() {
        return Err(no_deployment(&*app.brain.read().await?, operator, name));
    }
    let all = found.iter().map(|it| &it.site).chain(&leaving);
    all.into_iter().try_for_each(|it| operator.must_be_at(Role::Operator, it))?;
    check(app, name, &found, force).await?;
    let application = found.iter().find_map(|it| it.deployed.as_ref());
    let application = application.map(|it| Facts::of(it).application).unwrap_or_default();
    let mut plan = Plan::new(view(name, &application), String::new());
    found.retain(|it| it.file.is_some());
    for place in &found {
        plan.next.push(Next { site: place.site.clone(), text: None, fresh: false });
        plan.edit(&place.site, place.path(name), place.file.as_ref(), None);
    }
    if force {
        (plan.commands, plan.forces) = forced(app, name, &found, leaving).await?;
    }
    plan.message = format!("Delete {name} at {}", said(&plan.sites()));
    target::fill(app, &mut plan, name).await?;
    Ok(plan)
}

/// The sites that take it away already.
async fn leaving(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
) -> Result<Vec<SiteName>, Fault> {
    let fleet = app.brain.read().await?;
    let sites = fleet.sites_of(name).map(|it| it.0.clone());
    Ok(sites.filter(|it| operator.sees(it)).collect())
}

async fn check(
    app: &App,
    name: &DeploymentName,
    places: &[Place],
    force: bool,
) -> Result<(), Fault> {
    let fleet = app.brain.read().await?;
    let Err(refusals) = fleet.delete_check(name, force) else { return Ok(()) };
    let meant: Vec<String> = refusals
        .iter()
        .filter(|(site, ..)| places.iter().any(|it| it.site == *site))
        .map(|(site, node, refusal)| format!("{site}/{node}: {refusal}"))
        .collect();
    match meant.is_empty() {
        true => Ok(()),
        false => {
            Err(Fault::refused(format!("{}; `--force` deletes all the same", meant.join("; "))))
        }
    }
}

type Forced = (Vec<(SiteName, Action)>, Vec<(SiteName, DeploymentId)>);

/// What ends the wait for a confirmation: an order where the site takes it away
/// already, else a wish that becomes one when the site has seen the removal.
async fn forced(
    app: &App,
    name: &DeploymentName,
    places: &[Place],
    leaving: Vec<SiteName>,
) -> Result<Forced, Fault> {
    let sites: BTreeSet<SiteName> =
        places.iter().map(|it| it.site.clone()).chain(leaving).collect();
    let fleet = app.brain.read().await?;
    let (mut commands, mut wishes) = (Vec::new(), Vec::new());
    for site in sites {
        let Some(view) = fleet.site(&site) else { continue };
        for it in view.deployments_named(name) {
            let deployment = it.id.clone();
            match it.withdrawn {
                true => commands.push((site.clone(), Action::Force { deployment, node: None })),
                false => wishes.push((site.clone(), deployment)),
            }
        }
    }
    Ok((commands, wishes))
}
