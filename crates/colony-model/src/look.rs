//! What goals and rules ask of a world.

use colony_core::state::State;

use crate::world::World;

impl World {
    pub(crate) fn any(&self, is: impl Fn(State) -> bool) -> bool {
        self.local.core.placements().any(|it| is(it.state()))
    }

    /// Every node has a placement, and each is so.
    pub(crate) fn all(&self, is: impl Fn(State) -> bool) -> bool {
        let core = &self.local.core;
        core.placements().count() == self.nodes.len() && core.placements().all(|it| is(it.state()))
    }

    pub(crate) fn is_quarantined(&self) -> bool {
        let deployment = self.local.core.deployment(&self.deployment());
        deployment.is_some_and(|it| !it.quarantine().is_empty())
    }

    pub(crate) fn awaits_promotion(&self) -> bool {
        let deployment = self.local.core.deployment(&self.deployment());
        deployment.is_some_and(|it| it.rollout().awaits.is_some())
    }

    pub(crate) fn is_under_way(&self) -> bool {
        let deployment = self.local.core.deployment(&self.deployment());
        deployment.is_some_and(|it| it.is_under_way())
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.done == self.plan.script.len()
    }

    /// Every node runs the version that Git's head holds.
    pub(crate) fn runs_head(&self) -> bool {
        let id = self.deployment();
        let text = self.git.file().and_then(|it| self.git.text(it)).unwrap_or_default();
        let version = crate::words::revision(&text);
        self.is_spent() && self.nodes.iter().all(|it| it.engine.running(&id) == version)
    }
}
