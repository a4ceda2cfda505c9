//! The view that central has of one site, written by `projection_writer.rs`.

pub(in crate::fleet) mod bucket;
pub(in crate::fleet) mod outcome;
pub(in crate::fleet) mod projection;
pub(in crate::fleet) mod rollup_status;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use colony_margo::{Capabilities, Digest};

use crate::attempt::{Failure, Retry, Revision, Revisions};
use crate::event::{HoldScope, Incarnation, Log, Presence};
use crate::fleet::CentralChange;
use crate::fleet::events::batch::Recent;
use crate::fleet::events::placement::Flag;
use crate::fleet::events::rollout::RolloutView;
use crate::fleet::shared::Shared;
use crate::id::{DeploymentId, DeploymentName, GitRevision, NodeName, PlacementId};
use crate::site::{
    ActiveFailure, Command, HeldHistory, HeldRemoval, Hold, Quarantine, RefusedFile, Rejected,
    RolledBack, Stopped,
};
use crate::state::State;
use crate::time::Timestamp;
use crate::why::{AnswerKey, Why};

/// A site that sends no request for this long counts as offline. A healthy site
/// sends one every 30 s, the duration of its long poll for hints, and the time
/// of the last one is stored every 15 s.
pub const SITE_SILENT: Duration = Duration::from_secs(60);

/// A site as its orchestrator reported it; a clone shares the large parts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SiteView {
    pub head: Head,
    pub holds: Holds,
    /// Files in Git that the site cannot use, by path.
    pub files: BTreeMap<String, RefusedFile>,
    /// Why something is not as it should be, as answered by the site.
    pub answers: Shared<BTreeMap<AnswerKey, Vec<Why>>>,
    pub nodes: Shared<BTreeMap<NodeName, NodeView>>,
    pub deployments: Shared<BTreeMap<DeploymentId, DeploymentView>>,
    pub placements: Shared<BTreeMap<DeploymentId, BTreeMap<NodeName, PlacementView>>>,
    pub central_changes: Shared<BTreeMap<DeploymentName, CentralChange>>,
    /// Commands the site has not acknowledged yet.
    pub commands: BTreeMap<u64, Command>,
    pub archives: Shared<BTreeMap<DeploymentId, Archive>>,
    /// Rebuilt: a name has several ids while one of them is being removed.
    pub(in crate::fleet) names: Shared<BTreeMap<DeploymentName, BTreeSet<DeploymentId>>>,
    pub(in crate::fleet) recent: Shared<Recent>,
}

/// The small record that every batch writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The end of the log of the latest orchestrator; `None` before the first
    /// join.
    pub log: Option<Log>,
    pub joined: Option<Timestamp>,
    pub last_heard: Option<Timestamp>,
    /// The last commit that the site has read, whether or not it accepted all of
    /// its files.
    pub git: Option<GitRevision>,
    /// The local orchestrator has read Git and serves manifests.
    pub ready: bool,
    pub commands_done: u64,
    /// The highest number that a command of central ever had.
    pub commands_last: u64,
    /// The lowest incarnation of the next orchestrator: raised by a restore.
    #[serde(default)]
    pub joins_from: Incarnation,
    /// Session and number of the newest answers that were stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<(u64, u64)>,
}

/// The holds at a site: changes that wait for an operator.
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
    pub since: Timestamp,
    pub cordoned: bool,
    /// The capabilities that the node last reported.
    pub capabilities: Option<Capabilities>,
}

