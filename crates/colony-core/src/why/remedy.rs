//! Who has to act on a cause, and what helps.

use crate::attempt::Failure;
use crate::code::Code;
use crate::id::NodeName;
use crate::why::{Cause, Misfit, Owner, Unfitting};

/// The owner of a cause, and what that person can do, as a clause.
pub(super) fn of(cause: &Cause) -> (Owner, Option<String>) {
    let (owner, act) = match cause {
        Cause::CanaryFirst { of: 0, .. } => (
            Owner::GitAuthor,
            "choose canaries by labels that a node has, or bring one that has them back".to_owned(),
        ),
        Cause::SiteNeverJoined { site } => (
            Owner::Operator,
            format!("run what `colony site invite {site}` prints on the site's machine"),
        ),
        Cause::SiteSilent { site, .. } => {
            (Owner::SiteEngineer, format!("check power and network of site {site}"))
        }
        Cause::NotCommitted { problem: Some(_), .. } => {
            (Owner::Operator, "make the Git repository reachable and writable".to_owned())
        }
        Cause::ChangeRefused { .. } => (
            Owner::Operator,
            "deploy again with what Git takes, or change the rules of the repository".to_owned(),
        ),
        Cause::Conflict { .. } => {
            (Owner::Operator, "compare the file with what was planned and deploy again".to_owned())
        }
        Cause::InconsistentReport { .. } => {
            (Owner::Operator, "look at the events of the placement".to_owned())
        }
        Cause::NotExplained { site, .. } => (
            Owner::SiteEngineer,
            format!("upgrade the orchestrator of site {site} if it is older than this one"),
        ),
        Cause::CentralUnreachable { .. } => {
            (Owner::SiteEngineer, "check the line to the central orchestrator".to_owned())
        }
        Cause::GitUnreachable { .. } => {
            (Owner::SiteEngineer, "check the line to the Git repository".to_owned())
        }
        Cause::NodeNotReady { node, .. } => {
            (Owner::DeviceOwner, format!("put right what node {node} reports"))
        }
        Cause::Fenced { .. } => {
            (Owner::SiteEngineer, "stop this orchestrator, or let it join again".to_owned())
        }
        Cause::SiteNotSeeded {} => {
            (Owner::SiteEngineer, "check the line to the central orchestrator".to_owned())
        }
        Cause::GitNotRead {} => {
            (Owner::SiteEngineer, "check the line to the Git repository".to_owned())
        }
        Cause::NoNodes {} => {
            (Owner::SiteEngineer, "invite a node and let it join this site".to_owned())
        }
        Cause::HistoryHeld { commit, .. } => {
            (Owner::Operator, format!("accept history {} or restore the old one", commit.short()))
        }
        Cause::RemovalHeld { .. } => {
            (Owner::Operator, "release the removal, or put the files back".to_owned())
        }
        Cause::FileRefused { .. } => (Owner::GitAuthor, "commit a corrected file".to_owned()),
        Cause::HoldSite { .. } | Cause::HoldDeployment { .. } => {
            (Owner::SiteEngineer, "release the hold".to_owned())
        }
        Cause::SiteNotReady { .. }
        | Cause::NotCommitted { problem: None, .. }
        | Cause::NotFetched { .. }
        | Cause::AwaitsRevert { .. }
        | Cause::WindowClosed { .. }
        | Cause::NodeSuspect { .. }
        | Cause::WaveFull { .. }
        | Cause::CanaryFirst { .. }
        | Cause::StageFirst { .. }
        | Cause::Soaking { .. }
        | Cause::Due {}
        | Cause::InProgress { .. }
        | Cause::LostSilent { .. }
        | Cause::Removing { .. } => return (Owner::Colony, None),
        Cause::NodeOffline { node, .. }
        | Cause::LostOffline { node, .. }
        | Cause::Stale { node, .. } => (Owner::DeviceOwner, bring_back(node)),
        Cause::NodeNeverHeard { node, .. } => {
            (Owner::DeviceOwner, format!("start colony on node {node} and check its network"))
        }
        Cause::NodeRetired { .. } => (Owner::Operator, "choose another node".to_owned()),
        Cause::NodeCordoned { node } => (Owner::SiteEngineer, format!("uncordon node {node}")),
        Cause::NoCapabilities { node } => {
            (Owner::DeviceOwner, format!("look at the logs of colony on node {node}"))
        }
        Cause::TargetNotJoined { node } => {
            (Owner::GitAuthor, format!("name another node, or let node {node} join"))
        }
        Cause::NothingFits { unfit } => {
            opening(unfit, "change what the file asks for, or add a node that fits")
        }
        Cause::TooFewFit { unfit, .. } => {
            opening(unfit, "ask for fewer replicas, or add nodes that fit")
        }
        Cause::LostEligibility { .. } | Cause::Refused { .. } => {
            (Owner::GitAuthor, "change what the file asks for, or choose another node".to_owned())
        }
        Cause::RunningLost { .. } => (Owner::Operator, "look at its log".to_owned()),
        Cause::AwaitsPromotion { .. } => (Owner::Operator, "promote it, or abort it".to_owned()),
        Cause::Paused { .. } => (Owner::Operator, "resume it, or abort it".to_owned()),
        Cause::NotStageable { .. } => {
            (Owner::GitAuthor, "choose another strategy, or other nodes".to_owned())
        }
        Cause::WaveStopped { failure, .. } => return stopped(failure),
        Cause::Quarantined { version, .. } | Cause::RejectedHere { version, .. } => {
            (Owner::Operator, format!("deploy a corrected version, or release {version}"))
        }
        Cause::RollbackRefused { .. } => {
            (Owner::Operator, "retry it, or deploy another version".to_owned())
        }
        Cause::TriesUsedUp { failure, .. } => return stopped(failure),
        Cause::Backoff { failure, .. }
        | Cause::HealthLost { failure, .. }
        | Cause::LastError { failure } => return of_code(&failure.code),
        Cause::DeleteWaitsForNode { node, .. } => (
            Owner::DeviceOwner,
            format!("bring node {node} back; if it is gone for good, force the removal"),
        ),
        Cause::DeleteFailed { failure, .. } => {
            let (owner, act) = of_code(&failure.code);
            return (owner, act.map(|it| format!("{it}, or force the removal")));
        }
    };
    (owner, Some(act))
}

