//! Small pieces of sentences.

use crate::attempt::Failure;
use crate::time::{Spoken, Wall};
use crate::why::{Slot, Unfitting};

/// How many names of a list are told.
const NAMES: usize = 5;
/// How much of a device's message is told.
const MESSAGE: usize = 200;

/// `3 min ago`.
pub(super) fn ago(since: Wall, now: Wall) -> String {
    format!("{} ago", lasting(since, now))
}

/// `3 min`.
pub(super) fn lasting(since: Wall, now: Wall) -> Spoken {
    Spoken(now.since(since))
}

/// `in 3 min`, or `now` if its time has come.
pub(super) fn until(at: Wall, now: Wall) -> String {
    match at > now {
        true => format!("in {}", Spoken(at.since(now))),
        false => "now".to_owned(),
    }
}

/// `is offline, last heard 3 min ago`.
pub(super) fn away(last_heard: Option<Wall>, now: Wall) -> String {
    match last_heard {
        Some(at) => format!("is offline, last heard {}", ago(at, now)),
        None => "has not been heard by this orchestrator yet".to_owned(),
    }
}

/// What went wrong: the meaning first, then the device's own words.
pub(super) fn told(failure: &Failure) -> String {
    let Failure { code, source, message, .. } = failure;
    let line = message.lines().next().unwrap_or_default();
    let message: String = line.chars().take(MESSAGE).collect();
    let source = if source.is_empty() { String::new() } else { format!(" in {source}") };
    let message = if message.is_empty() { message } else { format!(": {message}") };
    format!("{} ({code}{source}{message})", code.meaning())
}

pub(super) fn used_up(tries: u32) -> String {
    match tries {
        1 => "its only try is used up".to_owned(),
        _ => format!("all {tries} tries are used up"),
    }
}

pub(super) fn said(note: &str) -> String {
    if note.is_empty() { String::new() } else { format!(" (\"{note}\")") }
}

pub(super) fn slots(slots: &[Slot], taken: usize, now: Wall) -> String {
    let slot =
        |it: &Slot| format!("{} ({} for {})", it.node, it.state.name(), lasting(it.since, now));
    names(&slots.iter().map(slot).collect::<Vec<_>>(), taken)
}

pub(super) fn groups(unfit: &[Unfitting]) -> String {
    unfit.iter().map(group).collect::<Vec<_>>().join("; ")
}

fn group(unfit: &Unfitting) -> String {
    match unfit.nodes.as_slice() {
        [one] => format!("node {one}: {}", unfit.reason),
        nodes => format!("{} nodes ({}): {}", nodes.len(), all(nodes), unfit.reason),
    }
}

pub(super) fn all<T: ToString>(names_of: &[T]) -> String {
    names(names_of, names_of.len())
}

/// A few names of `total`, and how many more there are.
fn names<T: ToString>(some: &[T], total: usize) -> String {
    let mut shown: Vec<String> = some.iter().take(NAMES).map(ToString::to_string).collect();
    let more = total.saturating_sub(shown.len());
    let last = match more {
        0 => shown.pop().unwrap_or_default(),
        _ => format!("{more} more"),
    };
    if shown.is_empty() { last } else { format!("{} and {last}", shown.join(", ")) }
}