impl NodeView {
    /// The lease of the node has not expired.
    pub fn is_online(&self) -> bool {
        matches!(self.presence, Presence::Online | Presence::Suspect)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentView {
    pub id: DeploymentId,
    pub name: DeploymentName,
    /// The revision that the site last accepted from Git.
    pub accepted: Revision,
    pub since: Timestamp,
    /// The commit the site was at when it accepted the revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<GitRevision>,
    /// Gone from Git; the view drops the deployment with its last placement.
    pub withdrawn: bool,
    /// The last revision that every reachable node ran.
    #[serde(rename = "good")]
    pub last_converged: Option<Revision>,
    pub quarantine: BTreeMap<Digest, Quarantine>,
    /// Nodes that gave up a revision on their own.
    pub rejected: BTreeMap<NodeName, Rejected>,
    pub stopped: Option<Stopped>,
    /// The position of a rollout in steps, until it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<RolloutView>,
    /// Kept until a revision other than this pair is accepted, or until a
    /// release.
    pub rolled_back: Option<RolledBack>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacementView {
    pub id: PlacementId,
    pub state: State,
    pub since: Timestamp,
    pub attempt: u32,
    pub revisions: Revisions,
    /// The last failure; cleared by INSTALLED.
    pub failure: Option<Failure>,
    /// Whether and when the failed attempt is retried; sites of earlier
    /// releases do not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// The attempt runs beside the active version.
    #[serde(rename = "beside", default, skip_serializing_if = "std::ops::Not::not")]
    pub staged: bool,
    /// The active version beside a staged revision is not healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<ActiveFailure>,
    /// An event of the placement was inconsistent; cleared when it ends well.
    pub flagged: Option<Flag>,
}

/// The last removal of a deployment from a site: how many placements became
/// DELETED since it was withdrawn. Nodes that were deselected before that do
/// not count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    pub name: Option<DeploymentName>,
    pub deleted: u64,
    /// The number of these removals that no node confirmed.
    pub unconfirmed: u64,
    /// When central planned the removal or, without such a plan, when the site
    /// saw it; absent in rows of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
    pub last: Timestamp,
}

impl Archive {
    pub fn began(&self) -> Timestamp {
        self.began.unwrap_or(self.last)
    }

    /// The time of the last removal. The site's clock may be behind central's.
    pub fn ended(&self) -> Timestamp {
        self.last.max(self.began())
    }
}

/// Whether a site's orchestrator connects.
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
    pub fn presence(&self, now: Timestamp) -> SitePresence {
        let heard = self.head.last_heard.is_some_and(|it| now.since(it) < SITE_SILENT);
        match self.incarnation() {
            None => SitePresence::Expected,
            Some(_) if heard => SitePresence::Online,
            Some(_) => SitePresence::Offline,
        }
    }

    /// When an offline site sent its last request, if it ever sent one.
    pub fn silent_since(&self, now: Timestamp) -> Option<Timestamp> {
        self.head.last_heard.filter(|_| self.presence(now) == SitePresence::Offline)
    }

    /// Names of deployments the site does not have because their file is refused.
    pub fn refused_file_names(&self) -> impl Iterator<Item = &DeploymentName> {
        self.answers.keys().filter_map(|it| match it {
            AnswerKey::File(name) => Some(name),
            AnswerKey::Site | AnswerKey::Node(_) | AnswerKey::Deployment(_) => None,
        })
    }

    /// The incarnation whose events are accepted; all lower ones are fenced.
    pub fn incarnation(&self) -> Option<Incarnation> {
        self.head.log.as_ref().map(|it| it.incarnation)
    }

    /// The deployment of that name, preferably one that is not being removed.
    pub fn deployment_named(&self, name: &DeploymentName) -> Option<&DeploymentView> {
        let all = || self.deployments_named(name);
        all().find(|it| !it.withdrawn).or_else(|| all().next())
    }

    /// All deployments of that name: one is live, the others are being removed.
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
    /// The accepted revision is quarantined at this site.
    pub fn is_quarantined(&self) -> bool {
        self.quarantine.contains_key(&self.accepted.workload)
    }
}

/// Stores the map as pairs, because JSON keys can only be strings.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::event::HoldScope;
    use crate::site::Hold;

    pub(in crate::fleet) fn serialize<S: Serializer>(
        map: &BTreeMap<HoldScope, Hold>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        map.iter().collect::<Vec<_>>().serialize(serializer)
    }

    pub(in crate::fleet) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<HoldScope, Hold>, D::Error> {
        let pairs: Vec<(HoldScope, Hold)> = Vec::deserialize(deserializer)?;
        Ok(pairs.into_iter().collect())
    }
}
