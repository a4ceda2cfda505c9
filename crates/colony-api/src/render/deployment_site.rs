//! A deployment at one site: the site's report and the file in Git.

use colony_core::event::{HoldScope, Presence};
use colony_core::fleet::{
    self, Archive, CentralChange, DeploymentView, Outcome, PlacementBucket, RollupStatus, SiteView,
};
use colony_core::id::{BlobId, DeploymentName, GitRevision, NodeName, SiteName};
use colony_core::margo::Digest;
use colony_core::site::{Quarantine, Rejected, deployment_path};
use colony_core::time::{HumanDuration, Timestamp};

use super::node::last_heard;
use super::{Context, failure, failure_clause, placement_failure, target_blob};
use crate::request::ReleaseWhat;
use crate::site::PullHealth;
use crate::view::{
    ConflictView, Deferred, DeploymentSite, HoldView, PlacementView, QuarantineView,
    RolledBackView, StoppedView,
};

/// One deployment at one site.
pub(super) struct DeploymentSiteBuilder<'a> {
    pub(super) site: &'a SiteName,
    pub(super) view: &'a SiteView,
    pub(super) name: &'a DeploymentName,
    pub(super) context: &'a Context<'a>,
}

impl DeploymentSiteBuilder<'_> {
    pub(super) fn build(&self) -> DeploymentSite {
        let deployment = self.view.deployment_named(self.name);
        let target = self.view.central_changes.get(self.name);
        let placements = self.view.deployments_named(self.name);
        let placements = placements.flat_map(|it| self.view.placements_of(&it.id));
        let path = deployment_path(self.site, self.name);
        DeploymentSite {
            site: self.site.clone(),
            id: deployment.map(|it| it.id.clone()),
            status: self.view.rollup_status(self.name),
            since: since(self.view.rollup_status_since(self.name), target)
                .or_else(|| Some(self.view.files.get(&path)?.since))
                .unwrap_or_default(),
            version: self.version(deployment, target, &path),
            commit: match target {
                Some(target) => commit(target),
                None => deployment.and_then(|it| it.commit.clone()),
            },
            silent_since: self.view.silent_since(self.context.now),
            placements: placements.map(|it| self.placement(it, deployment, target)).collect(),
            quarantine: deployment.map(|it| self.quarantine(it)).unwrap_or_default(),
            rejected: deployment.map(|it| self.rejected(it)).unwrap_or_default(),
            rolled_back: deployment.and_then(|it| self.rolled_back(it, target)),
            stopped: deployment.and_then(stopped),
            rollout: deployment.and_then(|it| it.rollout.as_ref()).map(Into::into),
            hold: deployment.and_then(|it| self.hold(it)),
            conflict: target.and_then(conflict),
            findings: self.view.files.get(&path).map(|it| it.findings.clone()).unwrap_or_default(),
            installed: self.view.installed(self.name),
            deleted: None,
            unconfirmed: None,
            why: Vec::new(),
        }
    }

    /// The version in Git, or the one that Git will have when the queue is
    /// written; for a deployment that is being removed, its last version.
    fn version(
        &self,
        deployment: Option<&DeploymentView>,
        target: Option<&CentralChange>,
        path: &str,
    ) -> Option<String> {
        let queued = self.context.queued.get(path);
        if let (Some(CentralChange::Planned { .. }), Some(queued)) = (target, queued) {
            return Some(queued.version.clone());
        }
        let accepted = deployment.map(|it| &it.accepted.blob);
        self.context.version(target.and_then(target_blob).or(accepted)?)
    }

    fn placement(
        &self,
        it: &fleet::PlacementView,
        deployment: Option<&DeploymentView>,
        target: Option<&CentralChange>,
    ) -> PlacementView {
        let node = self.view.nodes.get(&it.id.node);
        let runs = it.revisions.target.as_ref().map(|it| &it.blob);
        let version = |it: &BlobId| self.context.version(it);
        let deferred = self.view.bucket_of(it) == PlacementBucket::Deferred;
        PlacementView {
            node: it.id.node.clone(),
            state: it.state,
            since: it.since,
            version: runs.and_then(version),
            last_good: it.revisions.rollback_target().and_then(|it| version(&it.blob)),
            commit: runs.and_then(|it| brought_by(it, deployment, target)),
            attempt: it.attempt,
            presence: node.map_or(Presence::Offline, |it| it.presence),
            last_heard: node
                .filter(|it| !it.is_online())
                .and_then(|_| self.last_heard(&it.id.node)),
            deferred: deferred.then(|| self.deferred(&it.id.node, node)),
            failure: placement_failure(it),
            progress: self.pull(it).map(|it| it.to_string()),
            flagged: it.flagged.as_ref().map(ToString::to_string),
        }
    }

    /// Progress of the image pull of an attempt in progress, from the last
    /// report.
    fn pull(&self, placement: &fleet::PlacementView) -> Option<PullHealth> {
        if !placement.state.is_in_progress() || self.view.silent_since(self.context.now).is_some() {
            return None;
        }
        let (_, report) = (self.context.report)(self.site)?;
        let node = report.nodes.iter().find(|it| it.name == placement.id.node)?;
        node.progress.iter().find(|it| it.deployment == placement.id.deployment).cloned()
    }

    fn last_heard(&self, node: &NodeName) -> Option<Timestamp> {
        last_heard(self.site, self.view, node, self.context)
    }

    fn deferred(&self, name: &NodeName, node: Option<&fleet::NodeView>) -> Deferred {
        let since = node.map(|it| self.last_heard(name).unwrap_or(it.since));
        let reason = match node.map(|it| it.presence) {
            None => "the node is gone".to_owned(),
            Some(Presence::Joined) => "not connected yet".to_owned(),
            Some(Presence::Online | Presence::Suspect | Presence::Offline) => {
                let lasting = since.map_or(Default::default(), |it| self.context.now.since(it));
                format!("offline {}", HumanDuration(lasting))
            }
        };
        Deferred { reason, since }
    }

    fn quarantine(&self, deployment: &DeploymentView) -> Vec<QuarantineView> {
        let shown = |(workload, it): (&Digest, &Quarantine)| {
            let node = it.node.as_ref().map(|it| format!("{it} ")).unwrap_or_default();
            QuarantineView {
                version: self.context.version(&it.revision.blob),
                workload: workload.to_string(),
                reason: format!("{node}{}", failure_clause(&it.failure)),
                node: it.node.clone(),
                failure: Some(failure(&it.failure)),
                since: it.since,
            }
        };
        deployment.quarantine.iter().map(shown).collect()
    }

    /// The revisions that single nodes rejected, with `onFailure:
    /// rollback-node`.
    fn rejected(&self, deployment: &DeploymentView) -> Vec<QuarantineView> {
        let shown = |(node, it): (&NodeName, &Rejected)| {
            let wanted =
                (it.workload == deployment.accepted.workload).then_some(&deployment.accepted);
            let placement = self.view.placements_of(&deployment.id).find(|it| it.id.node == *node);
            QuarantineView {
                version: wanted.and_then(|it| self.context.version(&it.blob)),
                workload: it.workload.to_string(),
                reason: format!("{node} {}", failure_clause(&it.failure)),
                node: Some(node.clone()),
                failure: Some(failure(&it.failure)),
                since: placement.map_or(deployment.since, |it| it.since),
            }
        };
        deployment.rejected.iter().map(shown).collect()
    }

    fn rolled_back(
        &self,
        deployment: &DeploymentView,
        target: Option<&CentralChange>,
    ) -> Option<RolledBackView> {
        let pair = deployment.rolled_back.as_ref()?;
        let good = pair.good.as_ref().map(|it| &it.blob);
        let restored = target.filter(|it| good.is_some() && target_blob(it) == good);
        // The site has the good file again: its commit removed the bad one.
        let taken_back = || {
            let again = good == Some(&deployment.accepted.blob);
            again.then(|| deployment.commit.clone()).flatten()
        };
        let moved = deployment.accepted.blob != pair.bad.blob
            && good.is_some_and(|it| *it != deployment.accepted.blob);
        let not_reverted = match good {
            None => Some("nothing ran before; the file stays, quarantined".to_owned()),
            Some(_) if moved => Some("the file was changed since".to_owned()),
            Some(_) => None,
        };
        Some(RolledBackView {
            from: self.context.version(&pair.bad.blob),
            to: good.and_then(|it| self.context.version(it)),
            since: pair.since,
            revert: restored.and_then(commit).or_else(taken_back),
            not_reverted,
        })
    }

    /// The deployment's own hold, or that of the whole site.
    fn hold(&self, deployment: &DeploymentView) -> Option<HoldView> {
        let holds = &self.view.holds.holds;
        let own = holds.get(&HoldScope::Deployment(deployment.id.clone()));
        let hold = own.or_else(|| holds.get(&HoldScope::Site))?;
        Some(HoldView {
            what: ReleaseWhat::Hold,
            deployment: own.map(|_| deployment.name.clone()),
            by: hold.by.clone(),
            note: hold.note.clone(),
            since: hold.since,
            commit: None,
        })
    }
}

