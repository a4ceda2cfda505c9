//! Why a deployment differs from Git, at the whole site or on some nodes.

use crate::attempt::Revision;
use crate::document::Target;
use crate::event::HoldScope;
use crate::id::{DeploymentId, DeploymentName, PlacementId};
use crate::site::view::deployment_path;
use crate::site::{Deployment, Site};
use crate::time::Now;
use crate::why::story::version;
use crate::why::{
    Cause, FitCause, SiteCause, Subject, VerdictCause, Waiting, Why, fit, refused_revision,
};

/// The answers for the deployment of this name: its own causes, then those of
/// its placements, with equal ones grouped. A name without a deployment is
/// answered for, too: its file may be refused, or in a commit that the site has
/// not accepted yet.
pub fn deployment(site: &Site, name: &DeploymentName, now: Now) -> Vec<Why> {
    match site.deployment_named(name) {
        Some(deployment) => known(site, deployment, now),
        None => unknown(site, name),
    }
}

/// The same by id.
pub fn deployment_by_id(site: &Site, id: &DeploymentId, now: Now) -> Vec<Why> {
    site.deployment(id).map(|it| known(site, it, now)).unwrap_or_default()
}

fn unknown(site: &Site, name: &DeploymentName) -> Vec<Why> {
    let refused = super::site::refused(site, &deployment_path(site.name(), name));
    let subject = Subject::Deployment { deployment: name.clone() };
    let own = refused.and_then(|it| Why::new(subject, vec![it], "it is placed"));
    let site_wide = super::site::frozen(site).into_iter().chain(super::site::history(site));
    own.into_iter().chain(site_wide.filter_map(|it| super::site::answer(site, it))).collect()
}

fn known(site: &Site, deployment: &Deployment, now: Now) -> Vec<Why> {
    let placements = placements(site, deployment, now);
    let mut own = own_causes(site, deployment);
    // If placements wait for the hold, their answers are more specific.
    let waits = |hold: &Cause| placements.iter().any(|it| it.cause == *hold);
    own.retain(|it| !(is_hold(it) && waits(it)));
    let mut all: Vec<Why> = own.into_iter().filter_map(|it| answer(deployment, it)).collect();
    let told: Vec<Cause> = all.iter().map(|it| it.cause.clone()).collect();
    for why in placements {
        if !told.contains(&why.cause) {
            group(&mut all, why);
        }
    }
    all
}

fn is_hold(cause: &Cause) -> bool {
    matches!(cause, Cause::Site(SiteCause::HoldDeployment { .. }))
}

fn answer(deployment: &Deployment, cause: Cause) -> Option<Why> {
    let subject = Subject::Deployment { deployment: deployment.name.clone() };
    let then = if is_hold(&cause) { "the next change starts" } else { "it is placed" };
    let why = Why::new(subject, vec![cause], then)?;
    // Nodes come and go, and replicas change, without a new revision.
    let is_short = matches!(why.cause, Cause::Fit(FitCause::TooFewFit { .. }));
    let since = why.since.or_else(|| (!is_short).then(|| deployment.since()));
    Some(Why { since, ..why })
}

fn own_causes(site: &Site, deployment: &Deployment) -> Vec<Cause> {
    let refused = super::site::refused(site, &deployment_path(site.name(), &deployment.name));
    let mut causes: Vec<Cause> = refused.into_iter().collect();
    if deployment.is_withdrawn() {
        return causes;
    }
    let held = site.held_removal().is_some_and(|it| it.deployments.contains(&deployment.id));
    causes.extend(super::site::removals(site).filter(|_| held));
    let quarantine = |it: &Revision| deployment.quarantine().get(&it.workload);
    let left = deployment.rolled_back().and_then(|it| quarantine(&it.bad));
    let refused = quarantine(deployment.accepted()).or(left);
    causes.extend(refused.map(|it| refused_revision::quarantined(deployment, it)));
    causes.extend(stopped(deployment));
    causes.extend(hold(site, deployment));
    causes.extend(unplaced(site, deployment));
    causes.extend(given_up(deployment));
    causes
}

