//! Small pieces of sentences.

use crate::attempt::Failure;
use crate::time::{HumanDuration, Timestamp};
use crate::why::{Slot, Unfitting};

/// How many names of a list are shown.
const NAMES: usize = 5;
/// How many characters of a device's message are shown.
const MESSAGE: usize = 200;

/// `3 min ago`.
pub(in crate::why) fn ago(since: Timestamp, now: Timestamp) -> String {
    format!("{} ago", lasting(since, now))
}

/// `3 min`.
pub(in crate::why) fn lasting(since: Timestamp, now: Timestamp) -> HumanDuration {
    HumanDuration(now.since(since))
}

/// `in 3 min`, or `now` if its time has come.
pub(in crate::why) fn until(at: Timestamp, now: Timestamp) -> String {
    match at > now {
        true => format!("in {}", HumanDuration(at.since(now))),
        false => "now".to_owned(),
    }
}

/// `is offline, last contact 3 min ago`.
pub(in crate::why) fn away(last_heard: Option<Timestamp>, now: Timestamp) -> String {
    match last_heard {
        Some(at) => format!("is offline, last contact {}", ago(at, now)),
        None => "has not connected to this orchestrator yet".to_owned(),
    }
}

/// The failure: the meaning of its code first, then the message of the device.
pub(in crate::why) fn failure_text(failure: &Failure) -> String {
    let Failure { code, source, message, .. } = failure;
    let line = message.lines().next().unwrap_or_default();
    let message: String = line.chars().take(MESSAGE).collect();
    let source = if source.is_empty() { String::new() } else { format!(" in {source}") };
    let message = if message.is_empty() { message } else { format!(": {message}") };
    format!("{} ({code}{source}{message})", code.meaning())
}

pub(in crate::why) fn used_up(tries: u32) -> String {
    match tries {
        1 => "its only try is used up".to_owned(),
        _ => format!("all {tries} tries are used up"),
    }
}

pub(in crate::why) fn note_suffix(note: &str) -> String {
    if note.is_empty() { String::new() } else { format!(" (\"{note}\")") }
}

pub(in crate::why) fn slots(slots: &[Slot], taken: usize, now: Timestamp) -> String {
    let slot =
        |it: &Slot| format!("{} ({} for {})", it.node, it.state.name(), lasting(it.since, now));
    names(&slots.iter().map(slot).collect::<Vec<_>>(), taken)
}

pub(in crate::why) fn groups(unfit: &[Unfitting]) -> String {
    unfit.iter().map(group).collect::<Vec<_>>().join("; ")
}

fn group(unfit: &Unfitting) -> String {
    match unfit.nodes.as_slice() {
        [one] => format!("node {one}: {}", unfit.reason),
        nodes => format!("{} nodes ({}): {}", nodes.len(), all(nodes), unfit.reason),
    }
}

pub(in crate::why) fn all<T: ToString>(names_of: &[T]) -> String {
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
