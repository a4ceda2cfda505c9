//! The former orchestrator of a site, which nobody has told that it was replaced.
//!
//! It has its disk, reads Git, and still hears some of what nodes say; until it
//! hears from the centre that another one has taken over, it goes on as before.

use std::sync::Arc;

use colony_core::event::VERSION_BITS;
use colony_core::site::Input;

use crate::act::{Die, Kind};
use crate::check::Rule;
use crate::message::{Back, Sheet};
use crate::words;
use crate::world::World;

impl World {
    /// Another orchestrator takes over; in a split world this one goes on.
    pub(crate) fn replace_local(&mut self) {
        let former = Arc::clone(&self.local);
        self.found_local();
        self.former = self.plan.split.then_some(former);
    }

    /// What the former orchestrator can do.
    pub(crate) fn former_choices(&self, add: &mut impl FnMut(Kind)) {
        let Some(former) = self.former.as_ref().filter(|it| it.core.fenced_by().is_none()) else {
            return;
        };
        if former.core.git() != Some(&self.git.head()) {
            add(Kind::FormerFetch);
        }
        for node in 0..self.nodes.len() {
            (0..self.up[node].len()).for_each(|index| add(Kind::FormerHears { node, index }));
        }
        add(Kind::FormerFenced);
    }

    pub(crate) fn former_fetch(&mut self) {
        self.as_former(|it| {
            it.local_fetch(Die::Never);
        });
    }

    /// A message of a node arrives at the wrong orchestrator.
    pub(crate) fn former_hears(&mut self, node: usize, index: usize) {
        let Some(letter) = self.up[node].take(index, false) else { return };
        self.as_former(|it| it.local_receive(node, &letter.text, Die::Never));
    }

    /// The centre hears of it, and tells it that another one has taken over.
    pub(crate) fn former_is_fenced(&mut self) {
        let by = self.central.core.site(&self.site).and_then(|it| it.incarnation());
        let Some(by) = by else { return };
        self.as_former(|it| {
            if it.local.incarnation() < by && it.local.core.fenced_by().is_none() {
                it.local_hear_centre(&Back::Fenced { by }, Die::Never);
            }
        });
    }

    pub(crate) fn former_ticks(&mut self) {
        let now = self.now;
        self.as_former(|it| {
            Arc::make_mut(&mut it.local).note(now);
            if it.local.wake.is_some_and(|due| it.local.clock.when(due) <= now) {
                let _ = it.local_step(Input::Tick, Die::Never);
            }
        });
    }

    /// Lets the former orchestrator act in the place of the present one.
    fn as_former(&mut self, act: impl FnOnce(&mut World)) {
        let Some(former) = self.former.take() else { return };
        let present = std::mem::replace(&mut self.local, former);
        self.former = Some(present);
        let said = self.said.len();
        act(self);
        if self.said.len() > said {
            self.said.insert(said, "the former LO is still there:".to_owned());
        }
        if let Some(present) = self.former.take() {
            self.former = Some(std::mem::replace(&mut self.local, present));
        }
    }

    /// It is the former orchestrator that acts.
    pub(crate) fn is_former(&self) -> bool {
        let other = self.former.as_ref().map(|it| it.incarnation());
        other.is_some_and(|it| it > self.local.incarnation())
    }

    /// Looks at a manifest that a node takes: who has heard the present
    /// orchestrator never obeys the former one.
    pub(crate) fn check_obedience(&mut self, node: usize, sheet: &Sheet) {
        let Some(held) = self.nodes[node].core.version() else { return };
        if sheet.version >> VERSION_BITS < held.get() >> VERSION_BITS {
            let (new, held) = (words::version(sheet.version), words::version(held.get()));
            let what = format!("node {} takes {new}, it had {held}", self.nodes[node].name);
            self.break_rule(Rule::Versions, what);
        }
    }
}
