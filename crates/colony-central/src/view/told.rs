//! A deployment at one site, as the site told it and as CO wants it.

use colony_api::request::ReleaseWhat;
use colony_api::view::{
    ConflictView, Deferred, DeploymentSite, HoldView, PlacementView, QuarantineView,
    RolledBackView, StoppedView,
};
use colony_core::event::{HoldScope, Presence};
use colony_core::fleet::{self, DeploymentView, Fleet, SiteView, Target};
use colony_core::id::{BlobId, DeploymentName, GitRevision, SiteName};
use colony_core::time::{Spoken, Wall};

use super::why::causes;
use super::{Versions, clause, failed, failure, silent, target_blob, version_of};
use crate::repo::{Facts, Origins, path};

/// One deployment at one site.
pub(super) struct Told<'a> {
    pub fleet: &'a Fleet,
    pub site: &'a SiteName,
    pub view: &'a SiteView,
    pub name: &'a DeploymentName,
    pub versions: &'a Versions,
    pub origins: &'a Origins,
    pub now: Wall,
}

impl Told<'_> {
    pub(super) fn site(&self, queued: Option<&Facts>) -> DeploymentSite {
        let deployment = self.view.deployment_named(self.name);
        let target = self.view.targets.get(self.name);
        let placements = self.view.deployments_named(self.name);
        let placements = placements.flat_map(|it| self.view.placements_of(&it.id));
        let archive = deployment.and_then(|it| self.view.archives.get(&it.id));
        DeploymentSite {
            site: self.site.clone(),
            id: deployment.map(|it| it.id.clone()),
            standing: self.view.standing(self.name).to_string(),
            since: self.since(deployment, target),
            version: self.version(deployment, target, queued),
            commit: match target {
                Some(target) => commit(target),
                None => deployment.and_then(|it| self.origin(&it.accepted.blob)),
            },
            silent_since: silent(self.view, self.now),
            placements: placements.map(|it| self.placement(it, target)).collect(),
            quarantine: deployment.map(|it| self.quarantine(it)).unwrap_or_default(),
            rolled_back: deployment.and_then(|it| self.rolled_back(it, target)),
            stopped: deployment.and_then(stopped),
            rollout: deployment.and_then(|it| it.rollout.as_ref()).map(Into::into),
            hold: deployment.and_then(|it| self.hold(it)),
            conflict: target.and_then(conflict),
            findings: self.view.files.get(&path(self.site, self.name)).cloned().unwrap_or_default(),
            deleted: archive.map_or(0, |it| it.deleted),
            unconfirmed: archive.map_or(0, |it| it.unconfirmed),
            why: Vec::new(),
        }
    }

    fn since(&self, deployment: Option<&DeploymentView>, target: Option<&Target>) -> Wall {
        let wanted = target.map(|it| match it {
            Target::Planned { since }
            | Target::Committed { since, .. }
            | Target::Accepted { since, .. }
            | Target::Conflict { since, .. }
            | Target::Refused { since, .. } => *since,
        });
        let told = deployment.map(|it| it.since);
        wanted.max(told).unwrap_or_default()
    }

    /// What Git wants here, or will when the queue is written.
    fn version(
        &self,
        deployment: Option<&DeploymentView>,
        target: Option<&Target>,
        queued: Option<&Facts>,
    ) -> Option<String> {
        if let (Some(Target::Planned { .. }), Some(queued)) = (target, queued) {
            return Some(queued.version.clone());
        }
        let live = deployment.filter(|it| !it.withdrawn).map(|it| &it.accepted.blob);
        version_of(self.versions, target.and_then(target_blob).or(live)?)
    }

    fn placement(&self, it: &fleet::PlacementView, target: Option<&Target>) -> PlacementView {
        let node = self.view.nodes.get(&it.id.node);
        let runs = it.revisions.target.as_ref().map(|it| &it.blob);
        let wanted = target.filter(|it| runs.is_some() && target_blob(it) == runs);
        let commit = wanted.and_then(commit).or_else(|| self.origin(runs?));
        let share = self.view.share(it);
        PlacementView {
            node: it.id.node.clone(),
            state: it.state,
            since: it.since,
            version: runs.and_then(|it| version_of(self.versions, it)),
            last_good: it.revisions.last_good.as_ref().and_then(|it| self.version_of(&it.blob)),
            commit,
            attempt: it.attempt,
            presence: node.map_or(Presence::Offline, |it| it.presence),
            last_heard: node.filter(|it| !it.is_online()).map(|it| it.since),
            deferred: (share == fleet::Share::Deferred).then(|| self.deferred(node)),
            failure: failed(it),
            progress: None,
            flagged: it.flagged.as_ref().map(ToString::to_string),
        }
    }

    /// The commit that brought what the file holds, if it still holds it.
    fn origin(&self, blob: &BlobId) -> Option<GitRevision> {
        let (held, commit) = self.origins.get(&path(self.site, self.name))?;
        (held == blob).then(|| commit.clone())
    }

    fn version_of(&self, blob: &BlobId) -> Option<String> {
        version_of(self.versions, blob)
    }

    fn deferred(&self, node: Option<&fleet::NodeView>) -> Deferred {
        let since = node.map(|it| it.since);
        let reason = match node.map(|it| it.presence) {
            None => "the node is gone".to_owned(),
            Some(Presence::Joined) => "not heard yet".to_owned(),
            Some(Presence::Online | Presence::Suspect | Presence::Offline) => {
                let lasting = since.map_or(Default::default(), |it| self.now.since(it));
                format!("offline {}", Spoken(lasting))
            }
        };
        Deferred { reason, since }
    }

    fn quarantine(&self, deployment: &DeploymentView) -> Vec<QuarantineView> {
        let shown = |(workload, it): (&colony_margo::Digest, &colony_core::site::Quarantine)| {
            let node = it.node.as_ref().map(|it| format!("{it} ")).unwrap_or_default();
            QuarantineView {
                version: self.version_of(&it.revision.blob),
                workload: workload.to_string(),
                reason: format!("{node}{}", clause(&it.failure)),
                node: it.node.clone(),
                failure: Some(failure(&it.failure)),
                since: it.since,
            }
        };
        deployment.quarantine.iter().map(shown).collect()
    }

    fn rolled_back(
        &self,
        deployment: &DeploymentView,
        target: Option<&Target>,
    ) -> Option<RolledBackView> {
        let pair = deployment.rolled_back.as_ref()?;
        let good = pair.good.as_ref().map(|it| &it.blob);
        let restored = target.filter(|it| good.is_some() && target_blob(it) == good);
        let moved = deployment.accepted.blob != pair.bad.blob
            && good.is_some_and(|it| *it != deployment.accepted.blob);
        let not_reverted = match good {
            None => Some("nothing ran before; the file stays, quarantined".to_owned()),
            Some(_) if moved => Some("somebody has written the file since".to_owned()),
            Some(_) => None,
        };
        Some(RolledBackView {
            from: self.version_of(&pair.bad.blob),
            to: good.and_then(|it| self.version_of(it)),
            since: pair.since,
            revert: restored.and_then(commit),
            not_reverted,
        })
    }

    fn hold(&self, deployment: &DeploymentView) -> Option<HoldView> {
        let own = self.view.holds.holds.get(&HoldScope::Deployment(deployment.id.clone()));
        let hold = own.or_else(|| self.view.holds.holds.get(&HoldScope::Site))?;
        Some(HoldView {
            what: ReleaseWhat::Hold,
            deployment: own.map(|_| deployment.name.clone()),
            by: hold.by.clone(),
            note: hold.note.clone(),
            since: hold.since,
            commit: None,
        })
    }

    /// What it waits for, as sentences.
    pub(super) fn why(&self, git: Option<&str>) -> Vec<String> {
        let causes = causes(self.fleet, (self.site, self.name), git, self.now);
        causes.into_iter().flatten().map(|it| it.to_string()).collect()
    }
}

fn commit(target: &Target) -> Option<GitRevision> {
    match target {
        Target::Committed { git, .. } | Target::Accepted { git, .. } => Some(git.clone()),
        Target::Planned { .. } | Target::Conflict { .. } | Target::Refused { .. } => None,
    }
}

fn stopped(deployment: &DeploymentView) -> Option<StoppedView> {
    let it = deployment.stopped.as_ref()?;
    Some(StoppedView { node: it.node.clone(), failure: failure(&it.failure), since: it.since })
}

fn conflict(target: &Target) -> Option<ConflictView> {
    let Target::Conflict { diff, since, .. } = target else { return None };
    Some(ConflictView { diff: diff.clone(), since: *since })
}
