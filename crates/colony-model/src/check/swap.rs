//! A staged revision takes over on every node or on none.
//!
//! Checked on the devices themselves: no engine has it as the active version
//! before every reachable node has it staged, and none has it at all once it
//! was aborted and the world is at rest.

use colony_core::attempt::Revision;
use colony_core::event::{Body, Event};
use colony_core::site::Placement;
use colony_core::state::State;

use crate::check::{Rule, Verdict};
use crate::world::World;

impl World {
    /// Follows the events of an orchestrator about the newest revision.
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
        let text = self.roles.git.text(&revision.blob).unwrap_or_default();
        crate::world::words::revision(&text) == self.plan.newest()
    }

    /// When the takeover opens, every reachable node has the revision.
    fn check_opening(&self) -> Verdict {
        let mut reached = self.local().core.placements().filter(|it| self.is_reached(it));
        let lacks = reached.find(|it| !self.has_newest_beside(it));
        lacks.map_or(Ok(()), |it| {
            let what = format!("it opens while node {} has it not", it.id.node);
            Err((Rule::Swap, what))
        })
    }

    fn is_reached(&self, placement: &Placement) -> bool {
        let site_node = self.local().core.site_node(&placement.id.node);
        let leaves = matches!(placement.state(), State::Deleting | State::Deleted);
        site_node.is_some_and(|it| it.is_online()) && !leaves
    }

    fn has_newest_beside(&self, placement: &Placement) -> bool {
        let device = self.roles.nodes.iter().find(|it| it.name == placement.id.node);
        let (id, newest) = (&placement.id.deployment, self.plan.newest());
        device.is_some_and(|it| {
            it.engine.version(id, true) == newest || it.engine.version(id, false) == newest
        })
    }

    /// Checks the active versions of the engines.
    pub(crate) fn check_stage(&mut self) {
        if !self.stages() || self.opened && self.promoted {
            return;
        }
        let (id, newest) = (self.deployment(), self.plan.newest());
        let taken = self.roles.nodes.iter().find(|it| it.engine.version(&id, false) == newest);
        let Some(name) = taken.map(|it| it.name.clone()) else { return };
        let rule = if self.opened { Rule::Step } else { Rule::Swap };
        self.break_rule(rule, format!("node {name} has taken over what is only staged"));
    }

    /// At rest the newest revision is on every node or on none, and on none if
    /// it was aborted.
    pub(crate) fn check_rest(&self) -> Verdict {
        let (id, newest) = (self.deployment(), self.plan.newest());
        let active =
            self.roles.nodes.iter().filter(|it| it.engine.version(&id, false) == newest).count();
        let staged =
            self.roles.nodes.iter().filter(|it| it.engine.version(&id, true) == newest).count();
        if self.aborted && newest.is_some() && active + staged > 0 {
            let what = format!("{active} nodes run what was given up, {staged} have it staged");
            return Err((Rule::Abort, what));
        }
        if self.stages() && active > 0 && active < self.roles.nodes.len() {
            return Err((Rule::Swap, format!("at rest, {active} nodes have taken it over")));
        }
        Ok(())
    }
}
