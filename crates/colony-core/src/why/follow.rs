//! What follows a cause, and since when it lasts.

use crate::attempt::Failure;
use crate::code::Class;
use crate::time::Wall;
use crate::why::{Cause, Next, Slot};

/// What happens next; `clause` is what happens when the cause is gone.
pub(super) fn next(cause: &Cause, also: &[Cause], clause: &str) -> Next {
    let mut what = what(cause, clause);
    let gated = also.iter().any(Cause::is_gate);
    if gated && cause.is_gate() {
        what.push_str(" and nothing else is in the way");
    } else if gated && cause.failure().is_some() && cause.at().is_some() {
        what.push_str(", if nothing else is in the way");
    }
    Next { what, at: cause.at() }
}

fn what(cause: &Cause, clause: &str) -> String {
    match cause {
        Cause::SiteNeverJoined { .. } => "it is deployed when the site has joined".to_owned(),
        Cause::SiteSilent { .. } => {
            "the site goes on without a connection and reports when it is back".to_owned()
        }
        Cause::SiteNotReady { .. } => "it reads Git, then serves its nodes".to_owned(),
        Cause::NotCommitted { problem: None, .. } => {
            "it is committed and pushed with the next batch".to_owned()
        }
        Cause::NotCommitted { .. } => "the commit is tried again".to_owned(),
        Cause::ChangeRefused { .. } | Cause::Conflict { .. } => {
            "nothing until it is deployed again".to_owned()
        }
        Cause::NotFetched { site, .. } => format!("site {site} takes it at its next fetch"),
        Cause::AwaitsRevert { .. } => {
            "it is reverted with the next commit, unless the file changes before".to_owned()
        }
        Cause::InconsistentReport { .. } => {
            "the mark goes when the placement is installed".to_owned()
        }
        Cause::NotExplained { .. } => "the reason comes with the site's next report".to_owned(),
        Cause::CentralUnreachable { .. } => {
            "the site works on; what happens here is reported when the line is back".to_owned()
        }
        Cause::GitUnreachable { .. } => {
            "the site works on from its clone; new commits are taken when Git answers".to_owned()
        }
        Cause::NodeNotReady { .. } => clause.to_owned(),
        Cause::Fenced { .. } => "nodes follow the orchestrator that replaced it".to_owned(),
        Cause::SiteNotSeeded {} => "nodes are served once their state and Git are read".to_owned(),
        Cause::GitNotRead {} => "nodes are served once Git is read".to_owned(),
        Cause::NoNodes {} => "deployments are placed when a node joins".to_owned(),
        Cause::HistoryHeld { commit, .. } => {
            format!("nothing of {} is taken until it is accepted", commit.short())
        }
        Cause::RemovalHeld { .. } => "they keep running until the removal is released".to_owned(),
        Cause::FileRefused { .. } => {
            "the file is read again with the commit that corrects it".to_owned()
        }
        Cause::HoldSite { .. } | Cause::HoldDeployment { .. } => {
            format!("{clause} when the hold is released")
        }
        Cause::WindowClosed { .. } => format!("the window opens and {clause}"),
        Cause::NodeOffline { node, .. } | Cause::NodeNeverHeard { node, .. } => {
            format!("{clause} as soon as node {node} is heard")
        }
        Cause::NodeRetired { .. } => "it is dropped".to_owned(),
        Cause::NodeSuspect { .. } => "it counts as offline unless it is heard before".to_owned(),
        Cause::NodeCordoned { .. } => "it keeps what it has and gets nothing new".to_owned(),
        Cause::NoCapabilities { .. } => "it gets its deployments once it has said".to_owned(),
        Cause::TargetNotJoined { node } => format!("it is placed when node {node} joins"),
        Cause::NothingFits { .. } => "it is placed on the first node that fits".to_owned(),
        Cause::TooFewFit { .. } => "the next one is placed on the first node that fits".to_owned(),
        Cause::LostEligibility { .. } => "it keeps running there; nothing is evicted".to_owned(),
        Cause::Refused { .. } => {
            "what runs there stays; it is tried again when the node or the file changes".to_owned()
        }
        Cause::RunningLost { .. } => "the node starts it again".to_owned(),
        Cause::WaveFull { slots, .. } => format!("{clause} when {} done", done(slots)),
        Cause::CanaryFirst { of: 0, .. } => format!("a canary gets it first, then {clause}"),
        Cause::CanaryFirst { .. } => format!("they soak, then {clause}"),
        Cause::StageFirst { .. } => format!("they soak, then {clause}"),
        Cause::Soaking { .. } => format!("the soak ends and {clause}"),
        Cause::AwaitsPromotion { .. } => format!("{clause} when it is promoted"),
        Cause::Paused { .. } => format!("{clause} when the rollout is resumed"),
        Cause::NotStageable { .. } => "it keeps what it has".to_owned(),
        Cause::WaveStopped { .. } => {
            "nothing more is started until it is retried or another version is deployed".to_owned()
        }
        Cause::Quarantined { version, runs, .. } => stays("nothing runs", version, runs.as_deref()),
        Cause::RejectedHere { version, runs, .. } => {
            stays("nothing runs there", version, runs.as_deref())
        }
        Cause::RollbackRefused { .. } => "nothing until an operator decides".to_owned(),
        Cause::Due {} => format!("{clause} at once"),
        Cause::InProgress { node, deadline, .. } => in_progress(node.as_str(), *deadline),
        Cause::LostOffline { until: Some(_), .. } => {
            "the attempt counts as failed unless the node is back before".to_owned()
        }
        Cause::LostOffline { node, until: None, .. } => {
            format!("node {node} says how it went as soon as it is back")
        }
        Cause::LostSilent { again_at: Some(_), .. } => {
            "a new attempt starts unless the node speaks of this one before".to_owned()
        }
        Cause::LostSilent { node, again_at: None, .. } => {
            format!("it goes on when node {node} says how it went")
        }
        Cause::Backoff { failure, next_try, of, .. } => next_attempt(failure, *next_try, *of),
        Cause::HealthLost { until: Some(_), .. } => "it is started again".to_owned(),
        Cause::TriesUsedUp { .. } | Cause::HealthLost { .. } => {
            "nothing until it is retried or another version is deployed".to_owned()
        }
        Cause::LastError { .. } => clause.to_owned(),
        Cause::Removing { node, .. } => format!("it is gone when node {node} confirms"),
        Cause::DeleteWaitsForNode { node, .. } => {
            format!("it is removed as soon as node {node} is heard")
        }
        Cause::DeleteFailed { until: Some(_), .. } => "the removal is tried again".to_owned(),
        Cause::DeleteFailed { until: None, .. } => "nothing until it is retried".to_owned(),
        Cause::Stale { node, .. } => {
            format!("node {node} runs it on its own and reports when it is back")
        }
    }
}

