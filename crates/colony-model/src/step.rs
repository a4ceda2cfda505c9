//! Who may have a revision whose step is not open.

use colony_core::event::{Body, Event};
use colony_core::site::Placement;
use colony_core::state::State;

use crate::check::{Rule, Verdict, begins};
use crate::world::World;

impl World {
    /// Nobody is told to start what was not promoted, but as many reachable
    /// nodes as the step lets in.
    pub(crate) fn check_step(&self, events: &[Event]) -> Verdict {
        let Some(most) = self.plan.ahead.filter(|_| !self.promoted) else { return Ok(()) };
        let begun = events.iter().any(|it| {
            let Body::StateTransition(it) = &it.body else { return false };
            begins(it) && it.to == State::Updating
        });
        let told = |it: &&Placement| self.has_newest(it) && !it.is_aside();
        let count = self.local.core.placements().filter(told).count();
        if begun && count > most {
            return Err((Rule::Step, format!("{count} nodes are told to start it, {most} may")));
        }
        Ok(())
    }

    /// A node that can be reached was told to run what comes last.
    fn has_newest(&self, placement: &Placement) -> bool {
        let member = self.local.core.member(&placement.id.node);
        let target = placement.revisions.target.as_ref();
        let text = target.and_then(|it| self.git.text(&it.blob)).unwrap_or_default();
        member.is_some_and(|it| it.is_online())
            && placement.state() != State::Pending
            && crate::words::revision(&text) == self.plan.newest()
    }
}
