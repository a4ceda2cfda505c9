//! A deployment across its sites.

use colony_core::fleet::{Fleet, Outcome, SiteView, overall};
use colony_core::id::{DeploymentName, SiteName};
use colony_core::site::deployment_path;
use colony_core::time::{HumanDuration, Timestamp};
use colony_core::why::{AttemptCause, Cause, Why};

use super::deployment_site::{DeploymentSiteBuilder, archived};
use super::why::reason;
use super::{Context, Page, sentence, target_blob};
use crate::view::{DeploymentSite, DeploymentView, PlacementView};

/// The deployments that exist or are about to, of one site or of all.
pub fn deployments(
    fleet: &Fleet,
    site: Option<&SiteName>,
    page: Page<'_>,
    context: &Context<'_>,
) -> Vec<DeploymentView> {
    let names = fleet.deployment_names().filter(|it| page.is_behind(it.as_str()));
    let at_site =
        |it: &&DeploymentName| site.is_none_or(|site| fleet.sites_of(it).any(|at| at.0 == site));
    let views = names.filter(at_site).filter_map(|it| deployment(fleet, it, context));
    views.take(page.limit).collect()
}

/// One deployment, also a deleted one; `None` if it never existed.
pub fn deployment(
    fleet: &Fleet,
    name: &DeploymentName,
    context: &Context<'_>,
) -> Option<DeploymentView> {
    let sees = |site: &SiteName| (context.sees)(site);
    let live: Vec<(&SiteName, &SiteView)> = fleet.sites_of(name).filter(|it| sees(it.0)).collect();
    let mut sites: Vec<(DeploymentSite, Outcome)> =
        live.iter().map(|(site, view)| at_site(fleet, site, view, name, context)).collect();
    let leaving = live.iter().all(|(_, view)| view.deployments_named(name).all(|it| it.withdrawn));
    if leaving {
        let gone = fleet.last_deletion(name).into_iter().filter(|it| sees(it.0));
        let mut gone: Vec<_> = gone.map(|(site, archive)| archived(site, archive)).collect();
        gone.sort_by(|a, b| a.0.site.cmp(&b.0.site));
        sites.extend(gone);
    }
    if sites.is_empty() {
        return None;
    }
    let outcomes: Vec<Outcome> = sites.iter().map(|it| it.1).collect();
    let sites: Vec<DeploymentSite> = sites.into_iter().map(|it| it.0).collect();
    let view = DeploymentView {
        name: name.clone(),
        application: application(&live, name, context),
        version: common_version(&sites),
        outcome: overall(&outcomes),
        sentence: String::new(),
        sites,
    };
    Some(DeploymentView { sentence: sentence::deployment(&view, context.now), ..view })
}

fn at_site(
    fleet: &Fleet,
    site: &SiteName,
    view: &SiteView,
    name: &DeploymentName,
    context: &Context<'_>,
) -> (DeploymentSite, Outcome) {
    let outcome = view.outcome(site, name, context.now);
    let mut shown = DeploymentSiteBuilder { site, view, name, context }.build();
    if outcome != Outcome::Installed {
        let whys = fleet.why(site, name, context.git_problem, context.now).unwrap_or_default();
        shown.why = whys.iter().map(|it| reason(site, it, context)).collect();
        if shown.silent_since.is_none() {
            shown.placements.iter_mut().for_each(|it| show_settling(it, &whys, context.now));
        }
    }
    (shown, outcome)
}

/// Containers that run and only have to go on running are shown so, unless an
/// image is being pulled.
fn show_settling(placement: &mut PlacementView, whys: &[Why], now: Timestamp) {
    let settling = |it: &Cause| {
        let Cause::Attempt(AttemptCause::InProgress { node, settling: Some(settling), .. }) = it
        else {
            return None;
        };
        let (runs, needs) = (now.since(settling.since), settling.until.since(settling.since));
        let (runs, needs) = (HumanDuration(runs), HumanDuration(needs));
        let text = format!("running for {runs}, counts as INSTALLED after {needs}");
        (*node == placement.node).then_some(text)
    };
    if placement.progress.is_none() {
        placement.progress = whys.iter().flat_map(Why::causes).find_map(settling);
    }
}

fn application(
    live: &[(&SiteName, &SiteView)],
    name: &DeploymentName,
    context: &Context<'_>,
) -> String {
    let queued = live.iter().find_map(|(site, _)| context.queued.get(&deployment_path(site, name)));
    let known = live.iter().find_map(|(_, view)| {
        let wanted = view.central_changes.get(name).and_then(target_blob);
        let accepted = view.deployment_named(name).map(|it| &it.accepted.blob);
        context.versions.get(wanted.or(accepted)?)
    });
    let application = queued.or(known.map(|it| &**it)).map(|it| it.application.as_str());
    application.or(context.gone).unwrap_or_default().to_owned()
}

/// The version of all sites, if it is the same.
fn common_version(sites: &[DeploymentSite]) -> Option<String> {
    let mut versions = sites.iter().filter(|it| !it.is_gone()).map(|it| &it.version);
    let first = versions.next()?.clone();
    versions.all(|it| *it == first).then_some(first)?
}