fn stopped(deployment: &Deployment) -> Option<Cause> {
    let stopped = deployment.stopped()?;
    let version = version(deployment, deployment.accepted());
    let (node, failure) = (stopped.node.clone(), stopped.failure.clone());
    Some(Cause::Verdict(VerdictCause::RolloutStopped {
        version,
        node,
        failure,
        since: stopped.since,
    }))
}

fn hold(site: &Site, deployment: &Deployment) -> Option<Cause> {
    let hold = site.holds().get(&HoldScope::Deployment(deployment.id.clone()))?.clone();
    Some(Cause::Site(SiteCause::HoldDeployment { by: hold.by, note: hold.note, since: hold.since }))
}

/// Too few nodes, or none.
fn unplaced(site: &Site, deployment: &Deployment) -> Option<Cause> {
    let document = deployment.policy()?;
    if site.site_nodes().next().is_none() {
        return Some(Cause::Site(SiteCause::NoNodes {}));
    }
    if let Target::Node(node) = &document.target
        && site.site_node(node).is_none()
    {
        return Some(Cause::Fit(FitCause::TargetNotJoined { node: node.clone() }));
    }
    let placed = deployment.nodes();
    let replicas = document.settings.replicas;
    if placed.is_empty() {
        return Some(Cause::Fit(FitCause::NothingFits { unfit: fit::unfitting(site, deployment) }));
    }
    let replicas = replicas.filter(|it| placed.len() < *it as usize)?;
    let placed = placed.iter().cloned().collect();
    Some(Cause::Fit(FitCause::TooFewFit {
        replicas,
        placed,
        unfit: fit::unfitting(site, deployment),
    }))
}

/// Nodes that gave up the revision without a version to roll back to.
fn given_up(deployment: &Deployment) -> impl Iterator<Item = Cause> + '_ {
    let nodes = deployment.rejected().keys().filter(|it| !deployment.placed().contains(*it));
    nodes.filter_map(|node| {
        let found = deployment.rejected_on(node)?;
        Some(refused_revision::rejected(deployment, node, found, None))
    })
}

fn placements(site: &Site, deployment: &Deployment, now: Now) -> Vec<Why> {
    let id = &deployment.id;
    let ids = deployment.placed().iter().map(|node| (id.clone(), node.clone()));
    let ids = ids.map(|(deployment, node)| PlacementId { deployment, node });
    ids.filter_map(|it| super::placement(site, &it, now)).collect()
}

/// Adds `why` to the equal answer for other nodes, or to the end.
fn group(all: &mut Vec<Why>, why: Why) {
    let same = all.iter_mut().find(|it| it.is_like(&why));
    match (same, &why.subject) {
        (Some(same), Subject::Placement { nodes, since, .. }) => same.take_in(nodes, *since),
        _ => all.push(why),
    }
}

impl Why {
    fn is_like(&self, other: &Why) -> bool {
        let like = match (&self.subject, &other.subject) {
            (
                Subject::Placement { doing, state, waits, .. },
                Subject::Placement { doing: other, state: in_state, waits: wait, .. },
            ) => doing == other && state == in_state && to(waits) == to(wait),
            _ => false,
        };
        like && self.cause == other.cause && self.also == other.also && self.next == other.next
    }

    /// Adds nodes; the longest wait counts.
    fn take_in(&mut self, more: &[crate::id::NodeName], from: crate::time::Timestamp) {
        if let Subject::Placement { nodes, since, .. } = &mut self.subject {
            nodes.extend_from_slice(more);
            *since = from.min(*since);
        }
    }
}

fn to(waits: &Option<Waiting>) -> Option<&str> {
    waits.as_ref().map(|it| it.to.as_str())
}
