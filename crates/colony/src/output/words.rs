//! Times, versions and lists in readable form.

use std::fmt::Display;

use colony_core::id::GitRevision;
use colony_core::time::{HumanDuration, Timestamp};

use super::RenderOptions;

impl RenderOptions {
    /// `3 h ago`
    pub(super) fn ago(&self, at: Timestamp) -> String {
        format!("{} ago", self.lasting(at))
    }

    /// `3 h`
    pub(super) fn lasting(&self, since: Timestamp) -> String {
        HumanDuration(self.now.since(since)).to_string()
    }

    /// `in 20 s`, or `now` if the time has come.
    pub(super) fn until(&self, at: Timestamp) -> String {
        if at <= self.now {
            return "now".to_owned();
        }
        format!("in {}", HumanDuration(at.since(self.now)))
    }
}

/// `2026-11-16 00:53:18Z`
pub(super) fn stamp(at: Timestamp) -> String {
    written(at, "%Y-%m-%d %H:%M:%SZ")
}

/// `2026-11-16 00:53:18.007Z`
pub(super) fn precise(at: Timestamp) -> String {
    written(at, "%Y-%m-%d %H:%M:%S%.3fZ")
}

fn written(at: Timestamp, format: &str) -> String {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    let Ok(at) = jiff::Timestamp::from_millisecond(millis) else { return "?".to_owned() };
    at.strftime(format).to_string()
}

pub(super) fn or_dash(text: Option<&str>) -> String {
    text.filter(|it| !it.is_empty()).unwrap_or("-").to_owned()
}

pub(super) fn short(commit: Option<&GitRevision>) -> String {
    or_dash(commit.map(GitRevision::short))
}

/// `a, b, c and 7 more`
pub(super) fn some(all: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = all.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(SHOWN) {
        0 => shown,
        rest => format!("{shown} and {rest} more"),
    }
}

/// `1 node`, `3 nodes`
pub(super) fn count(number: usize, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        many => format!("{many} {one}s"),
    }
}

/// `2/3`, or `-` if there is none.
pub(super) fn share(part: impl Display, all: u64) -> String {
    if all == 0 { "-".to_owned() } else { format!("{part}/{all}") }
}
