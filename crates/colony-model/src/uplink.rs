//! An orchestrator's line to the centre: its log from where the centre says it is.
//!
//! The same decisions as `colony-local/src/uplink/events.rs`: nothing is
//! remembered but the next event the centre wants. After a start, and when the
//! centre was away, the last event asks for it, and the answer is gone back to.

use std::sync::Arc;

use colony_core::event::{Incarnation, Seq};
use colony_core::site::Input;

use crate::check::Rule;
use crate::message::{Back, Out};
use crate::world::World;

/// The most events of one batch: few, so that a batch does not say everything.
const BATCH: usize = 3;

/// What an orchestrator believes of the centre; nothing of it is persisted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Uplink {
    /// The next event the centre wants; `None` until it was asked.
    pub(crate) next: Option<Seq>,
    /// A request was not answered: who comes back is asked again.
    pub(crate) away: bool,
}

impl World {
    /// The next batch, if there is something to say or to ask.
    pub(crate) fn local_news(&self) -> Option<Out> {
        let local = &self.local;
        let head = local.core.log().next;
        let from = match local.uplink.next {
            Some(next) if next >= head => return None,
            Some(next) => next,
            None => head.saturating_sub(1).max(1),
        };
        let skip = usize::try_from(from - 1).unwrap_or(usize::MAX);
        let events = local.log.iter().skip(skip).take(BATCH).map(|it| it.0.clone()).collect();
        Some(Out::Events { incarnation: local.incarnation(), from, events })
    }

    pub(crate) fn send_news(&mut self) {
        let Some(news) = self.local_news() else { return };
        if let Out::Events { incarnation, from, .. } = &news {
            let how = if self.local.uplink.next.is_none() { "asks with" } else { "sends" };
            let line = format!("LO {how} events from {incarnation}/{from} on");
            self.say(line);
        }
        self.send_out(news);
    }

    /// A request got no answer.
    pub(crate) fn miss_centre(&mut self) {
        let local = Arc::make_mut(&mut self.local);
        local.uplink.away = true;
        local.forget_print();
    }

    pub(crate) fn local_hear_centre(&mut self, message: &Back) {
        match message {
            Back::Taken { incarnation, next } => self.local_taken(*incarnation, *next),
            Back::Fenced { by } => {
                self.say(format!("LO learns that incarnation {by} has taken over"));
                let _ = self.local_step(Input::Fenced { by: *by });
            }
            Back::Commands(commands) => {
                for command in commands {
                    self.say(format!("LO is given command {:?}", command.number));
                    if self.local_step(Input::Command(command.clone())).is_none() {
                        return;
                    }
                }
            }
        }
    }

    fn local_taken(&mut self, incarnation: Incarnation, next: Seq) {
        self.say(format!("LO learns that CO has all before event {incarnation}/{next}"));
        if incarnation != self.local.incarnation() {
            return;
        }
        let (head, stored) = (self.local.core.log().next, self.central.next(incarnation));
        if next > head {
            let what = format!("CO has events up to {}, LO up to {}", next - 1, head - 1);
            return self.break_rule(Rule::Acknowledged, what);
        }
        if next > stored {
            let what = format!("LO takes all before {next} for stored, CO has {stored}");
            return self.break_rule(Rule::Acknowledged, what);
        }
        let local = Arc::make_mut(&mut self.local);
        let again = std::mem::take(&mut local.uplink.away);
        local.uplink.next = (!again).then_some(next);
        local.forget_print();
    }
}
