//! The former orchestrator of a site, which does not know that it was replaced.
//!
//! It has its disk, reads Git, and still receives some messages of nodes. It
//! continues as before until the central orchestrator fences it.

use colony_core::event::VERSION_BITS;
use colony_core::site::NodeManifest;
use colony_world::{JoinShell, Local, LocalShell, Shared, ToLocal};

use crate::check::Rule;
use crate::world::act::{Kind, RoleProcess};
use crate::world::time::timing;
use crate::world::words;
use crate::world::{FORMER, LOCAL, World};

impl World {
    /// Another orchestrator takes over; in a split world this one continues to
    /// run. `false` if the central orchestrator died, so that the join has to
    /// be repeated.
    pub(crate) fn replace_local(&mut self) -> bool {
        let site = self.site.clone();
        let joined = self.central_join(&site, true);
        self.interrupted = joined.is_none();
        let Some(incarnation) = joined else { return false };
        self.say(format!("a new LO takes the site over as incarnation {incarnation}"));
        let mut fresh = Local::new(site, incarnation, timing());
        fresh.saved = fresh.process.mono(self.now);
        let former = std::mem::replace(&mut self.roles.sites[LOCAL], Shared::new(fresh));
        self.roles.sites.truncate(FORMER);
        if self.plan.split {
            self.roles.sites.push(former);
        }
        true
    }

    pub(crate) fn former(&self) -> Option<&Local> {
        self.roles.sites.get(FORMER).map(|it| &**it)
    }

    /// The acts of the former orchestrator.
    pub(crate) fn former_choices(&self, add: &mut impl FnMut(Kind)) {
        let Some(former) = self.former().filter(|it| it.core.fenced_by().is_none()) else {
            return;
        };
        if !former.process.up {
            return add(Kind::Begin(RoleProcess::Former));
        }
        if former.core.git() != Some(self.roles.git.head()) {
            add(Kind::FormerFetch);
        }
        for node in 0..self.roles.nodes.len() {
            (0..self.up[node].len()).for_each(|index| add(Kind::FormerHears { node, index }));
        }
        add(Kind::FormerFenced);
    }

    pub(crate) fn former_fetch(&mut self) {
        self.as_former(|it| it.local_fetch(FORMER));
    }

    pub(crate) fn former_begin(&mut self) {
        if self.former().is_some_and(|it| !it.process.up) {
            self.as_former(|it| it.local_begin(FORMER));
        }
    }

    pub(crate) fn former_hears(&mut self, node: usize, index: usize) {
        let Some(letter) = self.up[node].take(index, false) else { return };
        self.as_former(|it| it.local_receive(FORMER, letter.text.clone()));
    }

    /// The former orchestrator reaches the central one and is fenced.
    pub(crate) fn former_is_fenced(&mut self) {
        let by = self.roles.central.incarnation(&self.site);
        let Some(by) = by else { return };
        if self.former().is_some_and(|it| it.incarnation < by && it.core.fenced_by().is_none()) {
            self.as_former(|it| it.local_receive(FORMER, ToLocal::Fenced { by }));
        }
    }

    pub(crate) fn former_ticks(&mut self) {
        if self.former().is_some() {
            self.as_former(|it| it.local_ticks(FORMER));
        }
    }

    /// Runs `act` with the former orchestrator as the acting one.
    fn as_former(&mut self, act: impl FnOnce(&mut World)) {
        let said = self.said.len();
        self.acting = FORMER;
        act(self);
        self.acting = LOCAL;
        if self.said.len() > said {
            self.said.insert(said, "the former LO is still there:".to_owned());
        }
    }

    /// Checks a manifest that a node accepts: a node that has a manifest of the
    /// present orchestrator never accepts one of the former.
    pub(crate) fn check_obedience(&mut self, node: usize, manifest: &NodeManifest) {
        let Some(held) = self.roles.nodes[node].core.version() else { return };
        if manifest.version >> VERSION_BITS < held.get() >> VERSION_BITS {
            let (new, held) = (words::version(manifest.version), words::version(held.get()));
            let what = format!("node {} takes {new}, it had {held}", self.roles.nodes[node].name);
            self.break_rule(Rule::Versions, what);
        }
    }
}