/// Since when the deployment is in its state. For a revision that the site has
/// accepted, the time that the site reported counts, not the time of the
/// commit.
fn since(reported: Option<Timestamp>, target: Option<&CentralChange>) -> Option<Timestamp> {
    let wanted = target.map(|it| match it {
        CentralChange::Planned { since }
        | CentralChange::Committed { since, .. }
        | CentralChange::Accepted { since, .. }
        | CentralChange::Conflict { since, .. }
        | CentralChange::Refused { since, .. } => *since,
    });
    let taken = matches!(target, Some(CentralChange::Accepted { .. }));
    match reported.filter(|_| taken) {
        Some(reported) => Some(reported),
        None => wanted.max(reported),
    }
}

/// The commit of a revision, if it is known.
fn brought_by(
    blob: &BlobId,
    deployment: Option<&DeploymentView>,
    target: Option<&CentralChange>,
) -> Option<GitRevision> {
    let wanted = target.filter(|it| target_blob(it) == Some(blob)).and_then(commit);
    let accepted = deployment.filter(|it| it.accepted.blob == *blob);
    wanted.or_else(|| accepted.and_then(|it| it.commit.clone()))
}

/// A site from which the deployment is completely removed.
pub(super) fn archived(site: &SiteName, last: &Archive) -> (DeploymentSite, Outcome) {
    let shown = DeploymentSite {
        site: site.clone(),
        id: None,
        status: RollupStatus::Gone,
        since: last.last,
        version: None,
        commit: None,
        silent_since: None,
        placements: Vec::new(),
        quarantine: Vec::new(),
        rejected: Vec::new(),
        rolled_back: None,
        stopped: None,
        rollout: None,
        hold: None,
        conflict: None,
        findings: Vec::new(),
        installed: 0,
        deleted: Some(last.deleted),
        unconfirmed: Some(last.unconfirmed),
        why: Vec::new(),
    };
    (shown, Outcome::Deleted)
}