fn bring_back(node: &NodeName) -> String {
    format!("bring node {node} back")
}

/// Whoever can open a node for a deployment has to act before its author.
fn opening(unfit: &[Unfitting], otherwise: &str) -> (Owner, String) {
    let of =
        |kind: Misfit| unfit.iter().find(|it| it.misfit == kind).and_then(|it| it.nodes.first());
    match (of(Misfit::Cordoned), of(Misfit::NoCapabilities)) {
        (Some(node), _) => (Owner::SiteEngineer, format!("uncordon node {node}")),
        (None, Some(node)) => {
            (Owner::DeviceOwner, format!("look at the logs of colony on node {node}"))
        }
        (None, None) => (Owner::GitAuthor, otherwise.to_owned()),
    }
}

/// Nothing is tried again until an operator says so.
fn stopped(failure: &Failure) -> (Owner, Option<String>) {
    let remedy = failure.code.remedy();
    (Owner::Operator, Some(format!("{remedy}; then retry it, or deploy another version")))
}

fn of_code(code: &Code) -> (Owner, Option<String>) {
    let owner = owner(code);
    let act = (owner != Owner::Colony).then(|| code.remedy().to_owned());
    (owner, act)
}

fn owner(code: &Code) -> Owner {
    match code {
        Code::NodeShutdown => Owner::Colony,
        Code::RolledBack => Owner::Operator,
        Code::PullTimeout
        | Code::RegistryUnavailable
        | Code::RegistryDenied
        | Code::ProgressDeadline
        | Code::UnknownChild => Owner::SiteEngineer,
        Code::DiskFull
        | Code::EngineUnavailable
        | Code::EngineError
        | Code::PortInUse
        | Code::Interference
        | Code::NodeOffline
        | Code::RemovalFailed
        | Code::ChildUnreachable
        | Code::Foreign(_) => Owner::DeviceOwner,
        Code::ImageMissing
        | Code::ArchiveInvalid
        | Code::UnsupportedKey
        | Code::Exited
        | Code::Unhealthy
        | Code::ComponentTimeout => Owner::Vendor,
        Code::InvalidConfig | Code::NotEligible | Code::PlacementUnsupported => Owner::GitAuthor,
    }
}
