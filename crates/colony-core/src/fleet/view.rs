//! What CO knows of one site: read by everybody, written through `pen.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use colony_margo::{Capabilities, Digest};

use crate::attempt::{Failure, Retry, Revision, Revisions};
use crate::event::{HoldScope, Incarnation, Log, Presence};
use crate::fleet::Target;
use crate::fleet::batch::Recent;
use crate::fleet::moving::Flag;
use crate::fleet::rollout::RolloutView;
use crate::fleet::shared::Shared;
use crate::id::{DeploymentId, DeploymentName, GitRevision, NodeName, PlacementId};
use crate::site::{
    Command, HeldHistory, HeldRemoval, Hold, Quarantine, RefusedFile, Rejected, RolledBack,
    RunningLost, Stopped,
};
use crate::state::State;
use crate::time::Wall;
use crate::why::{AnswerKey, Why};

/// A site that is not heard for so long counts as offline. A sound one is heard
/// every 30 s, which is how long its question for hints is held, and that is
/// stored every 15 s.
pub const SITE_SILENT: Duration = Duration::from_secs(60);

/// A site as its orchestrator reported it; a clone shares the large parts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SiteView {
    pub head: Head,
    pub holds: Holds,
    /// Files in Git the site cannot use, by path.
    pub files: BTreeMap<String, RefusedFile>,
    /// Why something is not as it should be, in the site's own words.
    pub answers: Shared<BTreeMap<AnswerKey, Vec<Why>>>,
    pub nodes: Shared<BTreeMap<NodeName, NodeView>>,
    pub deployments: Shared<BTreeMap<DeploymentId, DeploymentView>>,
    pub placements: Shared<BTreeMap<DeploymentId, BTreeMap<NodeName, PlacementView>>>,
    pub targets: Shared<BTreeMap<DeploymentName, Target>>,
    /// Commands the site has not acknowledged yet.
    pub commands: BTreeMap<u64, Command>,
    pub archives: Shared<BTreeMap<DeploymentId, Archive>>,
    /// Rebuilt: a name has several ids while one of them is leaving.
    pub(super) names: Shared<BTreeMap<DeploymentName, BTreeSet<DeploymentId>>>,
    pub(super) recent: Shared<Recent>,
}

/// The small record that every batch writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The end of the log of the LO that joined last; `None` before any did.
    pub log: Option<Log>,
    pub joined: Option<Wall>,
    pub last_heard: Option<Wall>,
    /// The commit the site was at.
    pub git: Option<GitRevision>,
    /// The LO has read Git and serves manifests.
    pub ready: bool,
    pub commands_done: u64,
    /// The highest number a command of CO's ever had.
    pub commands_last: u64,
    /// The lowest incarnation the next LO may get: raised by a restore.
    #[serde(default)]
    pub joins_from: Incarnation,
    /// Session and number of the newest answers that were stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<(u64, u64)>,
}

/// What waits for a person's word at a site.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holds {
    #[serde(with = "pairs")]
    pub holds: BTreeMap<HoldScope, Hold>,
    pub removal: Option<HeldRemoval>,
    pub history: Option<HeldHistory>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeView {
    pub presence: Presence,
    pub since: Wall,
    pub cordoned: bool,
    /// What the node last said it can do, by digest.
    pub capabilities: Option<Capabilities>,
}

