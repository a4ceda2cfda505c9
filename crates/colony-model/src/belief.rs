//! The projection of the central orchestrator against the site itself.

use colony_testkit::projection_difference;

use crate::check::{Rule, Verdict};
use crate::world::World;

impl World {
    /// The central orchestrator has all events, and shows what is.
    pub(crate) fn check_belief(&self) -> Verdict {
        let Some(view) = self.central.core.site(&self.site) else { return Ok(()) };
        if self.lacks_seed() {
            return Ok(());
        }
        let now = self.local.clock.at_site(self.now);
        if let Some(what) = projection_difference(view, &self.local.core, now) {
            return Err((Rule::Belief, what));
        }
        let mut all = view.placements.values().flat_map(|it| it.values());
        let flag = all.find_map(|it| it.flagged.as_ref().map(ToString::to_string));
        flag.map_or(Ok(()), |it| Err((Rule::Belief, it)))
    }
}
