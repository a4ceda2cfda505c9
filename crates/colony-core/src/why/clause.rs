//! Each cause as a clause.

use colony_margo::Finding;

use crate::attempt::Failure;
use crate::id::{GitRevision, NodeName};
use crate::time::Wall;
use crate::why::words::{ago, all, away, groups, said, slots, told, used_up};
use crate::why::{Cause, Unfitting};

impl Cause {
    /// What is the case, with durations told from `asked`.
    pub(super) fn clause(&self, asked: Wall) -> String {
        match self {
            Cause::Fenced { by } => {
                format!("this orchestrator was replaced by incarnation {by} and changes nothing")
            }
            Cause::SiteNotSeeded {} => {
                "the central orchestrator has not told yet what runs here".to_owned()
            }
            Cause::GitNotRead {} => "Git has not been read yet".to_owned(),
            Cause::NoNodes {} => "no node has joined this site".to_owned(),
            Cause::HistoryHeld { commit, in_force } => history(commit, in_force.as_ref()),
            Cause::RemovalHeld { deployments } => format!(
                "the removal of {} deployments at once ({}), more than half, is held",
                deployments.len(),
                all(deployments)
            ),
            Cause::FileRefused { path, findings, runs } => refused(path, findings, runs.as_deref()),
            Cause::HoldSite { by, note, since } => {
                format!("{by} put the site on hold {}{}", ago(*since, asked), said(note))
            }
            Cause::HoldDeployment { by, note, since } => {
                format!("{by} put the deployment on hold {}{}", ago(*since, asked), said(note))
            }
            Cause::WindowClosed { .. } => "the maintenance window is closed".to_owned(),
            Cause::NodeOffline { node, last_heard } | Cause::Stale { node, last_heard } => {
                format!("node {node} {}", away(Some(*last_heard), asked))
            }
            Cause::NodeNeverHeard { node, joined } => never_heard(node, *joined, asked),
            Cause::NodeRetired { node } => format!("node {node} is retired"),
            Cause::NodeSuspect { node, last_heard, .. } => {
                format!("node {node} is late, last heard {}", ago(*last_heard, asked))
            }
            Cause::NodeCordoned { node } => format!("node {node} is cordoned"),
            Cause::NoCapabilities { node } => {
                format!("node {node} is heard but has not reported its capabilities")
            }
            Cause::TargetNotJoined { node } => {
                format!("its file names node {node}, which has not joined this site")
            }
            Cause::NothingFits { unfit } => format!("no node fits: {}", groups(unfit)),
            Cause::TooFewFit { replicas, placed, unfit } => too_few(*replicas, placed, unfit),
            Cause::LostEligibility { node, reason } => {
                format!("node {node} would not get it again: {reason}")
            }
            Cause::Refused { node, failure } => {
                format!("node {node} will not run it: {}", told(failure))
            }
            Cause::RunningLost { node, version, failure } => {
                format!(
                    "{version}, which node {node} runs meanwhile, is not well: {}",
                    told(failure)
                )
            }
            Cause::WaveFull { slots: some, taken, limit } => {
                let are = if *limit == 1 { "slot is" } else { "slots are" };
                format!("{taken} of {limit} rollout {are} taken by {}", slots(some, *taken, asked))
            }
            Cause::CanaryFirst { of: 0, .. } => {
                "no node that can be reached is a canary, and the others wait for one".to_owned()
            }
            Cause::CanaryFirst { done, of } => {
                format!("{done} of {of} canaries run it well, and the others wait for them")
            }
            Cause::StageFirst { of: 0, .. } => {
                "no node that can be reached has something to stage it beside".to_owned()
            }
            Cause::StageFirst { done, of } => {
                format!(
                    "{done} of {of} nodes have it staged, and all have to before one takes over"
                )
            }
            Cause::Soaking { .. } => "what has it must stay well for the soak".to_owned(),
            Cause::AwaitsPromotion { since } => {
                format!(
                    "the soak ended {} and the next step waits to be promoted",
                    ago(*since, asked)
                )
            }
            Cause::Paused { by, note, since } => {
                format!("{by} paused the rollout {}{}", ago(*since, asked), said(note))
            }
            Cause::NotStageable { node } => {
                format!("node {node} is not colony's own and cannot stage a revision")
            }
            Cause::WaveStopped { version, node, failure, since } => {
                let when = ago(*since, asked);
                format!("the rollout of {version} stopped {when} on node {node}: {}", told(failure))
            }
            Cause::Quarantined { version, node, failure, since, .. } => {
                quarantined(version, node.as_ref(), failure, &ago(*since, asked))
            }
            Cause::RejectedHere { version, node, failure, .. } => {
                format!("{version} was given up on node {node}: {}", told(failure))
            }
            Cause::RollbackRefused { reason } => format!("it does not roll back because {reason}"),
            Cause::Due {} => "nothing is in its way any more".to_owned(),
            Cause::InProgress { node, attempt, .. } => {
                format!("attempt {attempt} is under way on node {node}")
            }
            Cause::LostOffline { node, attempt, last_heard, .. } => {
                let away = away(*last_heard, asked);
                format!("how attempt {attempt} went is not known, node {node} {away}")
            }
            Cause::LostSilent { node, attempt, .. } => {
                format!("node {node} is back but has said nothing of attempt {attempt}")
            }
            Cause::Backoff { failure, .. } | Cause::DeleteFailed { failure, .. } => told(failure),
            Cause::TriesUsedUp { failure, tries } => {
                format!("{}; {}", told(failure), used_up(*tries))
            }
            Cause::HealthLost { failure, .. } => {
                format!("{}, after it had proven itself", told(failure))
            }
            Cause::LastError { failure } => format!("the last try failed: {}", told(failure)),
            Cause::Removing { node, told } => {
                format!("node {node} was told {} and has not confirmed", ago(*told, asked))
            }
            Cause::DeleteWaitsForNode { node, last_heard } => {
                format!("node {node} has to confirm but {}", away(*last_heard, asked))
            }
        }
    }
}

fn history(commit: &GitRevision, in_force: Option<&GitRevision>) -> String {
    let (commit, in_force) = (commit.short(), in_force.map_or("nothing", GitRevision::short));
    format!("Git's history was rewritten; {commit} waits to be accepted, {in_force} is in force")
}

fn refused(path: &str, findings: &[Finding], runs: Option<&str>) -> String {
    let first = findings.first().map_or(path.to_owned(), ToString::to_string);
    let more = match findings.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more findings)"),
    };
    let stays = runs.map(|it| format!(" and {it} stays in force")).unwrap_or_default();
    format!("a file in Git cannot be used{stays}: {first}{more}")
}

fn never_heard(node: &NodeName, joined: Option<Wall>, asked: Wall) -> String {
    let joined = joined.map(|it| format!(" {}", ago(it, asked))).unwrap_or_default();
    format!("node {node} joined{joined} and has not been heard since")
}

fn too_few(replicas: u32, placed: &[NodeName], unfit: &[Unfitting]) -> String {
    let rest = match unfit {
        [] => "there are no more nodes".to_owned(),
        _ => groups(unfit),
    };
    format!("{replicas} replicas are wanted, {} placed ({}); {rest}", placed.len(), all(placed))
}

fn quarantined(version: &str, node: Option<&NodeName>, failure: &Failure, when: &str) -> String {
    match node {
        Some(node) => {
            let told = told(failure);
            format!("{version} was quarantined at this site {when}: on node {node}, {told}")
        }
        None => format!("{version} was rolled back by an operator {when}"),
    }
}