fn commit(target: &CentralChange) -> Option<GitRevision> {
    match target {
        CentralChange::Committed { git, .. } | CentralChange::Accepted { git, .. } => {
            Some(git.clone())
        }
        CentralChange::Planned { .. }
        | CentralChange::Conflict { .. }
        | CentralChange::Refused { .. } => None,
    }
}

fn stopped(deployment: &DeploymentView) -> Option<StoppedView> {
    let it = deployment.stopped.as_ref()?;
    Some(StoppedView { node: it.node.clone(), failure: failure(&it.failure), since: it.since })
}

fn conflict(target: &CentralChange) -> Option<ConflictView> {
    let CentralChange::Conflict { diff, since, .. } = target else { return None };
    Some(ConflictView { diff: diff.clone(), since: *since })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_site_has_taken_is_as_old_as_the_site_says() {
        let git: GitRevision = "3f2a1c0000000000000000000000000000000000".parse().expect("an id");
        let accepted =
            CentralChange::Accepted { git: git.clone(), blob: None, since: Timestamp(20) };
        let committed = CentralChange::Committed { git, blob: None, since: Timestamp(20) };
        let planned = CentralChange::Planned { since: Timestamp(20) };
        for (reported, target, expected) in [
            (Some(10), None, Some(10)),
            (Some(10), Some(&accepted), Some(10)),
            (None, Some(&accepted), Some(20)),
            (Some(10), Some(&committed), Some(20)),
            (Some(10), Some(&planned), Some(20)),
            (None, None, None),
        ] {
            assert_eq!(
                since(reported.map(Timestamp), target),
                expected.map(Timestamp),
                "{target:?}"
            );
        }
    }
}