fn in_progress(node: &str, deadline: Option<Wall>) -> String {
    match deadline {
        Some(_) => format!("it counts as failed unless node {node} reports success before"),
        None => format!("node {node} reports how it went"),
    }
}

fn next_attempt(failure: &Failure, number: u32, of: Option<u32>) -> String {
    match (failure.code.class(), of) {
        (Class::Revision, Some(of)) => format!("try {number} of {of}"),
        _ => format!("try {number}, and so on until it works"),
    }
}

fn stays(nothing: &str, version: &str, runs: Option<&str>) -> String {
    let what = runs.map_or(nothing.to_owned(), |it| format!("{it} stays"));
    format!("{what} until another version is committed or {version} is released")
}

fn done(slots: &[Slot]) -> String {
    match slots {
        [one] => format!("{} is", one.node),
        _ => "one of them is".to_owned(),
    }
}

impl Cause {
    /// It keeps something from starting, and ends on its own terms.
    fn is_gate(&self) -> bool {
        matches!(
            self,
            Cause::NodeOffline { .. }
                | Cause::NodeNeverHeard { .. }
                | Cause::HoldSite { .. }
                | Cause::HoldDeployment { .. }
                | Cause::WindowClosed { .. }
                | Cause::WaveFull { .. }
                | Cause::CanaryFirst { .. }
                | Cause::StageFirst { .. }
                | Cause::Soaking { .. }
                | Cause::AwaitsPromotion { .. }
                | Cause::Paused { .. }
                | Cause::WaveStopped { .. }
        )
    }

