//! Queries about a world, for goals and rules.

use colony_core::state::State;
use colony_core::time::Now;

use crate::world::World;
use crate::world::time::WALL;

impl World {
    pub(crate) fn any(&self, is: impl Fn(State) -> bool) -> bool {
        self.local().core.placements().any(|it| is(it.state()))
    }

    /// Every node has a placement, and the state of each satisfies `is`.
    pub(crate) fn all(&self, is: impl Fn(State) -> bool) -> bool {
        let core = &self.local().core;
        core.placements().count() == self.roles.nodes.len()
            && core.placements().all(|it| is(it.state()))
    }

    pub(crate) fn is_quarantined(&self) -> bool {
        let deployment = self.local().core.deployment(&self.deployment());
        deployment.is_some_and(|it| !it.quarantine().is_empty())
    }

    pub(crate) fn awaits_promotion(&self) -> bool {
        let deployment = self.local().core.deployment(&self.deployment());
        deployment.is_some_and(|it| it.rollout().awaits_promotion_since.is_some())
    }

    pub(crate) fn is_rolling_out(&self) -> bool {
        let deployment = self.local().core.deployment(&self.deployment());
        deployment.is_some_and(|it| it.is_rolling_out())
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.done == self.plan.script.len()
    }

    /// Every node runs the version of Git's head.
    pub(crate) fn runs_head(&self) -> bool {
        let git = &self.roles.git;
        let text = git.blob_at_head(&self.path()).and_then(|it| git.text(it)).unwrap_or_default();
        let version = crate::world::words::revision(&text);
        self.is_spent()
            && (0..self.roles.nodes.len()).all(|it| self.running(it).as_deref() == version)
    }

    /// The healthy active version on a node.
    pub(crate) fn running(&self, node: usize) -> Option<String> {
        self.roles.nodes[node].engine.running(0).remove(&self.deployment())
    }

    /// The present on the clock of the orchestrator.
    pub(crate) fn site_time(&self) -> Now {
        Now { mono: self.local().process.mono(self.now), wall: WALL, entropy: 0 }
    }
}
