//! The protocol between a local orchestrator (LO) and the central one (CO).
//!
//! The LO opens every connection and presents its client certificate. The
//! header `Colony-Incarnation` names the incarnation the LO believes to have;
//! central decides by the key of the certificate.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use colony_core::event::Event;
use colony_core::id::{DeploymentId, GitRevision, NodeName};
use colony_core::site::Command;
use colony_core::why::AnswerUpdate;

use crate::view::LogLine;

/// `POST /api/v1/sites/{site}/events`: the next events of the site's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventBatch {
    pub incarnation: u32,
    /// In order and without gaps.
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Event>,
    /// Why something is not as it should be, after these events; only what changed.
    #[schema(value_type = Option<Object>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<AnswerUpdate>,
}

/// The batch and its effects are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchAnswer {
    /// The number CO expects next; the LO goes back or forward to it.
    pub next_seq: u64,
    /// An earlier update of the answers is missing: all are to be sent again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answers_incomplete: bool,
}

/// `PUT /api/v1/sites/{site}/nodes`: health that CO cannot ask for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodesReport {
    /// The LO can do its job.
    pub ready: bool,
    /// Why it cannot.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// Of the LO's program.
    pub version: String,
    /// Where nodes join.
    pub urls: Vec<String>,
    /// The fingerprint of the site's CA: `sha256:<hex>`.
    pub ca: String,
    pub ca_pem: String,
    /// The site's trust domain.
    pub domain: String,
    #[serde(default)]
    pub nodes: Vec<NodeHealth>,
}

/// The health of one node, as its LO last received it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeHealth {
    #[schema(value_type = String)]
    pub name: NodeName,
    /// An age, so that no two clocks need to agree; absent if it never connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_heard_ms_ago: Option<u64>,
    /// Such as `podman 4.3.1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Whether it says that it can do its job; absent if it has not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Why it cannot.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// What it fetches at this moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub progress: Vec<PullHealth>,
}

/// How far the images of a deployment are on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PullHealth {
    #[schema(value_type = String)]
    pub deployment: DeploymentId,
    pub done_bytes: u64,
    /// What is known of so far; it grows while parts are announced.
    pub total_bytes: u64,
}

/// `pulling 34 of 120 MB`
impl std::fmt::Display for PullHealth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (unit, size) = match self.total_bytes {
            0 => return f.write_str("pulling images"),
            1..1_000_000 => ("kB", 1_000),
            _ => ("MB", 1_000_000),
        };
        let done = self.done_bytes.min(self.total_bytes) / size;
        write!(f, "pulling {done} of {} {unit}", self.total_bytes.div_ceil(size))
    }
}

/// `GET /api/v1/sites/{site}/hints`: the state of the LO, as query.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintsQuery {
    /// The commit the LO is at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The highest number of a command it has executed.
    #[serde(default)]
    pub command: u64,
    /// The last log request it has received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logs: Option<String>,
}

/// What has changed for the site; held until something differs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hints {
    /// The newest commit of the deployments repository, if it has another part for the site than
    /// the one the site named.
    #[schema(value_type = Option<String>)]
    pub head: Option<GitRevision>,
    /// Orders in their order, each executed once.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    pub commands: Vec<Command>,
    #[serde(default)]
    pub logs: Vec<SiteLogRequest>,
}

/// An operator's request for logs of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteLogRequest {
    /// Rising in the order of the requests.
    pub id: String,
    #[schema(value_type = String)]
    pub node: NodeName,
    /// The deployment's id.
    pub deployment: String,
    /// Of the containers that were replaced.
    #[serde(default)]
    pub previous: bool,
    /// At most so many of each service: the last ones, or with `after` the next.
    pub lines: u32,
    /// Nothing older than so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_seconds: Option<u64>,
    /// Of this service alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// What comes after a position that an earlier answer gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// `POST /api/v1/sites/{site}/logs/{id}`: what the node sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogAnswer {
    #[serde(default)]
    pub lines: Vec<LogLine>,
    #[serde(default)]
    pub truncated: bool,
    /// Where to go on with `after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// Why there are no lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// `POST /colony/v1/join` at CO, without a client certificate.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteJoinRequest {
    pub token: String,
    /// A certificate request in PEM; the key stays where it was made.
    pub csr: String,
    /// Take over from an LO that was in contact a moment ago.
    #[serde(default)]
    pub replace: bool,
}

/// A token grants access, so it is not printed.
impl std::fmt::Debug for SiteJoinRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SiteJoinRequest").field("replace", &self.replace).finish_non_exhaustive()
    }
}

/// The identity of an LO and all it needs to begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteJoined {
    /// The client certificate and its chain, in PEM.
    pub chain: String,
    /// The roots of the fleet, in PEM.
    pub roots: String,
    pub site: String,
    pub incarnation: u32,
    /// The fleet's trust domain.
    pub domain: String,
    /// Verifies join tokens of nodes without CO.
    pub token_public: String,
    pub git: GitAccess,
}

/// `POST /colony/v1/renew` at CO, with the certificate that is still good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteRenewRequest {
    /// A certificate request in PEM.
    pub csr: String,
}

/// The next certificate of the same site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteRenewed {
    /// The client certificate and its chain, in PEM.
    pub chain: String,
    /// The roots of the fleet, in PEM.
    pub roots: String,
}

/// Where the deployments repository is, and how to get in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitAccess {
    pub url: String,
    pub branch: String,
    pub auth: GitAuth,
}

/// How a Git server knows its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum GitAuth {
    /// The LO's client certificate of the fleet.
    Mtls,
    None,
    /// A key of the machine.
    Ssh,
    /// A token of the machine's configuration.
    Token,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_said_in_a_unit_that_fits() {
        check(0, 0, "pulling images");
        check(34_900_000, 119_000_001, "pulling 34 of 120 MB");
        check(120_000_001, 120_000_000, "pulling 120 of 120 MB");
        check(0, 1, "pulling 0 of 1 kB");
        check(340_000, 900_000, "pulling 340 of 900 kB");
    }

    #[track_caller]
    fn check(done_bytes: u64, total_bytes: u64, expected: &str) {
        let deployment = DeploymentId::from_bytes([1; 16]);
        let pull = PullHealth { deployment, done_bytes, total_bytes };
        assert_eq!(pull.to_string(), expected);
    }
}
