//! Each cause as one sentence that names its facts.

use std::fmt;

use crate::attempt::{Retry, Revision};
use crate::code::Code;
use crate::event::StepStanding;
use crate::fleet::FleetCause;
use crate::fleet::effect::short;
use crate::id::{BlobId, GitRevision, NodeName, SiteName};
use crate::state::State;

impl fmt::Display for FleetCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use FleetCause::*;
        match self {
            NeverJoined { site } => write!(f, "no orchestrator has ever joined site {site}"),
            LoSilent { site, incarnation } => {
                write!(
                    f,
                    "the orchestrator of site {site} (incarnation {incarnation}) is not heard"
                )
            }
            TakingOver { site, incarnation } => write!(
                f,
                "incarnation {incarnation} has replaced the orchestrator of site {site} and has not taken over yet"
            ),
            NotReady { site } => {
                write!(f, "the orchestrator of site {site} has joined but not read Git yet")
            }
            Planned { path } => write!(f, "{path} is planned and not committed yet"),
            Conflict { path, expected, found } => {
                write!(f, "{path} holds {} in Git, not {}", said(found), said(expected))
            }
            Refused { path, reason } => {
                write!(f, "Git refused the change of {path}, and nothing was written: {reason}")
            }
            NotSeen { site, path, commit, blob, at } => not_seen(f, site, path, commit, blob, at),
            FileRefused { path, line, column, problem, more } => {
                write!(f, "the site refuses {path}:{line}:{column}: {problem}{}", and_more(*more))
            }
            RemovalHeld { commit, count } => write!(
                f,
                "commit {} removes {count} deployments of the site at once and is held",
                commit.short()
            ),
            HistoryHeld { commit } => {
                write!(f, "Git's history was rewritten at {} and is held", commit.short())
            }
            Held { site, whole: true, by, note } => {
                write!(f, "{by} holds site {site}{}", noted(note))
            }
            Held { site, whole: false, by, note } => {
                write!(f, "{by} holds the deployment at site {site}{}", noted(note))
            }
            NothingFits { revision, nodes } => write!(
                f,
                "the site took {} and placed it on none of its {nodes} nodes",
                short(&revision.blob)
            ),
            AwaitsRevert { path, bad, good } => write!(
                f,
                "the site went back from {}; {} has to be put back into {path}",
                short(&bad.blob),
                short(good)
            ),
            Quarantined { bad, good, node, code } => quarantined(f, bad, good, node, code),
            RolloutWaits { step, of, paused_by: Some(by), .. } => {
                write!(f, "step {step} of {of} of the rollout is paused by {by}")
            }
            RolloutWaits { step, of, standing: StepStanding::AwaitsPromotion, .. } => {
                write!(f, "step {step} of {of} of the rollout is done and waits to be promoted")
            }
            RolloutWaits { step, of, .. } => {
                write!(f, "step {step} of {of} of the rollout is done and soaks")
            }
            RolloutStopped { node, code } => {
                write!(f, "the rollout stopped when node {node} failed with {code}")
            }
            NodeAway { node, state } => write!(f, "node {node} is away; it is left {state} there"),
            Underway { node, state: State::Unknown(_), attempt } => {
                write!(f, "node {node} is back and has not said how attempt {attempt} ended")
            }
            Underway { node, state: State::Deleting, .. } => {
                write!(f, "node {node} has not confirmed the removal yet")
            }
            Underway { node, state, attempt } => {
                write!(f, "node {node} is {state} in attempt {attempt}")
            }
            RunningLost { node, revision, code } => {
                let (blob, meaning) = (short(&revision.blob), code.meaning());
                write!(f, "{blob}, which node {node} runs meanwhile, is not well: {meaning}")
            }
            Waiting { node } => write!(f, "it is placed on node {node} and has not begun there"),
            Failed { node, state, attempt, code, retry } => {
                let meaning = code.meaning();
                write!(f, "node {node} is {state} after attempt {attempt}: {meaning}")?;
                retry.map_or(Ok(()), |it| write!(f, "; {}", tried(it)))
            }
            Queued { node } => write!(f, "node {node} still runs the revision before"),
            Rejected { node, workload } => {
                write!(f, "node {node} went back from revision {}", workload.short())
            }
            Flagged { node, flag } => write!(f, "what is told of node {node} does not fit: {flag}"),
        }
    }
}

fn not_seen(
    f: &mut fmt::Formatter<'_>,
    site: &SiteName,
    path: &str,
    commit: &GitRevision,
    blob: &Option<BlobId>,
    at: &Option<GitRevision>,
) -> fmt::Result {
    match blob {
        Some(blob) => write!(f, "{path} is committed as {} in {}", short(blob), commit.short())?,
        None => write!(f, "{path} is removed in commit {}", commit.short())?,
    }
    match at {
        Some(at) => write!(f, "; site {site} is at {} and has not taken it", at.short()),
        None => write!(f, "; site {site} has read no commit yet"),
    }
}

fn quarantined(
    f: &mut fmt::Formatter<'_>,
    bad: &Revision,
    good: &Option<BlobId>,
    node: &Option<NodeName>,
    code: &Code,
) -> fmt::Result {
    write!(f, "the site refuses {}: {code}", short(&bad.blob))?;
    if let Some(node) = node {
        write!(f, " on node {node}")?;
    }
    match good {
        Some(good) => write!(f, "; it runs {} instead", short(good)),
        None => write!(f, "; nothing ran before, so nothing runs"),
    }
}

/// `tried 3 times`; what is left to try is told with what follows.
fn tried(retry: Retry) -> String {
    let Retry { tried, of, at } = retry;
    match (tried, of, at) {
        (_, Some(1), None) => "its only try is used up".to_owned(),
        (_, Some(of), None) => format!("all {of} tries are used up"),
        (1, ..) => "tried once".to_owned(),
        (tried, ..) => format!("tried {tried} times"),
    }
}

fn said(blob: &Option<BlobId>) -> &str {
    blob.as_ref().map_or("no file", short)
}

fn noted(note: &str) -> String {
    if note.is_empty() { String::new() } else { format!(": {note}") }
}

fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" (and {more} more)") }
}