    /// It keeps a site from taking commits.
    pub(crate) fn is_before_git(&self) -> bool {
        matches!(
            self,
            Cause::Fenced { .. }
                | Cause::SiteNotSeeded {}
                | Cause::GitNotRead {}
                | Cause::GitUnreachable { .. }
                | Cause::HistoryHeld { .. }
        )
    }

    /// When its next event is due, if that is known.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most causes have none")]
    fn at(&self) -> Option<Wall> {
        match self {
            Cause::WindowClosed { opens: at }
            | Cause::Soaking { until: at }
            | Cause::NodeSuspect { offline_at: at, .. }
            | Cause::Backoff { until: at, .. } => Some(*at),
            Cause::InProgress { deadline: at, .. }
            | Cause::LostOffline { until: at, .. }
            | Cause::LostSilent { again_at: at, .. }
            | Cause::HealthLost { until: at, .. }
            | Cause::DeleteFailed { until: at, .. } => *at,
            _ => None,
        }
    }

    /// When it began, where the cause itself knows.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most causes have none")]
    pub fn since(&self) -> Option<Wall> {
        match self {
            Cause::HoldSite { since: at, .. }
            | Cause::HoldDeployment { since: at, .. }
            | Cause::NotCommitted { since: at, .. }
            | Cause::Conflict { since: at, .. }
            | Cause::ChangeRefused { since: at, .. }
            | Cause::NotFetched { since: at, .. }
            | Cause::AwaitsRevert { since: at, .. }
            | Cause::InconsistentReport { since: at, .. }
            | Cause::NotExplained { since: at, .. }
            | Cause::CentralUnreachable { since: at, .. }
            | Cause::GitUnreachable { since: at, .. }
            | Cause::RemovalHeld { since: at, .. }
            | Cause::HistoryHeld { since: at, .. }
            | Cause::FileRefused { since: at, .. }
            | Cause::NodeOffline { last_heard: at, .. }
            | Cause::NodeSuspect { last_heard: at, .. }
            | Cause::Stale { last_heard: at, .. }
            | Cause::WaveStopped { since: at, .. }
            | Cause::Paused { since: at, .. }
            | Cause::AwaitsPromotion { since: at }
            | Cause::Quarantined { since: at, .. }
            | Cause::InProgress { started: at, .. }
            | Cause::Removing { told: at, .. } => Some(*at),
            Cause::NodeNeverHeard { joined: at, .. }
            | Cause::SiteSilent { last_heard: at, .. }
            | Cause::SiteNotReady { joined: at, .. }
            | Cause::LostOffline { last_heard: at, .. }
            | Cause::DeleteWaitsForNode { last_heard: at, .. } => *at,
            _ => None,
        }
    }

    /// The failure it tells of.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most causes have none")]
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Cause::WaveStopped { failure, .. }
            | Cause::Quarantined { failure, .. }
            | Cause::RejectedHere { failure, .. }
            | Cause::Backoff { failure, .. }
            | Cause::Refused { failure, .. }
            | Cause::TriesUsedUp { failure, .. }
            | Cause::HealthLost { failure, .. }
            | Cause::RunningLost { failure, .. }
            | Cause::LastError { failure }
            | Cause::DeleteFailed { failure, .. } => Some(failure),
            _ => None,
        }
    }
}
