//! The sentences: what, why, what next, who can help.

use std::fmt;

use crate::attempt::Failure;
use crate::id::NodeName;
use crate::time::{Spoken, Wall};
use crate::why::{Cause, Owner, Slot, Subject, Unfitting, Why};

/// How many names of a list are told.
const NAMES: usize = 5;
/// How much of a device's message is told.
const MESSAGE: usize = 200;

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        subject(f, &self.subject, self.asked)?;
        write!(f, ": {}", cause(&self.cause, self.asked))?;
        for also in &self.also {
            write!(f, "; also, {}", cause(also, self.asked))?;
        }
        match self.next.at {
            Some(at) => write!(f, ". Next, {}: {}.", until(at, self.asked), self.next.what)?,
            None => write!(f, ". Next: {}.", self.next.what)?,
        }
        match &self.act {
            Some(act) if self.owner != Owner::Colony => {
                write!(f, " To do ({}): {act}.", self.owner.name())
            }
            _ => Ok(()),
        }
    }
}

fn subject(f: &mut fmt::Formatter<'_>, subject: &Subject, asked: Wall) -> fmt::Result {
    match subject {
        Subject::Site { site } => write!(f, "site {site}"),
        Subject::Node { node } => write!(f, "node {node}"),
        Subject::Deployment { deployment } => write!(f, "{deployment}"),
        Subject::Placement { deployment, nodes, state, since, doing } => {
            let (on, state) = (names(nodes, nodes.len()), state.name());
            write!(f, "{deployment} on {on} {doing} ({state} for {})", ago(*since, asked))
        }
    }
}

/// The cause as a clause.
fn cause(cause: &Cause, asked: Wall) -> String {
    match cause {
        Cause::Fenced { by } => {
            format!("this orchestrator was replaced by incarnation {by} and changes nothing")
        }
        Cause::SiteNotSeeded {} => {
            "what runs here is not known yet: the central orchestrator has not said".to_owned()
        }
        Cause::GitNotRead {} => "Git has not been read yet".to_owned(),
        Cause::NoNodes {} => "no node has joined this site".to_owned(),
        Cause::HistoryHeld { commit, in_force } => {
            let in_force = in_force.as_ref().map_or("nothing", |it| it.short());
            format!(
                "Git's history was rewritten at {} and waits to be accepted; {in_force} stays in force",
                commit.short()
            )
        }
        Cause::RemovalHeld { deployments } => format!(
            "a commit removes {} deployments at once ({}), more than half: the removal is held",
            deployments.len(),
            names(deployments, deployments.len())
        ),
        Cause::FileRefused { path, findings, runs } => {
            let first = findings.first().map_or(path.clone(), ToString::to_string);
            let more = findings.len().saturating_sub(1);
            let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
            let stays =
                runs.as_ref().map(|it| format!(", the version before, {it}, stays in force"));
            format!("its file cannot be used{}: {first}{more}", stays.unwrap_or_default())
        }
        Cause::HoldSite { by, note, since } => {
            format!("{by} put the site on hold {} ago{}", ago(*since, asked), said(note))
        }
        Cause::HoldDeployment { by, note, since } => {
            format!("{by} put the deployment on hold {} ago{}", ago(*since, asked), said(note))
        }
        Cause::WindowClosed { .. } => "the maintenance window is closed".to_owned(),
        Cause::NodeOffline { node, last_heard } => {
            format!("node {node} is offline, last heard {} ago", ago(*last_heard, asked))
        }
        Cause::NodeNeverHeard { node, joined } => {
            let joined = joined.map(|it| format!(" {} ago", ago(it, asked))).unwrap_or_default();
            format!("node {node} joined{joined} and has never been heard")
        }
        Cause::NodeRetired { node } => format!("node {node} is retired"),
        Cause::NodeSuspect { node, last_heard, .. } => {
            format!("node {node} is late, last heard {} ago", ago(*last_heard, asked))
        }
        Cause::NodeCordoned { node } => format!("node {node} is cordoned"),
        Cause::NoCapabilities { node } => {
            format!("node {node} is heard but has not said what it can do")
        }
        Cause::TargetNotJoined { node } => {
            format!("its file names node {node}, which has not joined this site")
        }
        Cause::NothingFits { unfit } => format!("no node fits: {}", groups(unfit)),
        Cause::TooFewFit { replicas, placed, unfit } => {
            let (count, names) = (placed.len(), names(placed, placed.len()));
            format!("{replicas} replicas are asked for, {count} placed ({names}){}", rest(unfit))
        }
        Cause::LostEligibility { node, reason } => {
            format!("node {node} would not get it again: {reason}")
        }
        Cause::WaveFull { slots, taken, limit } => {
            let plural = if *limit == 1 { "slot is" } else { "slots are" };
            let by = slots.iter().map(|it| slot(it, asked)).collect::<Vec<_>>();
            format!("{taken} of {limit} rollout {plural} taken by {}", names(&by, *taken))
        }
        Cause::WaveStopped { version, node, failure, since } => format!(
            "the rollout of {version} stopped {} ago on node {node}: {}",
            ago(*since, asked),
            told(failure)
        ),
        Cause::Quarantined { version, node: Some(node), failure, since, .. } => format!(
            "{version} is quarantined at this site since {} ago: on node {node} {}",
            ago(*since, asked),
            told(failure)
        ),
        Cause::Quarantined { version, node: None, since, .. } => {
            format!("{version} was rolled back by an operator {} ago", ago(*since, asked))
        }
        Cause::RejectedHere { version, node, failure, .. } => {
            format!("{version} was given up on node {node}: {}", told(failure))
        }
        Cause::RollbackRefused { reason } => format!("it does not roll back because {reason}"),
        Cause::Due {} => "nothing is in its way any more".to_owned(),
        Cause::InProgress { node, attempt, started, .. } => {
            format!("attempt {attempt} is under way on node {node} for {}", ago(*started, asked))
        }
        Cause::LostOffline { node, attempt, last_heard, .. } => {
            let heard = last_heard.map(|it| format!(", last heard {} ago", ago(it, asked)));
            let heard = heard.unwrap_or_else(|| " and has not been heard here yet".to_owned());
            format!("how attempt {attempt} went is not known: node {node} is offline{heard}")
        }
        Cause::LostSilent { node, attempt, .. } => {
            format!("node {node} is back but has said nothing of attempt {attempt}")
        }
        Cause::Backoff { failure, .. } => told(failure),
        Cause::TriesUsedUp { failure, tries } => format!("{}; {}", told(failure), used_up(*tries)),
        Cause::HealthLost { failure, .. } => {
            format!("{}, after it had proven itself", told(failure))
        }
        Cause::FailedBefore { node } => {
            format!("it failed on node {node} under the orchestrator before this one")
        }
        Cause::LastError { failure } => format!("at the last try {}", told(failure)),
        Cause::Removing { node, told } => {
            format!("node {node} was told {} ago and has not confirmed", ago(*told, asked))
        }
        Cause::DeleteWaitsForNode { node, last_heard } => {
            let heard = last_heard.map(|it| format!(", last heard {} ago", ago(it, asked)));
            let heard = heard.unwrap_or_else(|| " and has not been heard here yet".to_owned());
            format!("node {node} has to confirm but is offline{heard}")
        }
        Cause::DeleteFailed { failure, .. } => told(failure),
        Cause::Stale { node, last_heard } => {
            format!("node {node} is offline, last heard {} ago", ago(*last_heard, asked))
        }
    }
}

