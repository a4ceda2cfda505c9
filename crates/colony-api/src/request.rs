//! What people ask for.
//!
//! Names stand here as they were typed: the server parses them and answers
//! with a problem that names the field.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

pub use colony_core::document::{
    OnFailure, Promote, RetryChange, SettingsChange, StrategyChange, StrategyKind,
};

/// `POST /api/v1/deployments`: create or change a deployment, by name.
///
/// What is left out stays as it is; for a first deployment it takes the
/// default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeployRequest {
    /// The application's id in the catalog.
    pub application: String,
    /// The newest of the catalog if absent; on a change of other things the
    /// version that is deployed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The application's id if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Empty: where it already is, or the only site there is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<String>,
    /// One node, as `<site>/<node>` or `<node>` with one site; absent: every node that matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Values by parameter. A text is read as the type the schema wants.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Value>,
    /// The one that matches the most targets if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// How it is rolled out, where it may run and what a failure does.
    #[serde(default, skip_serializing_if = "SettingsChange::is_empty")]
    pub settings: SettingsChange,
    /// Plan and answer; write nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Refuse if the plan is no longer the one with this hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<String>,
}

/// `POST /api/v1/sites`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SiteAdd {
    pub name: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// How long the token of its first orchestrator is good; 1 h if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime_seconds: Option<u64>,
}

/// `POST /api/v1/sites/{site}/trust`: the authority of a site's own domain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SiteTrust {
    /// `sha256:<hex>`, as the site reports it.
    pub fingerprint: String,
}

/// `POST /api/v1/sites/{site}/invite` and `…/nodes/invite`: a join token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Invite {
    /// How long it is good; 1 h if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime_seconds: Option<u64>,
    /// The new orchestrator takes over from one that lives.
    #[serde(default)]
    pub replace: bool,
}

/// `POST /api/v1/registries`: where application packages are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegistryAdd {
    /// A path or a URL of a Git repository, as the central orchestrator sees it.
    pub url: String,
    /// The last part of the URL if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// `POST /api/v1/applications/lint`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lint {
    /// The file name that findings are reported with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The content of a `margo.yaml`.
    pub text: String,
}

/// `POST …/hold` of a site or a deployment: no new attempts until a release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hold {
    /// The reason, for operators who ask.
    #[serde(default)]
    pub note: String,
    /// Of a deployment: the sites meant; empty: all where it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<String>,
}

/// `POST …/release` of a site or a deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Release {
    /// Of a site: what is let go.
    #[serde(default)]
    pub what: ReleaseWhat,
    /// Of a deployment: the sites meant; empty: all where it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<String>,
}

/// What waits for a person's word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReleaseWhat {
    /// A hold that an operator set.
    #[default]
    Hold,
    /// A commit that removes too much at once.
    Removal,
    /// A history that was rewritten.
    History,
}

/// `POST /api/v1/deployments/{name}/promote`, `pause`, `resume` and `abort`: its rollout.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Steer {
    /// Of a pause or an abort: the reason, for operators who ask.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Empty: every site where it is being rolled out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<String>,
}

/// What is done to a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steering {
    Promote,
    Pause,
    Resume,
    Abort,
}

impl Steering {
    /// The last part of its path.
    pub fn name(self) -> &'static str {
        match self {
            Steering::Promote => "promote",
            Steering::Pause => "pause",
            Steering::Resume => "resume",
            Steering::Abort => "abort",
        }
    }
}

/// `POST /api/v1/deployments/{name}/quarantine/release`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuarantineRelease {
    /// Empty: every site where something of it is quarantined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<String>,
}

/// `POST /api/v1/deployments/{name}/retry`: what failed, at once and with all its tries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retry {
    /// Empty: every site where it failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<String>,
    /// One node, as `<site>/<node>`, or `<node>` if one site has a node of that name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// `POST /api/v1/deployments/{name}/rollback`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rollback {
    /// A version it had before, or a commit of its history; the last good one of each site if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Empty: all sites that have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<String>,
    #[serde(default)]
    pub dry_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<String>,
}

/// `DELETE /api/v1/deployments/{name}`, as query; lists are joined by commas.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeleteQuery {
    /// Sites by comma; absent: all where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sites: Option<String>,
    /// Also where no node can confirm the removal.
    #[serde(default)]
    pub force: bool,
    /// Remove its volumes as well, with all data in them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub purge: bool,
    #[serde(default)]
    pub dry_run: bool,
    /// Only if this is still the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<String>,
}

/// `GET /api/v1/events`, as query.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// The application's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// The deployment's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Only events behind this position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The newest so many; `after` is then not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<u32>,
}

/// `GET /api/v1/deployments/{name}/logs`, as query.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogsQuery {
    /// Needed only where the deployment is on several nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Of the containers that were replaced.
    #[serde(default)]
    pub previous: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
    /// Nothing older than so many seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_seconds: Option<u64>,
    /// Of this service alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// What comes after the position of an earlier answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// The most items of one page of a list.
pub const PAGE_LIMIT: u32 = 1_000;

/// `?site=&after=&limit=` of lists: the items behind `after`, in order of their
/// names (`<site>/<node>` for nodes). A page with `limit` items may have a next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// `?site=` of `why`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
}

/// `POST /api/v1/tokens`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TokenAdd {
    /// The actor of everything it does.
    pub name: String,
    /// `viewer`, `operator` or `admin`.
    pub role: String,
    /// The sites it is for; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<String>,
    /// How long it is good for; without it until it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_seconds: Option<u64>,
}
