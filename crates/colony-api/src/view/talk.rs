//! Short answers: invitations, orders taken, reasons, log lines, the repository.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use colony_core::time::Timestamp;

use crate::site::GitAuth;

/// `POST /api/v1/sites`, `…/invite` and `…/nodes/invite`
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InviteView {
    pub kind: InviteKind,
    pub site: String,
    /// Lets its holder in, once.
    pub token: String,
    /// What to run on the other machine.
    pub command: String,
    #[schema(value_type = u64)]
    pub expires: Timestamp,
    /// Seconds it is good from the moment it was made.
    pub lifetime_seconds: u64,
}

/// A token lets its holder in: it is not printed.
impl std::fmt::Debug for InviteView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut it = f.debug_struct("InviteView");
        it.field("kind", &self.kind).field("site", &self.site).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum InviteKind {
    Site,
    Node,
}

/// An order was taken: hold, release, retry, cordon and the like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// What happens now, and when it cannot happen at once, why.
    pub sentence: String,
    /// Follow the events behind this one to see it done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
}

/// `GET /api/v1/why`, `GET /api/v1/sites/{site}/why` and `GET /api/v1/deployments/{name}/why`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhyView {
    /// `hello@plant-b`, `plant-b` or `fleet`.
    pub subject: String,
    /// `INSTALLED 1.1; node b2 deferred: offline 3 h; catches up on return`
    pub summary: String,
    /// What is in the way, outermost first; empty if nothing is.
    #[serde(default)]
    pub reasons: Vec<ReasonView>,
}

/// Why something is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasonView {
    pub site: String,
    /// Absent: the site or a node as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<String>,
    /// Empty: the deployment or the site as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// One of the published names, such as `node-offline`.
    #[serde(default)]
    pub cause: String,
    /// What the cause names: nodes, times, versions, the failure.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub facts: Value,
    /// What else is in the way, or was the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<CauseView>,
    pub sentence: String,
    /// Who has to act: `colony`, `operator`, `site engineer` …
    pub owner: String,
    /// What the owner can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub act: Option<String>,
    /// The command that does it, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[schema(value_type = Option<u64>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// What happens next.
    #[serde(default)]
    pub next: String,
    #[schema(value_type = Option<u64>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
}

/// A cause with its facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CauseView {
    pub cause: String,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub facts: Value,
}

/// `GET /api/v1/deployments/{name}/logs`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogsView {
    pub deployment: String,
    pub site: String,
    pub node: String,
    pub previous: bool,
    /// The oldest first.
    pub lines: Vec<LogLine>,
    #[serde(default)]
    pub truncated: bool,
    /// Where to go on with `?after=`; absent for logs that are not followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// Why there are no lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A line a workload printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogLine {
    pub service: String,
    /// When it was printed, by the clock of the node.
    #[schema(value_type = Option<u64>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    pub text: String,
}

/// `GET /api/v1/repo`: the deployments repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepoView {
    pub url: String,
    pub branch: String,
    /// Colony hosts it: clone with the operator's own token.
    pub hosted: bool,
    pub auth: GitAuth,
    /// How to clone it, for people.
    pub how: String,
}
