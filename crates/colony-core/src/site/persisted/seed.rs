//! The state of a site as central knows it, for a local orchestrator that takes
//! the site over.
//!
//! The later incarnation does not own the attempts in progress: they are
//! UNKNOWN until the nodes report them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use colony_margo::Capabilities;

use crate::attempt::{Attempt, Failure, Revision, Revisions};
use crate::document::Document;
use crate::event::{HoldScope, Incarnation};
use crate::id::{BlobId, DeploymentId, DeploymentName, GitRevision, NodeName, PlacementId};
use crate::site::node::SiteNode;
use crate::site::placement::transition::Initiator;
use crate::site::rollout::Rollout;
use crate::site::step_context::StepContext;
use crate::site::{
    Deployment, Hold, Offer, Phase, Placement, Quarantine, Refused, Rejected, RolledBack, Staging,
    Stopped,
};
use crate::state::{Op, State};
use crate::time::{Now, Timestamp};
use crate::transition::Trigger;

/// The state of a site as central knows it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Seed {
    pub nodes: Vec<SeedNode>,
    pub deployments: Vec<SeedDeployment>,
    pub placements: Vec<SeedPlacement>,
    pub holds: Vec<(HoldScope, Hold)>,
    /// Commands up to this number were acknowledged.
    pub commands_done: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SeedNode {
    pub name: NodeName,
    pub cordoned: bool,
    pub capabilities: Option<Capabilities>,
    /// Since when the local orchestrator that takes over has had no contact
    /// with the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SeedDeployment {
    pub id: DeploymentId,
    pub name: DeploymentName,
    #[serde(rename = "wanted")]
    pub accepted: Revision,
    #[serde(rename = "good")]
    pub last_converged: Option<Revision>,
    /// Removed from Git.
    pub withdrawn: bool,
    pub quarantine: Vec<Quarantine>,
    pub rejected: BTreeMap<NodeName, Rejected>,
    pub stopped: Option<Stopped>,
    /// The step of the rollout that is open, and whether it is paused.
    #[serde(default)]
    pub rollout: Rollout,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolled_back: Option<RolledBack>,
    /// Since when `accepted` is the accepted revision, and the commit that
    /// introduced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<GitRevision>,
    /// The text of every revision named here or in a placement.
    pub texts: Vec<(BlobId, String)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SeedPlacement {
    pub id: PlacementId,
    pub state: State,
    pub attempt: u32,
    pub revisions: Revisions,
    pub failure: Option<Failure>,
    /// The attempt runs beside the active version.
    #[serde(rename = "beside", default)]
    pub staged: bool,
    /// Since when the placement is in `state`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

impl StepContext<'_> {
    pub(in crate::site) fn seed(&mut self, seed: Seed) -> Result<(), Refused> {
        if self.site.phase != Phase::Unseeded {
            return Err(Refused::AlreadySeeded);
        }
        self.site.phase = Phase::Seeded;
        self.site.commands_done = seed.commands_done;
        self.site.holds = seed.holds.into_iter().collect();
        self.out.changed.meta = true;
        for node in seed.nodes {
            self.seed_node(node);
        }
        for deployment in seed.deployments {
            self.seed_deployment(deployment);
        }
        for placement in seed.placements {
            self.seed_placement(placement);
        }
        Ok(())
    }

    fn seed_node(&mut self, node: SeedNode) {
        let now = (self.now.mono, self.now.wall);
        let mut site_node = SiteNode::new(node.name.clone(), self.site.log.incarnation, now);
        site_node.since = node.since.unwrap_or(self.now.wall);
        site_node.cordoned = node.cordoned;
        site_node.capabilities = node.capabilities.map(Arc::new);
        self.out.changed.site_nodes.insert(node.name.clone());
        self.site.site_nodes.insert(node.name, site_node);
    }

    fn seed_deployment(&mut self, seed: SeedDeployment) {
        let site = self.site.log.site.clone();
        let texts = seed.texts.iter().filter_map(|(blob, text)| {
            let document = Document::parse(&site, &seed.name, blob, text.as_bytes()).ok()?;
            Some((blob.clone(), Arc::new(document)))
        });
        let documents: BTreeMap<_, _> = texts.collect();
        let Some(wanted) = documents.get(&seed.accepted.blob).cloned() else { return };
        let mut deployment = Deployment::new(wanted, seed.since.unwrap_or(self.now.wall));
        deployment.documents = documents;
        deployment.last_converged = seed.last_converged;
        deployment.withdrawn = seed.withdrawn;
        deployment.rejected = seed.rejected;
        deployment.stopped = seed.stopped;
        (deployment.rolled_back, deployment.commit) = (seed.rolled_back, seed.commit);
        deployment.rollout =
            Rollout { soaking_since: None, awaits_promotion_since: None, ..seed.rollout };
        deployment.quarantine =
            seed.quarantine.into_iter().map(|it| (it.revision.workload, it)).collect();
        self.out.changed.deployments.insert(seed.id.clone());
        if !seed.withdrawn {
            self.site.index.names.insert(seed.name, seed.id.clone());
        }
        self.site.deployments.insert(seed.id, deployment);
    }

    fn seed_placement(&mut self, seed: SeedPlacement) {
        let PlacementId { deployment, node } = &seed.id;
        if !self.site.site_nodes.contains_key(node) || seed.state == State::Deleted {
            return;
        }
        let Some(owner) = self.site.deployments.get_mut(deployment) else { return };
        if owner.withdrawn || !seed.state.is_leaving() {
            owner.nodes.insert(node.clone());
        }
        let mut placement = restore(seed, self.now);
        let deadline = self.now.mono.after(self.progress_time_limit(&placement));
        if let Some(attempt) = placement.attempt.as_mut() {
            attempt.deadline = deadline;
        }
        self.arm_timers(&placement);
        let id = placement.id.clone();
        self.store_placement(placement);
        self.offer_seeded(&id);
        // Attempts in progress belong to the replaced local orchestrator.
        let _ = self.perform_transition(&id, Trigger::NodeLost, Initiator::local());
        self.update_index(&id);
    }

    /// Lists or withdraws the placement in the first manifest of this
    /// incarnation.
    fn offer_seeded(&mut self, id: &PlacementId) {
        let Some(mut placement) = self.site.placements.remove(id) else { return };
        match placement.state() {
            State::Pending | State::Deleted => {}
            State::Deleting | State::Failed(Op::Delete) => {
                let since = self.site.site_nodes.get(&id.node).map_or(0, |it| it.version);
                placement.offer = Offer::Withdrawn { since };
            }
            State::Installing
            | State::Updating
            | State::RollingBack
            | State::Installed
            | State::Failed(_)
            | State::Unknown(_) => self.offer(&mut placement),
        }
        self.site.placements.insert(id.clone(), placement);
    }

    /// Fences this local orchestrator off: central knows a later incarnation of
    /// the site, so this one must not change anything.
    pub(in crate::site) fn fenced(&mut self, by: Incarnation) -> Result<(), Refused> {
        if by > self.site.log.incarnation {
            self.site.phase = Phase::Fenced { by };
            self.out.changed.meta = true;
        }
        Ok(())
    }
}

/// Restores a placement. The seed contains neither backoff nor soak times, so a
/// failed placement is retried at once and a soak starts over.
fn restore(seed: SeedPlacement, now: Now) -> Placement {
    let mut placement = Placement::new(seed.id, seed.since.unwrap_or(now.wall));
    placement.retry_at = matches!(seed.state, State::Failed(_)).then_some(now.mono);
    placement.installed_at = (seed.state == State::Installed).then_some(now.mono);
    placement.failure_in_last_event.clone_from(&seed.failure);
    placement.failure = seed.failure;
    placement.state = seed.state;
    let staged = seed.staged && seed.state.op() == Some(Op::Update);
    placement.staging = if staged { Staging::Staged } else { Staging::NotStaged };
    placement.may_be_on_node = seed.attempt > 0;
    placement.attempt = seed.revisions.target.clone().map(|revision| Attempt {
        number: seed.attempt,
        op: seed.state.op().unwrap_or(Op::Install),
        revision,
        started: now.wall,
        deadline: now.mono,
        settling: None,
        end: None,
    });
    placement.revisions = seed.revisions;
    placement
}
