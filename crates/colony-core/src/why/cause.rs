//! The kinds of situations in which something is not running yet.
//!
//! One variant per kind, with what a reader needs to act; the names are part
//! of the API and do not change.

use serde::{Deserialize, Serialize};

use colony_margo::{Digest, Finding};

use crate::attempt::Failure;
use crate::event::Incarnation;
use crate::id::{BlobId, DeploymentName, GitRevision, NodeName, SiteName};
use crate::state::State;
use crate::time::Wall;
use crate::transition::Reason;

macro_rules! causes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal { $($field:ident: $type:ty),* $(,)? })*) => {
        /// Why something is not running yet, or runs otherwise than wanted.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "name", rename_all_fields = "camelCase")]
        pub enum Cause {
            $($(#[$doc])* #[serde(rename = $name)] $variant { $($field: $type),* },)*
        }

        impl Cause {
            /// Every name there is, in the order of this file.
            pub const ALL_NAMES: &'static [&'static str] = &[$($name,)*];

            /// The stable name of the kind.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Cause::$variant { .. } => $name,)*
                }
            }
        }
    };
}

causes! {
    /// Central: no orchestrator has ever joined the site.
    SiteNeverJoined = "site-never-joined" { site: SiteName }
    /// Central: the site's orchestrator, or the line to it, is down.
    SiteSilent = "site-silent" { site: SiteName, last_heard: Option<Wall> }
    /// Central: an orchestrator has joined and does not serve its nodes yet.
    SiteNotReady = "site-not-ready" { site: SiteName, incarnation: Incarnation, joined: Option<Wall> }
    /// Central: accepted, and not in Git yet. `problem` is what Git said last.
    NotCommitted = "not-committed" { path: String, since: Wall, problem: Option<String> }
    /// Central: Git does not take what was to be written.
    ChangeRefused = "change-refused" { path: String, reason: String, since: Wall }
    /// Central: the file holds something else than was expected.
    Conflict = "conflict" { path: String, expected: Option<BlobId>, found: Option<BlobId>, since: Wall }
    /// Central: Git holds it, and the site has not taken it yet.
    NotFetched = "not-fetched" {
        site: SiteName,
        path: String,
        commit: GitRevision,
        removal: bool,
        at: Option<GitRevision>,
        last_heard: Option<Wall>,
        since: Wall,
    }
    /// Central: the site rolled back, and Git still holds the bad file.
    AwaitsRevert = "awaits-revert" { path: String, since: Wall }
    /// Central: an event of the site does not fit what was reported before.
    InconsistentReport = "inconsistent-report" { node: NodeName, problem: String, since: Wall }
    /// Central: the site has not sent its reasons.
    NotExplained = "not-explained" { site: SiteName, state: String, since: Wall }

    CentralUnreachable = "central-unreachable" { since: Wall, problem: String }
    GitUnreachable = "git-unreachable" { since: Wall, problem: String }
    /// The node says that it cannot do its job.
    NodeNotReady = "node-not-ready" { node: NodeName, reasons: Vec<String> }

    /// This orchestrator was replaced and must not change anything.
    Fenced = "fenced" { by: Incarnation }
    /// What runs at the site is not known yet.
    SiteNotSeeded = "site-not-seeded" {}
    GitNotRead = "git-not-read" {}
    NoNodes = "no-nodes" {}
    /// Git's history was rewritten and waits to be accepted.
    HistoryHeld = "history-held" { commit: GitRevision, in_force: Option<GitRevision>, since: Wall }
    /// A commit removes too much at once.
    RemovalHeld = "removal-held" { deployments: Vec<DeploymentName>, since: Wall }
    FileRefused = "file-refused" { path: String, findings: Vec<Finding>, runs: Option<String>, since: Wall }
    HoldSite = "hold-site" { by: String, note: String, since: Wall }
    HoldDeployment = "hold-deployment" { by: String, note: String, since: Wall }
    WindowClosed = "window-closed" { opens: Wall }

    NodeOffline = "node-offline" { node: NodeName, last_heard: Wall }
    NodeNeverHeard = "node-never-heard" { node: NodeName, joined: Option<Wall> }
    NodeRetired = "node-retired" { node: NodeName }
    /// Late, but its lease still runs.
    NodeSuspect = "node-suspect" { node: NodeName, last_heard: Wall, offline_at: Wall }
    NodeCordoned = "node-cordoned" { node: NodeName }
    NoCapabilities = "no-capabilities" { node: NodeName }

    /// The file names a node that is not there.
    TargetNotJoined = "target-not-joined" { node: NodeName }
    NothingFits = "nothing-fits" { unfit: Vec<Unfitting> }
    TooFewFit = "too-few-fit" { replicas: u32, placed: Vec<NodeName>, unfit: Vec<Unfitting> }
    /// A node that has it would not get it again.
    LostEligibility = "lost-eligibility" { node: NodeName, reason: String }

    /// `slots` names a few of the `taken`.
    WaveFull = "wave-full" { slots: Vec<Slot>, taken: usize, limit: u32 }
    /// The others wait for the first few.
    CanaryFirst = "canary-first" { done: usize, of: usize }
    /// All have to stage it before one takes over.
    StageFirst = "stage-first" { done: usize, of: usize }
    Soaking = "soaking" { until: Wall }
    AwaitsPromotion = "awaits-promotion" { since: Wall }
    Paused = "paused" { by: String, note: String, since: Wall }
    /// The device is not colony's own.
    NotStageable = "not-stageable" { node: NodeName }
    WaveStopped = "wave-stopped" { version: String, node: NodeName, failure: Failure, since: Wall }
    /// Without a node an operator rolled it back.
    Quarantined = "quarantined" {
        version: String,
        workload: Digest,
        node: Option<NodeName>,
        failure: Failure,
        since: Wall,
        runs: Option<String>,
    }
    RejectedHere = "rejected-here" {
        version: String,
        workload: Digest,
        node: NodeName,
        failure: Failure,
        runs: Option<String>,
    }
    /// A guard of the rollback itself disagrees.
    RollbackRefused = "rollback-refused" { reason: Reason }
    /// Nothing is in the way any more.
    Due = "due" {}

    InProgress = "in-progress" { node: NodeName, attempt: u32, started: Wall, deadline: Option<Wall> }
    /// The node went silent during the attempt and is still away.
    LostOffline = "lost-offline" { node: NodeName, attempt: u32, last_heard: Option<Wall>, until: Option<Wall> }
    /// The node is back but says nothing of the attempt.
    LostSilent = "lost-silent" { node: NodeName, attempt: u32, again_at: Option<Wall> }

    /// `of` counts the tries where they are limited.
    Backoff = "backoff" { failure: Failure, next_try: u32, of: Option<u32>, until: Wall }
    /// The device will not run it, and nothing of it has changed since.
    Refused = "refused" { node: NodeName, failure: Failure }
    TriesUsedUp = "tries-used-up" { failure: Failure, tries: u32 }
    HealthLost = "health-lost" { failure: Failure, until: Option<Wall> }
    /// What runs on while another version is staged is not well.
    RunningLost = "running-lost" { node: NodeName, version: String, failure: Failure }
    /// The failure behind a wait for something else.
    LastError = "last-error" { failure: Failure }

    Removing = "removing" { node: NodeName, told: Wall }
    DeleteWaitsForNode = "delete-waits-for-node" { node: NodeName, last_heard: Option<Wall> }
    DeleteFailed = "delete-failed" { failure: Failure, until: Option<Wall> }
    /// It runs, as far as was last heard.
    Stale = "stale" { node: NodeName, last_heard: Wall }
}

/// Nodes that do not get a deployment, for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfitting {
    pub nodes: Vec<NodeName>,
    pub misfit: Misfit,
    pub reason: String,
}

/// What kind of thing speaks against a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Misfit {
    /// Nothing: the site has not looked since it fits.
    None,
    Cordoned,
    NoCapabilities,
    Label,
    ProfileType,
    Constraints,
}

/// Who is down for a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    pub node: NodeName,
    pub state: State,
    pub since: Wall,
}
