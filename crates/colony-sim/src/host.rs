//! The front end of the world: a seed decides on faults, delivery and time.

use std::sync::Arc;

use colony_core::event::{Event, Incarnation};
use colony_core::fleet::Applied;
use colony_core::site::{Action, Commit, Have, NodeManifest, Seed, Step};
use colony_core::time::Now;
use colony_core::why::AnswerUpdate;
use colony_core::{node, site};
use colony_world::{
    Breach, Change, Host, Outcome, Role, Roles, ToCentral, ToLocal, ToNode, Transaction, Write,
};

use crate::coverage::Trial;
use crate::network::Happening;
use crate::world::World;

impl Host for World {
    const BATCH: usize = 40;

    fn roles(&self) -> &Roles {
        &self.roles
    }

    fn roles_mut(&mut self) -> &mut Roles {
        &mut self.roles
    }

    fn time(&self) -> u64 {
        self.now
    }

    fn present(&mut self, role: Role) -> Now {
        let process = match role {
            Role::Central => &self.roles.central.process,
            Role::Local(site) => &self.roles.sites[site].process,
            Role::Node(node) => &self.roles.nodes[node].process,
        };
        process.now(self.now, self.rng.next())
    }

    fn commit(&mut self, transaction: Transaction, writes: bool) -> Outcome {
        match transaction {
            Transaction::Node(node) => {
                let until = self.roles.nodes[node].full_until;
                self.commit_step(writes, until, Trial::NodeRefused)
            }
            Transaction::Local(site) => {
                let until = self.roles.sites[site].full_until;
                self.commit_step(writes, until, Trial::LocalRefused)
            }
            Transaction::Batch if self.dies() => Outcome::Dies,
            Transaction::Batch | Transaction::Record => {
                self.refuse(self.roles.central.full_until, Trial::CentralRefused)
            }
        }
    }

    fn survives(&mut self, transaction: Transaction) -> bool {
        transaction == Transaction::Record || !self.dies()
    }

    fn survives_push(&mut self, when: &str) -> bool {
        let dies = self.dies();
        if dies {
            self.central_crash(when);
        }
        !dies
    }

    fn die(&mut self, role: Role, when: &str) {
        match role {
            Role::Central => self.central_crash(when),
            Role::Local(site) => self.local_crash(site, when),
            Role::Node(node) => self.node_crash(node, when),
        }
    }

    fn fall_back(&mut self, role: Role) {
        match role {
            Role::Central => {}
            Role::Local(site) => self.local_falls_back(site),
            Role::Node(node) => self.node_falls_back(node),
        }
    }

    fn tear(&mut self, node: usize, write: Write<node::Key, node::Row>) {
        let (device, rng) = (&mut *self.roles.nodes[node], &mut self.rng);
        if device.journal.tear(write, |whole| crate::chaos::torn::torn(whole, rng)) {
            self.coverage.trial(Trial::TornLine);
        }
    }

    fn send_to_local(&mut self, site: usize, message: ToLocal) {
        self.send_far(site, Happening::ToLocal { site, message });
    }

    /// A node may get the two parts of an answer at different times, because it
    /// fetches the documents of a manifest.
    fn send_to_node(&mut self, node: usize, message: ToNode) {
        let ToNode::Answer { manifest: Some(manifest), asks: Some(asks) } = message else {
            return self.send_near(node, Happening::ToNode { node, message });
        };
        let message = ToNode::Answer { manifest: Some(manifest), asks: None };
        self.send_near(node, Happening::ToNode { node, message });
        let message = ToNode::Answer { manifest: None, asks: Some(asks) };
        self.send_near(node, Happening::ToNode { node, message });
    }

    fn send_to_central(&mut self, site: usize, message: ToCentral) {
        self.send_far(site, Happening::ToCentral { site, message });
    }

    /// A process that starts again has no connections.
    fn reconnects(&self, _site: usize) -> u64 {
        self.roles.central.process.life
    }

