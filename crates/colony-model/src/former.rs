//! The former orchestrator of a site, which nobody has told that it was replaced.
//!
//! It has its disk, reads Git, and still hears some of what nodes say; until it
//! hears from the centre that another one has taken over, it goes on as before.

use std::sync::Arc;

use colony_core::event::VERSION_BITS;
use colony_core::site::Site;

use crate::act::{Kind, Who};
use crate::check::Rule;
use crate::local::Local;
use crate::message::{Back, Sheet};
use crate::time::timing;
use crate::words;
use crate::world::World;

impl World {
    /// Another orchestrator takes over; in a split world this one goes on.
    /// `false` if the centre died, so that the join has to be tried again.
    pub(crate) fn replace_local(&mut self) -> bool {
        let joined = self.central_join();
        self.interrupted = joined.is_none();
        let Some(incarnation) = joined else { return false };
        self.say(format!("a new LO takes the site over as incarnation {incarnation}"));
        let core = Site::new(self.site.clone(), incarnation, timing());
        let fresh = Arc::new(Local::new(core, self.now));
        let former = std::mem::replace(&mut self.local, fresh);
        self.former = self.plan.split.then_some(former);
        true
    }

    /// What the former orchestrator can do.
    pub(crate) fn former_choices(&self, add: &mut impl FnMut(Kind)) {
        let Some(former) = self.former.as_ref().filter(|it| it.core.fenced_by().is_none()) else {
            return;
        };
        if !former.up {
            return add(Kind::Begin(Who::Former));
        }
        if former.core.git() != Some(&self.git.head()) {
            add(Kind::FormerFetch);
        }
        for node in 0..self.nodes.len() {
            (0..self.up[node].len()).for_each(|index| add(Kind::FormerHears { node, index }));
        }
        add(Kind::FormerFenced);
    }

    pub(crate) fn former_fetch(&mut self) {
        self.as_former(World::local_fetch);
    }

    pub(crate) fn former_begin(&mut self) {
        if self.former.as_ref().is_some_and(|it| !it.up) {
            self.as_former(World::local_begin);
        }
    }

    /// A message of a node arrives at the wrong orchestrator.
    pub(crate) fn former_hears(&mut self, node: usize, index: usize) {
        let Some(letter) = self.up[node].take(index, false) else { return };
        self.as_former(|it| it.local_receive(node, &letter.text));
    }

    /// The centre hears of it, and tells it that another one has taken over.
    pub(crate) fn former_is_fenced(&mut self) {
        let by = self.central.core.site(&self.site).and_then(|it| it.incarnation());
        let Some(by) = by else { return };
        self.as_former(|it| {
            if it.local.incarnation() < by && it.local.core.fenced_by().is_none() {
                it.local_hear_centre(&Back::Fenced { by });
            }
        });
    }

    pub(crate) fn former_ticks(&mut self) {
        self.as_former(World::local_ticks);
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
