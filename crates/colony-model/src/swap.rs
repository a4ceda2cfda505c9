//! A staged revision is taken over everywhere or nowhere.
//!
//! Looked at on the devices themselves: no engine has it in place of what was
//! there before every node that can be reached has it beside that, and none has
//! it at all once it was given up and the world is at rest.

use colony_core::attempt::Revision;
use colony_core::event::{Body, Event};
use colony_core::site::Placement;
use colony_core::state::State;

use crate::check::{Rule, Verdict};
use crate::world::World;

impl World {
    /// Follows what an orchestrator has just persisted about the newest revision.
    pub(crate) fn follow_swap(&mut self, events: &[Event]) {
        for event in events {
            let opens = matches!(event.body, Body::RolloutStep { staged: false, .. });
            if opens && self.stages() && !self.opened {
                self.opened = true;
                let verdict = self.check_opening();
                self.judge(verdict);
            }
            if let Body::Quarantined { bad, .. } = &event.body {
                self.aborted |= self.is_newest(bad);
            }
            self.aborted &= !matches!(event.body, Body::QuarantineReleased { .. });
        }
    }

    fn stages(&self) -> bool {
        self.plan.ahead == Some(0)
    }

    fn is_newest(&self, revision: &Revision) -> bool {
        let text = self.git.text(&revision.blob).unwrap_or_default();
        crate::words::revision(&text) == self.plan.newest()
    }

    /// The take-over opens: every node that is reached has the revision.
    fn check_opening(&self) -> Verdict {
        let mut reached = self.local.core.placements().filter(|it| self.is_reached(it));
        let lacks = reached.find(|it| !self.has_newest_beside(it));
        lacks.map_or(Ok(()), |it| {
            let what = format!("it opens while node {} has it not", it.id.node);
            Err((Rule::Swap, what))
        })
    }

    fn is_reached(&self, placement: &Placement) -> bool {
        let member = self.local.core.member(&placement.id.node);
        let leaves = matches!(placement.state(), State::Deleting | State::Deleted);
        member.is_some_and(|it| it.is_online()) && !leaves
    }

    fn has_newest_beside(&self, placement: &Placement) -> bool {
        let edge = self.nodes.iter().find(|it| it.name == placement.id.node);
        let (id, newest) = (&placement.id.deployment, self.plan.newest());
        edge.is_some_and(|it| it.engine.staged(id) == newest || it.engine.active(id) == newest)
    }

    /// Looks at what the engines run in place of what was there.
    pub(crate) fn check_stage(&mut self) {
        if !self.stages() || self.opened && self.promoted {
            return;
        }
        let (id, newest) = (self.deployment(), self.plan.newest());
        let taken = self.nodes.iter().find(|it| it.engine.active(&id) == newest);
        let Some(name) = taken.map(|it| it.name.clone()) else { return };
        let rule = if self.opened { Rule::Step } else { Rule::Swap };
        self.break_rule(rule, format!("node {name} has taken over what is only staged"));
    }

    /// At rest the newest revision is everywhere or nowhere, and nowhere if it
    /// was given up.
    pub(crate) fn check_rest(&self) -> Verdict {
        let (id, newest) = (self.deployment(), self.plan.newest());
        let active = self.nodes.iter().filter(|it| it.engine.active(&id) == newest).count();
        let staged = self.nodes.iter().filter(|it| it.engine.staged(&id) == newest).count();
        if self.aborted && newest.is_some() && active + staged > 0 {
            let what = format!("{active} nodes run what was given up, {staged} have it staged");
            return Err((Rule::Abort, what));
        }
        if self.stages() && active > 0 && active < self.nodes.len() {
            return Err((Rule::Swap, format!("at rest, {active} nodes have taken it over")));
        }
        Ok(())
    }
}
