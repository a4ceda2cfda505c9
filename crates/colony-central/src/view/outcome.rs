//! How a deployment ended at a site, or that it has not.

use colony_api::view::Outcome;
use colony_core::event::HoldScope;
use colony_core::fleet::{DeploymentView, Share, SiteView, Standing, Target};
use colony_core::id::{DeploymentName, SiteName};
use colony_core::site::Action;
use colony_core::state::State;
use colony_core::time::Wall;

use super::silent;
use crate::repo::path;

/// One site's share of the outcome.
pub(super) fn of_site(
    site: &SiteName,
    view: &SiteView,
    name: &DeploymentName,
    now: Wall,
) -> Outcome {
    let away = view.incarnation().is_none() || silent(view, now).is_some();
    let open = if away { Outcome::Deferred } else { Outcome::InProgress };
    match view.targets.get(name) {
        Some(Target::Conflict { .. } | Target::Refused { .. }) => return Outcome::Failed,
        Some(Target::Planned { .. }) => return Outcome::InProgress,
        Some(Target::Committed { git, .. }) => {
            // What was refused before the site came to this commit is over.
            let read = view.head.git.as_ref() == Some(git);
            return if read && refused(site, view, name) { Outcome::Failed } else { open };
        }
        Some(Target::Accepted { .. }) | None => {}
    }
    if refused(site, view, name) {
        return Outcome::Failed;
    }
    if ordered(view, name) {
        return open;
    }
    told(view, name, open)
}

/// The site cannot use the file.
fn refused(site: &SiteName, view: &SiteView, name: &DeploymentName) -> bool {
    view.files.contains_key(&path(site, name))
}

/// An order about the deployment is on its way.
fn ordered(view: &SiteView, name: &DeploymentName) -> bool {
    view.commands.values().any(|it| {
        let id = match &it.action {
            Action::Retry { deployment, .. }
            | Action::Rollback { deployment }
            | Action::Promote { deployment }
            | Action::Pause { deployment, .. }
            | Action::Resume { deployment }
            | Action::Abort { deployment, .. }
            | Action::Force { deployment, .. }
            | Action::ReleaseQuarantine { deployment }
            | Action::Hold { scope: HoldScope::Deployment(deployment), .. }
            | Action::ReleaseHold { scope: HoldScope::Deployment(deployment) } => deployment,
            Action::Hold { scope: HoldScope::Site, .. }
            | Action::ReleaseHold { scope: HoldScope::Site }
            | Action::ReleaseRemoval
            | Action::AcceptHistory { .. }
            | Action::Cordon { .. }
            | Action::Uncordon { .. }
            | Action::Retire { .. } => return false,
        };
        view.deployments_named(name).any(|it| it.id == *id)
    })
}

/// What the site itself said.
fn told(view: &SiteView, name: &DeploymentName, open: Outcome) -> Outcome {
    let Some(deployment) = view.deployment_named(name) else { return Outcome::Deleted };
    let shares: Vec<Share> = view
        .deployments_named(name)
        .flat_map(|it| view.placements_of(&it.id))
        .map(|it| view.share(it))
        .collect();
    let some = |wanted: &[Share]| shares.iter().any(|it| wanted.contains(it));
    if deployment.stopped.is_some() {
        return Outcome::Failed;
    }
    if is_rolling_back(view, name)
        || some(&[Share::Created, Share::Updating, Share::Unknown, Share::Deleting, Share::Failed])
    {
        return open;
    }
    let standing = view.standing(name);
    if standing == Standing::RolledBack || some(&[Share::RolledBack]) {
        return if awaits_revert(deployment) { open } else { Outcome::RolledBack };
    }
    // Condemned and nothing moves: the end of the rollback is only to be told.
    if deployment.is_quarantined() {
        return open;
    }
    if some(&[Share::Deferred]) {
        return Outcome::Deferred;
    }
    if shares.is_empty() {
        return unplaced(view, open);
    }
    open_or_installed(deployment.withdrawn, open)
}

/// Some node that is there is on its way back.
fn is_rolling_back(view: &SiteView, name: &DeploymentName) -> bool {
    let placed = view.deployments_named(name).flat_map(|it| view.placements_of(&it.id));
    placed.into_iter().any(|it| it.state == State::RollingBack && view.is_online(&it.id.node))
}

/// Git has still to follow the site.
fn awaits_revert(deployment: &DeploymentView) -> bool {
    deployment.rolled_back.as_ref().is_some_and(|it| {
        let good = it.good.as_ref().map(|it| &it.blob);
        let holds_bad = deployment.accepted.blob == it.bad.blob && !deployment.withdrawn;
        holds_bad && good.is_some_and(|good| *good != it.bad.blob)
    })
}

fn open_or_installed(withdrawn: bool, open: Outcome) -> Outcome {
    if withdrawn { open } else { Outcome::Installed }
}

/// Placed nowhere: it waits for a node, or none of those there fits.
fn unplaced(view: &SiteView, open: Outcome) -> Outcome {
    let described = view.nodes.values().any(|it| it.capabilities.is_some());
    if described { Outcome::Failed } else { open }
}

/// The outcome over all sites: what moves outweighs, then what is worst.
pub(super) fn overall(outcomes: &[Outcome]) -> Outcome {
    let some = |it: Outcome| outcomes.contains(&it);
    let order = [Outcome::InProgress, Outcome::Failed, Outcome::RolledBack, Outcome::Deferred];
    if let Some(worst) = order.into_iter().find(|it| some(*it)) {
        return worst;
    }
    if some(Outcome::Installed) { Outcome::Installed } else { Outcome::Deleted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_still_moves_outweighs_and_a_rollback_is_no_success() {
        check(&[Outcome::Installed, Outcome::InProgress], Outcome::InProgress);
        check(&[Outcome::RolledBack, Outcome::Installed], Outcome::RolledBack);
        check(&[Outcome::RolledBack, Outcome::Failed], Outcome::Failed);
        check(&[Outcome::Deferred, Outcome::Installed], Outcome::Deferred);
        check(&[Outcome::Deleted, Outcome::Installed], Outcome::Installed);
        check(&[Outcome::Deleted, Outcome::Deferred], Outcome::Deferred);
        check(&[], Outcome::Deleted);
    }

    #[track_caller]
    fn check(outcomes: &[Outcome], expected: Outcome) {
        assert_eq!(overall(outcomes), expected);
    }
}
