//! Which nodes may have a revision before its step is open.

use colony_core::event::Event;
use colony_core::site::Placement;
use colony_core::state::State;
use colony_world::transitions;

use crate::check::{Rule, Verdict, begins};
use crate::world::World;

impl World {
    /// Before the revision is promoted, only as many reachable nodes may start
    /// it as the step allows.
    pub(crate) fn check_step(&self, events: &[Event]) -> Verdict {
        let Some(most) = self.plan.ahead.filter(|_| !self.promoted) else { return Ok(()) };
        let begun = transitions(events).any(|it| begins(it) && it.to == State::Updating);
        let told = |it: &&Placement| self.has_newest(it) && !it.staging().active_runs();
        let count = self.local().core.placements().filter(told).count();
        if begun && count > most {
            return Err((
                Rule::Step,
                format!("{count} nodes are instructed to start it, {most} may"),
            ));
        }
        Ok(())
    }

    /// A reachable node has the newest version as its target.
    fn has_newest(&self, placement: &Placement) -> bool {
        let site_node = self.local().core.site_node(&placement.id.node);
        let target = placement.revisions.target.as_ref();
        let text = target.and_then(|it| self.roles.git.text(&it.blob)).unwrap_or_default();
        site_node.is_some_and(|it| it.is_online())
            && placement.state() != State::Pending
            && crate::world::words::revision(&text) == self.plan.newest()
    }
}
