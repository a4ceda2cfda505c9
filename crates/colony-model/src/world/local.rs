//! The local orchestrator in the model: it dies and starts again.

use colony_core::event::Seq;
use colony_world::{LocalShell, ToLocal, knows_its_site};

use crate::check::Rule;
use crate::world::{LOCAL, World};

impl World {
    /// If no other process can die, the orchestrator restarts at once.
    pub(crate) fn local_dies(&mut self, site: usize, when: &str) {
        self.say(format!("LO dies {when}"));
        self.seeded.clear();
        let local = &mut *self.roles.sites[site];
        local.restore();
        local.process.die();
        local.uplink.forget();
        if self.left.deaths == 0 {
            self.local_begin(site);
        }
    }

    pub(crate) fn local_begin(&mut self, site: usize) {
        self.say("LO comes back from its disk".to_owned());
        self.local_start(site);
    }

    /// The orchestrator has no seed yet.
    pub(crate) fn lacks_seed(&self) -> bool {
        !self.local().core.is_ready() && !knows_its_site(&self.local().core)
    }

    /// A message of the central orchestrator arrives.
    pub(crate) fn local_hears_central(&mut self, message: ToLocal) {
        if let ToLocal::EventsTaken { incarnation, next, .. } = &message {
            self.check_taken(*incarnation, *next);
        }
        self.local_receive(LOCAL, message);
    }

    /// No site takes an event for stored that is not.
    fn check_taken(&mut self, incarnation: u32, next: Seq) {
        let stored = self.roles.central.next(&self.site, incarnation);
        if incarnation == self.local().incarnation && next > stored {
            let what = format!("LO takes all before {next} for stored, CO has {stored}");
            self.break_rule(Rule::Acknowledged, what);
        }
    }

    /// Whether `node` lacks the present manifest.
    pub(crate) fn lacks_manifest(&self, node: usize) -> bool {
        let device = &self.roles.nodes[node];
        let manifest = self.local().core.manifest(&device.name);
        let has = device.have().and_then(|it| it.etag);
        manifest.is_ok_and(|it| has != Some(it.etag))
    }
}
