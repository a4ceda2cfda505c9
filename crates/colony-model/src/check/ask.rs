//! `why` in every state: every subject that is not final has an answer, at its
//! site and at the central orchestrator, and the answer contains information.

use std::time::Duration;

use colony_core::time::Now;
use colony_world::Inquiry;

use crate::check::{Rule, Verdict};
use crate::world::World;
use crate::world::time::{UNIT, WALL};

/// Longer than any wait of a world: the question arrives while timers are late.
const LATE: Duration = Duration::from_millis(6 * UNIT);

impl World {
    /// Checks the site's answers about every subject, in time and with late
    /// timers.
    pub(crate) fn ask_site(&self, now: Now) -> Verdict {
        let late = Now { mono: now.mono.after(LATE), wall: now.wall.after(LATE), ..now };
        let core = &self.local().core;
        [now, late].into_iter().try_for_each(|it| verdict(Inquiry::of_site(core, it)))
    }

    /// Checks the central orchestrator's answers about every subject.
    pub(crate) fn ask_central(&self) -> Verdict {
        verdict(Inquiry::of_central(&self.roles.central.core, WALL))
    }
}

fn verdict(inquiry: Inquiry) -> Verdict {
    inquiry.problem.map_or(Ok(()), |it| Err((Rule::Why, it)))
}
