//! `delete`: removes the files, so that the sites remove the workloads.

pub(super) mod purge;

use colony_api::render::listed;
use colony_core::id::{DeploymentId, DeploymentName, SiteName};
use colony_core::site::Action;
use colony_core::time::HumanDuration;

use super::inputs::{DefaultSites, PlanInputs, read_plan_inputs};
use super::{Plan, PlannedFile, not_at_sites, render, sites_text, view};
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::fault::Fault;
use crate::repo::Facts;

/// How a deployment is deleted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeleteOptions {
    pub force: bool,
    /// Its volumes go with it.
    pub purge: bool,
}

/// Plans the deletion of a deployment. With `force` sites stop waiting for
/// nodes that cannot confirm it.
pub(crate) async fn delete(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
    sites: &[String],
    DeleteOptions { force, purge }: DeleteOptions,
) -> Result<Plan, Fault> {
    operator.must_be(Role::Operator)?;
    let inputs = read_plan_inputs(app, operator, name, sites, DefaultSites::FileOrRunning).await?;
    let leaving = leaving(&inputs, name, sites);
    let mut found = inputs.selected.clone();
    found.retain(|it| it.file.is_some());
    if found.is_empty() && leaving.is_empty() {
        return Err(not_at_sites(app, operator, name, sites));
    }
    let all = found.iter().map(|it| &it.site).chain(&leaving);
    all.into_iter().try_for_each(|it| operator.require_role(Role::Operator, it))?;
    check(&inputs, name, force)?;
    let application = found.iter().find_map(|it| it.deployed.as_ref());
    let application = application.map(|it| Facts::of(it).application).unwrap_or_default();
    let mut plan = Plan::new(view(name, &application), String::new());
    for target in &found {
        plan.next.push(PlannedFile::new(&target.site, None));
        plan.edit(&target.site, target.path(name), target.file.as_ref(), None);
    }
    if force {
        let others = leaving.iter().filter(|it| !found.iter().any(|at| at.site == **it));
        plan.next.extend(others.map(|it| PlannedFile::new(it, None)));
        (plan.commands, plan.forces) = forced(&inputs, name, &plan.next);
    }
    let all = found.iter().map(|it| &it.site).chain(&leaving).cloned().collect();
    purge::mark(app, &mut plan, &inputs, name, &all, purge).await?;
    let waits: Vec<String> = leaving
        .iter()
        .filter(|it| !plan.next.iter().any(|next| next.file.site == **it))
        .map(|it| removal_text(&inputs, it, name))
        .collect();
    if !waits.is_empty() {
        let problem = format!(
            "{name} is already being removed at {}; `colony why {name}` says what it waits for",
            listed(waits, "no site")
        );
        render::warn(&mut plan.view, &problem);
    }
    let what = if purge { " and its volumes" } else { "" };
    plan.message = format!("Delete {name}{what} at {}", sites_text(&plan.sites()));
    render::complete(&mut plan, name, &inputs.snapshot);
    Ok(plan)
}

/// `home (for 5 min, still on b1, b2)`
fn removal_text(inputs: &PlanInputs, site: &SiteName, name: &DeploymentName) -> String {
    let Some(it) = inputs.view(site).and_then(|it| it.removal(name)) else {
        return format!("{site} (the site has not seen the commit yet)");
    };
    let lasting = HumanDuration(inputs.snapshot.now.since(it.since));
    format!("{site} (for {lasting}, still on {})", listed(it.nodes, "no node"))
}

/// The selected sites that still report the deployment.
fn leaving(inputs: &PlanInputs, name: &DeploymentName, named: &[String]) -> Vec<SiteName> {
    let selected = |it: &SiteName| named.is_empty() || named.iter().any(|at| at == it.as_str());
    let sites = inputs.snapshot.sites.iter();
    let has = sites.filter(|it| it.1.view.deployments_named(name).next().is_some());
    has.map(|it| it.0.clone()).filter(selected).collect()
}

fn check(inputs: &PlanInputs, name: &DeploymentName, force: bool) -> Result<(), Fault> {
    let refused = inputs.selected.iter().flat_map(|target| {
        let refusals = inputs.view(&target.site).map(|it| it.delete_check(name, force));
        let text = |(node, refusal)| format!("{}/{node}: {refusal}", target.site);
        refusals.unwrap_or_default().into_iter().map(text)
    });
    let refused: Vec<String> = refused.collect();
    match refused.is_empty() {
        true => Ok(()),
        false => {
            Err(Fault::refused(format!("{}; `--force` deletes all the same", refused.join("; "))))
        }
    }
}

type Forced = (Vec<(SiteName, Action)>, Vec<(SiteName, DeploymentId)>);

/// What ends the wait for a confirmation: an order where the site already
/// removes the deployment, else a wish that becomes an order when the site has
/// seen the removal.
fn forced(inputs: &PlanInputs, name: &DeploymentName, next: &[PlannedFile]) -> Forced {
    let (mut commands, mut wishes) = (Vec::new(), Vec::new());
    for site in next.iter().map(|it| &it.file.site) {
        let Some(view) = inputs.view(site) else { continue };
        for it in view.deployments_named(name) {
            let deployment = it.id.clone();
            match it.withdrawn {
                true => commands.push((site.clone(), Action::Force { deployment, node: None })),
                false => wishes.push((site.clone(), deployment)),
            }
        }
    }
    (commands, wishes)
}
