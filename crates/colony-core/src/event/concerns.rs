//! The deployment and the node that an event concerns.

use crate::event::{Body, HoldScope};
use crate::id::{DeploymentId, NodeName};

impl Body {
    /// The deployment it is about, if it is about one.
    pub fn deployment(&self) -> Option<&DeploymentId> {
        match self {
            Body::StateTransition(it) => Some(&it.deployment),
            Body::StaleReport { deployment, .. }
            | Body::RunningHealth { deployment, .. }
            | Body::DeploymentAccepted { deployment, .. }
            | Body::DeploymentWithdrawn { deployment, .. }
            | Body::DeploymentConverged { deployment, .. }
            | Body::Quarantined { deployment, .. }
            | Body::QuarantineReleased { deployment, .. }
            | Body::RolloutReleased { deployment }
            | Body::RolloutResumed { deployment }
            | Body::RolloutStep { deployment, .. }
            | Body::RolloutPaused { deployment, .. }
            | Body::RolloutUnpaused { deployment }
            | Body::RolledBack { deployment, .. }
            | Body::RolloutStopped { deployment, .. }
            | Body::RevisionRejected { deployment, .. } => Some(deployment),
            Body::Held { scope, .. } | Body::HoldReleased { scope } => scope.deployment(),
            Body::Ready
            | Body::FileRefused { .. }
            | Body::FileAccepted { .. }
            | Body::RemovalHeld { .. }
            | Body::RemovalReleased
            | Body::HistoryHeld { .. }
            | Body::HistoryAccepted { .. }
            | Body::NodeJoined { .. }
            | Body::NodeCapable { .. }
            | Body::NodePresence { .. }
            | Body::NodeCordoned { .. }
            | Body::NodeRetired { .. }
            | Body::VersionRaised { .. }
            | Body::CommandDone { .. } => None,
        }
    }

    /// The node it happened on, if it happened on one.
    pub fn node(&self) -> Option<&NodeName> {
        match self {
            Body::StateTransition(it) => Some(&it.node),
            Body::StaleReport { node, .. }
            | Body::RunningHealth { node, .. }
            | Body::RolloutStopped { node, .. }
            | Body::RevisionRejected { node, .. }
            | Body::NodeJoined { node }
            | Body::NodeCapable { node, .. }
            | Body::NodePresence { node, .. }
            | Body::NodeCordoned { node, .. }
            | Body::NodeRetired { node }
            | Body::VersionRaised { node, .. } => Some(node),
            Body::Quarantined { node, .. } => node.as_ref(),
            Body::Ready
            | Body::DeploymentAccepted { .. }
            | Body::DeploymentWithdrawn { .. }
            | Body::DeploymentConverged { .. }
            | Body::QuarantineReleased { .. }
            | Body::RolloutReleased { .. }
            | Body::RolloutResumed { .. }
            | Body::RolloutStep { .. }
            | Body::RolloutPaused { .. }
            | Body::RolloutUnpaused { .. }
            | Body::RolledBack { .. }
            | Body::FileRefused { .. }
            | Body::FileAccepted { .. }
            | Body::RemovalHeld { .. }
            | Body::RemovalReleased
            | Body::HistoryHeld { .. }
            | Body::HistoryAccepted { .. }
            | Body::Held { .. }
            | Body::HoldReleased { .. }
            | Body::CommandDone { .. } => None,
        }
    }
}

impl HoldScope {
    pub fn deployment(&self) -> Option<&DeploymentId> {
        match self {
            HoldScope::Site => None,
            HoldScope::Deployment(id) => Some(id),
        }
    }
}
