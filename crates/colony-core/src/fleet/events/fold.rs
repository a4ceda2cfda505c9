//! What each kind of event does to the view.

use colony_margo::Digest;

use crate::event::{Body, Event};
use crate::fleet::events::projection_writer::ProjectionWriter;
use crate::fleet::{DeploymentView, RowKey};
use crate::id::PlacementId;
use crate::site::Rejected;

impl ProjectionWriter<'_> {
    /// Applies the next event of the site's log. O(log n) in the size of the
    /// site, except for a change of policy alone, which touches the placements
    /// of one deployment.
    pub(in crate::fleet) fn fold(&mut self, event: &Event, hash: Digest) {
        self.follow(event, hash);
        match &event.body {
            Body::Ready => self.view.head.ready = true,
            Body::StateTransition(it) => self.moved(event, it),
            Body::DeploymentAccepted { deployment, name, revision, commit } => {
                self.accepted(event, deployment, name, revision);
                let commit = commit.clone().or_else(|| event.git.clone());
                self.deployment(deployment, |it| it.commit = commit);
            }
            Body::DeploymentWithdrawn { deployment, .. } => self.withdrawn(event, deployment),
            Body::DeploymentConverged { deployment, revision } => {
                self.deployment(deployment, |it| {
                    (it.last_converged, it.rollout) = (Some(revision.clone()), None);
                });
            }
            Body::Quarantined { deployment, .. } => self.quarantined(event, deployment),
            Body::QuarantineReleased { deployment, workload } => {
                self.released(deployment, *workload);
            }
            Body::RolledBack { deployment, bad, good } => {
                self.rolled_back(event, deployment, bad, good.as_ref());
            }
            Body::RolloutStopped { deployment, .. } => self.stopped(event, deployment),
            Body::RevisionRejected { deployment, node, workload, failure } => {
                let rejected = Rejected { workload: *workload, failure: failure.clone() };
                self.deployment(deployment, |it| {
                    it.rejected.insert(node.clone(), rejected);
                });
            }
            Body::RolloutStep { deployment, .. } => self.rollout_step(event, deployment),
            Body::RolloutPaused { deployment, note } => self.paused(event, deployment, note),
            Body::RolloutUnpaused { deployment } => self.unpaused(deployment),
            Body::RolloutResumed { deployment } => {
                self.deployment(deployment, |it| it.stopped = None);
            }
            Body::RolloutReleased { deployment } => {
                self.deployment(deployment, DeploymentView::release);
            }
            Body::FileRefused { path, findings } => self.file_refused(event, path, findings),
            Body::FileAccepted { path } => self.file_accepted(path),
            Body::RemovalHeld { commit, deployments } => {
                self.removal_held(event, commit, deployments);
            }
            Body::RemovalReleased => self.wait(|it| it.removal = None),
            Body::HistoryHeld { commit } => self.history_held(event, commit),
            Body::HistoryAccepted { .. } => self.wait(|it| it.history = None),
            Body::Held { scope, note } => self.held(event, scope, note),
            Body::HoldReleased { scope } => self.hold_released(scope),
            Body::NodeJoined { node } => self.node(event, node, |_| {}),
            Body::NodeCapable { node, capabilities } => {
                self.node(event, node, |it| it.capabilities = Some((**capabilities).clone()));
            }
            Body::NodePresence { node, presence } => self.node_presence(event, node, *presence),
            Body::NodeCordoned { node, cordoned } => {
                self.node(event, node, |it| it.cordoned = *cordoned);
            }
            Body::NodeRetired { node } => self.node_retired(node),
            Body::CommandDone { number: Some(number), .. } => self.command_done(*number),
            Body::RunningHealth { deployment, node, revision, failure } => {
                let id = PlacementId { deployment: deployment.clone(), node: node.clone() };
                self.running(event, id, revision, failure.as_ref());
            }
            Body::CommandDone { number: None, .. }
            | Body::StaleReport { .. }
            | Body::VersionRaised { .. } => {}
        }
    }

    fn follow(&mut self, event: &Event, hash: Digest) {
        let head = &mut self.view.head;
        if let Some(log) = head.log.as_mut() {
            (log.next, log.head) = (event.seq.saturating_add(1), hash);
        }
        self.view.recent.push(hash);
        if event.git.is_some() && event.git != head.git {
            head.git.clone_from(&event.git);
            // The site accepted a commit, so no held history waits any longer.
            if self.view.holds.history.take().is_some() {
                self.mark(RowKey::Holds);
            }
        }
    }
}