impl NodeView {
    /// Its lease runs.
    pub fn is_online(&self) -> bool {
        matches!(self.presence, Presence::Online | Presence::Suspect)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentView {
    pub id: DeploymentId,
    pub name: DeploymentName,
    /// What the LO took from Git last.
    pub accepted: Revision,
    pub since: Wall,
    /// The commit the site was at when it took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<GitRevision>,
    /// Gone from Git; the view forgets it with its last placement.
    pub withdrawn: bool,
    /// The last revision every reachable node ran.
    pub good: Option<Revision>,
    pub quarantine: BTreeMap<Digest, Quarantine>,
    /// Nodes that gave a revision up on their own.
    pub rejected: BTreeMap<NodeName, Rejected>,
    pub stopped: Option<Stopped>,
    /// Where a rollout in steps stands, until it is through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<RolloutView>,
    /// Stands until something else than this pair is wanted, or a release.
    pub rolled_back: Option<RolledBack>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacementView {
    pub id: PlacementId,
    pub state: State,
    pub since: Wall,
    pub attempt: u32,
    pub revisions: Revisions,
    /// What went wrong last; cleared by INSTALLED.
    pub failure: Option<Failure>,
    /// How that failure goes on; older sites do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// The attempt runs beside what was there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
    /// What runs on beside a staged revision is not well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<RunningLost>,
    /// An event of it did not fit; cleared when it ends well.
    pub flagged: Option<Flag>,
}

/// How many placements of a deployment ended as DELETED at a site since it was
/// withdrawn. Nodes it was no longer meant for before that do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    pub name: Option<DeploymentName>,
    pub deleted: u64,
    /// Of these, those nobody confirmed.
    pub unconfirmed: u64,
    pub last: Wall,
}

/// Whether a site's orchestrator is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum SitePresence {
    /// No orchestrator has joined yet.
    Expected,
    Online,
    /// Not heard for `SITE_SILENT`.
    Offline,
}

impl SiteView {
    pub fn presence(&self, now: Wall) -> SitePresence {
        let heard = self.head.last_heard.is_some_and(|it| now.since(it) < SITE_SILENT);
        match self.incarnation() {
            None => SitePresence::Expected,
            Some(_) if heard => SitePresence::Online,
            Some(_) => SitePresence::Offline,
        }
    }

    /// Since when the site is not heard, if it was heard before.
    pub fn silent_since(&self, now: Wall) -> Option<Wall> {
        self.head.last_heard.filter(|_| self.presence(now) == SitePresence::Offline)
    }

    /// Names of deployments the site does not have because their file is refused.
    pub fn file_names(&self) -> impl Iterator<Item = &DeploymentName> {
        self.answers.keys().filter_map(|it| match it {
            AnswerKey::File(name) => Some(name),
            AnswerKey::Site | AnswerKey::Node(_) | AnswerKey::Deployment(_) => None,
        })
    }

    /// The incarnation whose events are taken; all below it are fenced.
    pub fn incarnation(&self) -> Option<Incarnation> {
        self.head.log.as_ref().map(|it| it.incarnation)
    }

    /// The deployment of that name, in preference one that is not leaving.
    pub fn deployment_named(&self, name: &DeploymentName) -> Option<&DeploymentView> {
        let all = || self.deployments_named(name);
        all().find(|it| !it.withdrawn).or_else(|| all().next())
    }

    pub fn deployments_named(
        &self,
        name: &DeploymentName,
    ) -> impl Iterator<Item = &DeploymentView> {
        let ids = self.names.get(name).into_iter().flatten();
        ids.filter_map(|it| self.deployments.get(it))
    }

    pub fn placement(&self, id: &PlacementId) -> Option<&PlacementView> {
        self.placements.get(&id.deployment)?.get(&id.node)
    }

    pub fn placements_of(&self, id: &DeploymentId) -> impl Iterator<Item = &PlacementView> {
        self.placements.get(id).into_iter().flat_map(BTreeMap::values)
    }

    pub fn is_online(&self, node: &NodeName) -> bool {
        self.nodes.get(node).is_some_and(NodeView::is_online)
    }
}

impl DeploymentView {
    /// Git holds a revision that is refused at this site.
    pub fn is_quarantined(&self) -> bool {
        self.quarantine.contains_key(&self.accepted.workload)
    }
}

/// JSON has no keys but texts.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::event::HoldScope;
    use crate::site::Hold;

    pub(super) fn serialize<S: Serializer>(
        map: &BTreeMap<HoldScope, Hold>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        map.iter().collect::<Vec<_>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<HoldScope, Hold>, D::Error> {
        let pairs: Vec<(HoldScope, Hold)> = Vec::deserialize(deserializer)?;
        Ok(pairs.into_iter().collect())
    }
}