    fn answers_due(&mut self, site: usize) -> Option<Box<AnswerUpdate>> {
        self.local_answers_due(site)
    }

    fn observe_local(&mut self, site: usize, step: &Step, now: Now) {
        self.local_answers(site, &step.changed, now);
        self.observe_site(site, step, now);
        self.local_hurries(site, step);
    }

    fn local_acts(&mut self, site: usize, step: &site::Step) {
        self.schedule_local(site, step);
    }

    fn before_seed(&mut self, site: usize, seed: &Seed) {
        let states = seed.placements.iter().map(|it| (it.id.clone(), it.state)).collect();
        let log = self.roles.sites[site].core.log().clone();
        self.checker.begin(site, log, states);
    }

    fn before_fetch(&mut self, site: usize, commit: &Commit) {
        self.expected = self.expect_plan(site, commit);
    }

    fn after_fetch(&mut self, site: usize, step: &Step) {
        if let Some(expected) = self.expected.take() {
            self.check_plan(site, &expected, step);
        }
    }

    /// The role remembers what it served; here nine of ten polls trust the
    /// version.
    fn is_up_to_date(&mut self, site: usize, node: usize, have: Option<Have>) -> bool {
        let core = &self.roles.sites[site].core;
        let name = &self.roles.nodes[node].name;
        let version = core.site_node(name).map(|it| it.version());
        let served = self.checker.served(site, node);
        let same = served.is_some_and(|(number, etag)| {
            version == Some(number) && have == Some(Have { version: number, etag: Some(etag) })
        });
        same && core.report_requests(name).is_empty() && !self.rng.chance(10)
    }

    fn observe_manifest(&mut self, site: usize, node: usize, manifest: &NodeManifest) {
        self.check_manifest(site, node, manifest);
    }

    fn executed(&mut self, site: usize, number: u64, action: Action) {
        self.checker.executed(site, number, action);
    }

    fn diverged(&mut self, site: usize) {
        self.note(|w| format!("LO {} has another past than CO", w.roles.sites[site].name));
        let wait = self.rng.range(30_000..600_000);
        self.after(wait, Happening::LocalRejoin { site });
    }

    fn observe_node(&mut self, node: usize, step: &node::Step) {
        self.check_node(node, step);
    }

    fn node_acts(&mut self, node: usize, step: node::Step) -> bool {
        self.schedule_node(node, step);
        true
    }

    fn before_batch(&mut self, site: usize, events: &[Arc<Event>]) {
        self.check_orders(site, events);
    }

    fn observe_applied(&mut self, _site: usize, _incarnation: Incarnation, applied: &Applied) {
        self.check_effects(&applied.effects);
    }

    fn observe_stored(&mut self, site: usize, incarnation: Incarnation, events: &[Arc<Event>]) {
        self.check_acknowledged(site, incarnation, events);
    }

    fn observe_acknowledged(&mut self, site: usize, _incarnation: Incarnation, _next: u64) {
        self.check_projection(site);
    }

    /// Logs can only diverge if one side was restored from a backup.
    fn refuse_log(&mut self, site: usize, incarnation: Incarnation) {
        if self.restores == 0 && !self.roles.sites[site].uplink.rewound {
            let name = self.roles.sites[site].name.clone();
            return self.violate(format!("CO refuses the log of {name}, and nothing was restored"));
        }
        self.send_to_local(site, ToLocal::Diverged { incarnation });
    }

    fn observe_push(&mut self, change: &Change) {
        let verb = if change.reverts { "reverts" } else { "pushes" };
        self.note(|_| format!("CO {verb} {}", change.path()));
    }

    fn observe_conflict(&mut self, change: &Change) {
        self.note(|_| format!("CO finds {} changed: conflict", change.path()));
    }

    fn breach(&mut self, _breach: Breach, what: String) {
        self.violate(what);
    }
}
