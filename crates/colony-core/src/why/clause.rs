//! Each cause as a clause.

use colony_margo::Finding;

use crate::attempt::Failure;
use crate::id::{GitRevision, NodeName, SiteName};
use crate::time::Wall;
use crate::why::words::{ago, all, away, groups, lasting, said, slots, told, used_up};
use crate::why::{Cause, Unfitting};

impl Cause {
    /// What is the case, with durations up to `now`.
    pub(super) fn clause(&self, now: Wall) -> String {
        match self {
            Cause::SiteNeverJoined { site } => {
                format!("no orchestrator has ever joined site {site}")
            }
            Cause::SiteSilent { site, last_heard } => silent(site, *last_heard, now),
            Cause::SiteNotReady { site, incarnation: 0, .. } => {
                format!("the orchestrator of site {site} has joined and has not read Git yet")
            }
            Cause::SiteNotReady { site, incarnation, .. } => format!(
                "orchestrator {incarnation} of site {site} replaces the one before and has not taken over yet"
            ),
            Cause::NotCommitted { path, problem: None, .. } => {
                format!("{path} is accepted and not committed yet")
            }
            Cause::NotCommitted { path, problem: Some(problem), .. } => {
                format!("{path} is accepted and cannot be committed: {problem}")
            }
            Cause::ChangeRefused { path, reason, .. } => {
                format!("Git refused the change of {path}; nothing was written: {reason}")
            }
            Cause::Conflict { path, .. } => {
                format!("{path} was changed in Git by another author; it was left as it is")
            }
            Cause::NotFetched { site, path, commit, removal, at, last_heard, .. } => {
                let act = if *removal { "removed" } else { "committed" };
                let at = at.as_ref().map_or("no commit", GitRevision::short);
                let heard = last_heard.map(|it| format!(", last heard {}", ago(it, now)));
                let heard = heard.unwrap_or_default();
                format!("{path} is {act} in {}; site {site} is at {at}{heard}", commit.short())
            }
            Cause::AwaitsRevert { path, .. } => {
                format!("the site rolled back; {path} in Git still has to be reverted")
            }
            Cause::InconsistentReport { node, problem, .. } => {
                format!("inconsistent report of node {node}: {problem}")
            }
            Cause::NotExplained { site, state, .. } => {
                format!("it is {state}, and site {site} has not sent the reason")
            }
            Cause::CentralUnreachable { since, problem } => {
                let since = lasting(*since, now);
                format!("the central orchestrator has not answered for {since}: {problem}")
            }
            Cause::GitUnreachable { since, problem } => {
                format!("Git has not answered for {}: {problem}", lasting(*since, now))
            }
            Cause::NodeNotReady { node, reasons } => {
                format!("node {node} is not ready: {}", reasons.join("; "))
            }
            Cause::Fenced { by } => {
                format!("this orchestrator was replaced by incarnation {by} and changes nothing")
            }
            Cause::SiteNotSeeded {} => {
                "the central orchestrator has not sent yet what runs here".to_owned()
            }
            Cause::GitNotRead {} => "Git has not been read yet".to_owned(),
            Cause::NoNodes {} => "no node has joined this site".to_owned(),
            Cause::HistoryHeld { commit, in_force, .. } => history(commit, in_force.as_ref()),
            Cause::RemovalHeld { deployments, .. } => format!(
                "the removal of {} deployments at once ({}), more than half, is held",
                deployments.len(),
                all(deployments)
            ),
            Cause::FileRefused { path, findings, runs, .. } => {
                refused(path, findings, runs.as_deref())
            }
            Cause::HoldSite { by, note, since } => {
                format!("{by} put the site on hold {}{}", ago(*since, now), said(note))
            }
            Cause::HoldDeployment { by, note, since } => {
                format!("{by} put the deployment on hold {}{}", ago(*since, now), said(note))
            }
            Cause::WindowClosed { .. } => "the maintenance window is closed".to_owned(),
            Cause::NodeOffline { node, last_heard } | Cause::Stale { node, last_heard } => {
                format!("node {node} {}", away(Some(*last_heard), now))
            }
            Cause::NodeNeverHeard { node, joined } => never_heard(node, *joined, now),
            Cause::NodeRetired { node } => format!("node {node} is retired"),
            Cause::NodeSuspect { node, last_heard, .. } => {
                format!("node {node} is late, last heard {}", ago(*last_heard, now))
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
                format!("{taken} of {limit} rollout {are} taken by {}", slots(some, *taken, now))
            }
            Cause::CanaryFirst { of: 0, .. } => {
                "no reachable node is a canary, and the others wait for one".to_owned()
            }
            Cause::CanaryFirst { done, of } => {
                format!("{done} of {of} canaries run it well, and the others wait for them")
            }
            Cause::StageFirst { of: 0, .. } => {
                "no reachable node runs an earlier version to stage next to".to_owned()
            }
            Cause::StageFirst { done, of } => {
                format!(
                    "{done} of {of} nodes have it staged, and all have to before one takes over"
                )
            }
            Cause::Soaking { .. } => {
                "soaking: nodes on the new version must stay healthy".to_owned()
            }
            Cause::AwaitsPromotion { since } => {
                format!(
                    "the soak ended {} and the next step waits to be promoted",
                    ago(*since, now)
                )
            }
            Cause::Paused { by, note, since } => {
                format!("{by} paused the rollout {}{}", ago(*since, now), said(note))
            }
            Cause::NotStageable { node } => {
                format!("node {node} is not colony's own and cannot stage a revision")
            }
            Cause::WaveStopped { version, node, failure, since } => {
                let when = ago(*since, now);
                format!("the rollout of {version} stopped {when} on node {node}: {}", told(failure))
            }
            Cause::Quarantined { version, node, failure, since, .. } => {
                quarantined(version, node.as_ref(), failure, &ago(*since, now))
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
                let away = away(*last_heard, now);
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
                format!("node {node} was told {} and has not confirmed", ago(*told, now))
            }
            Cause::DeleteWaitsForNode { node, last_heard } => {
                format!("node {node} has to confirm but {}", away(*last_heard, now))
            }
        }
    }
}

fn silent(site: &SiteName, last_heard: Option<Wall>, now: Wall) -> String {
    match last_heard {
        Some(at) => format!("site {site} has not been heard for {}", lasting(at, now)),
        None => format!("site {site} has not been heard yet"),
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

fn never_heard(node: &NodeName, joined: Option<Wall>, now: Wall) -> String {
    let joined = joined.map(|it| format!(" {}", ago(it, now))).unwrap_or_default();
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