/// What went wrong: the meaning first, then the device's own words.
fn told(failure: &Failure) -> String {
    let Failure { code, source, message, .. } = failure;
    let source = if source.is_empty() { String::new() } else { format!(" in {source}") };
    let message: String =
        message.lines().next().unwrap_or_default().chars().take(MESSAGE).collect();
    let message = if message.is_empty() { message } else { format!(": {message}") };
    format!("{} ({code}{source}{message})", code.meaning())
}

fn used_up(tries: u32) -> String {
    match tries {
        1 => "its only try is used up".to_owned(),
        _ => format!("all {tries} tries are used up"),
    }
}

fn said(note: &str) -> String {
    if note.is_empty() { String::new() } else { format!(" (\"{note}\")") }
}

fn slot(slot: &Slot, asked: Wall) -> String {
    format!("{} ({} for {})", slot.node, slot.state.name(), ago(slot.since, asked))
}

fn rest(unfit: &[Unfitting]) -> String {
    match unfit {
        [] => ", there are no more nodes".to_owned(),
        _ => format!("; {}", groups(unfit)),
    }
}

fn groups(unfit: &[Unfitting]) -> String {
    let group = |it: &Unfitting| format!("{} {}", node_names(&it.nodes), it.reason);
    unfit.iter().map(group).collect::<Vec<_>>().join("; ")
}

fn node_names(nodes: &[NodeName]) -> String {
    match nodes {
        [one] => format!("node {one}"),
        _ => format!("{} nodes ({}):", nodes.len(), names(nodes, nodes.len())),
    }
}

/// A few names, and how many more there are.
fn names<T: ToString>(all: &[T], total: usize) -> String {
    let shown: Vec<String> = all.iter().take(NAMES).map(ToString::to_string).collect();
    match total.saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn ago(since: Wall, asked: Wall) -> Spoken {
    Spoken(asked.since(since))
}

fn until(at: Wall, asked: Wall) -> String {
    match at > asked {
        true => format!("in {}", Spoken(at.since(asked))),
        false => "now".to_owned(),
    }
}
