//! The projection of the central orchestrator against the site itself.

use colony_world::projection_difference;

use crate::check::{Rule, Verdict};
use crate::world::World;

impl World {
    /// If the central orchestrator has all events, its projection equals the
    /// site.
    pub(crate) fn check_belief(&self) -> Verdict {
        let Some(view) = self.roles.central.core.site(&self.site) else { return Ok(()) };
        if self.lacks_seed() {
            return Ok(());
        }
        let now = self.site_time();
        if let Some(what) = projection_difference(view, &self.local().core, now) {
            return Err((Rule::Belief, what));
        }
        let mut all = view.placements.values().flat_map(|it| it.values());
        let flag = all.find_map(|it| it.flagged.as_ref().map(ToString::to_string));
        flag.map_or(Ok(()), |it| Err((Rule::Belief, it)))
    }
}
