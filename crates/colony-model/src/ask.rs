//! `why` in every state: whatever is not final has an answer, at its site and at
//! the centre, and the answer says more than that nobody knows.

use std::time::Duration;

use colony_core::site::Site;
use colony_core::state::State;
use colony_core::time::{Now, Wall};
use colony_core::why::{self, Why};
use colony_testkit::{is_open, is_vague};

use crate::check::{Rule, Verdict};
use crate::time::{UNIT, wall};
use crate::world::World;

/// Longer than any wait of a world: somebody asks while timers are behind.
const LATE: Duration = Duration::from_millis(6 * UNIT);

impl World {
    /// Asks the orchestrator about everything, now and as one that is behind.
    pub(crate) fn ask_site(&self, now: Now) -> Verdict {
        let late = Now { mono: now.mono.after(LATE), wall: now.wall.after(LATE), ..now };
        let core = &self.local.core;
        [now, late].into_iter().try_for_each(|it| {
            self.ask_placements(it)?;
            ask_deployments(core, it)?;
            ask_nodes(core, it)?;
            let answers = why::site(core, it);
            must(core.is_ready() || !answers.is_empty(), || "the site".to_owned())?;
            specific(&answers, it.wall)
        })
    }

    fn ask_placements(&self, now: Now) -> Verdict {
        let core = &self.local.core;
        core.placements().try_for_each(|it| {
            let answer = why::placement(core, &it.id, now);
            let known = it.state().is_final() || answer.is_some();
            must(known, || format!("{} which is {}", it.id, it.state()))?;
            specific(answer.as_slice(), now.wall)
        })
    }

    /// Asks the centre about everything.
    pub(crate) fn ask_centre(&self) -> Verdict {
        let fleet = &self.central.core;
        let Some(view) = fleet.site(&self.site) else { return Ok(()) };
        for name in fleet.deployment_names() {
            let standing = view.standing(name);
            let all = fleet.why(&self.site, name, None, wall()).unwrap_or_default();
            let known = standing.is_at_rest() || !all.is_empty();
            must(known, || format!("{name} which is {standing} at the centre"))?;
            specific(&all, wall())?;
        }
        let mut all = view.placements.values().flat_map(|it| it.values());
        let mute = all.find(|it| matches!(it.state, State::Failed(_)) && it.failure.is_none());
        must(mute.is_none(), || "how it has failed".to_owned())
    }
}

fn ask_deployments(core: &Site, now: Now) -> Verdict {
    core.deployments().try_for_each(|it| {
        let answers = why::deployment_by_id(core, &it.id, now);
        must(!is_open(core, it) || !answers.is_empty(), || it.name.to_string())?;
        specific(&answers, now.wall)
    })
}

fn ask_nodes(core: &Site, now: Now) -> Verdict {
    core.members().try_for_each(|it| {
        let well = it.is_online() && !it.is_cordoned() && it.capabilities().is_some();
        let answer = why::node(core, &it.name);
        must(well || answer.is_some(), || format!("node {}", it.name))?;
        specific(answer.as_slice(), now.wall)
    })
}

fn must(known: bool, what: impl FnOnce() -> String) -> Verdict {
    if known { Ok(()) } else { Err((Rule::Why, format!("nobody knows why: {}", what()))) }
}

fn specific(answers: &[Why], now: Wall) -> Verdict {
    answers.iter().try_for_each(|it| clear(&it.text(now)))
}

/// The answer is more than that nothing is known.
fn clear(text: &str) -> Verdict {
    if is_vague(text) { Err((Rule::Why, format!("the answer is only: {text}"))) } else { Ok(()) }
}
