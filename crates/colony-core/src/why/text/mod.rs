//! The whole answer as sentences: what, why, what next, who can help.

pub(in crate::why) mod words;

use crate::time::Timestamp;
use crate::why::text::words::{all, lasting, until};
use crate::why::{Subject, Why};

impl Why {
    /// The complete text, for a reader at `now`.
    pub fn text(&self, now: Timestamp) -> String {
        let next = match self.next.at {
            Some(at) => format!("Next, {}: {}.", until(at, now), self.next.what),
            None => format!("Next: {}.", self.next.what),
        };
        let act = self.act.as_ref();
        let act = act.map(|act| format!(" To do ({}): {act}.", self.owner.name()));
        format!("{}. {next}{}", self.statement(now), act.unwrap_or_default())
    }

    /// The subject and its causes, without what happens next.
    pub fn statement(&self, now: Timestamp) -> String {
        let causes: Vec<String> = self.causes().map(|it| it.explain(now, "").clause).collect();
        format!("{}{}", subject(&self.subject, now), causes.join("; also, "))
    }
}

/// The text before the causes; the causes of a node name it themselves.
fn subject(subject: &Subject, now: Timestamp) -> String {
    match subject {
        Subject::Site { site } => format!("site {site}: "),
        Subject::Node { .. } => String::new(),
        Subject::Deployment { deployment } => format!("{deployment}: "),
        Subject::Placement { deployment, nodes, state, since, doing, waits } => {
            let (on, state, since) = (all(nodes), state.name(), lasting(*since, now));
            let waits = waits.as_ref();
            let waits = waits
                .map(|it| format!(" and has waited {} to {}", lasting(it.since, now), it.to))
                .unwrap_or_default();
            format!("{deployment} on {on} {doing}{waits} ({state} for {since}): ")
        }
    }
}
