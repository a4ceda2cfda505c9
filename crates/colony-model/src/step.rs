//! Who may have a revision whose step is not open.

use colony_core::event::{Body, Event};
use colony_core::site::Placement;
use colony_core::state::State;

use crate::check::{Rule, Verdict, begins};
use crate::plan::Op;
use crate::world::World;

impl World {
    /// Nobody is told to start what was not promoted, but as many reachable
    /// nodes as the step lets in.
    pub(crate) fn check_step(&self, events: &[Event]) -> Verdict {
        let Some(most) = self.plan.ahead.filter(|_| !self.is_promoted()) else { return Ok(()) };
        let begun = events.iter().any(|it| {
            let Body::StateTransition(it) = &it.body else { return false };
            begins(it) && it.to == State::Updating
        });
        let count = self.local.core.placements().filter(|it| self.has_newest(it)).count();
        if begun && count > most.max(1) {
            return Err((Rule::Step, format!("{count} nodes are told to start it, {most} may")));
        }
        Ok(())
    }

    /// Looks at what the engines run in place of what was there.
    pub(crate) fn check_stage(&mut self) {
        let is_staged = self.plan.ahead == Some(0) && !self.is_promoted();
        let id = self.deployment();
        let newest = self.plan.newest();
        let taken = |active: Option<&str>| active.is_some() && active == newest;
        if is_staged && self.nodes.iter().any(|it| taken(it.engine.active(&id))) {
            self.break_rule(Rule::Step, "a node has taken over what is only staged".to_owned());
        }
    }

    fn is_promoted(&self) -> bool {
        self.plan.script[..self.done].contains(&Op::Promote)
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
