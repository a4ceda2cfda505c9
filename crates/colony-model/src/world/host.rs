//! The front end of the world: every fault, order and delivery is an act that
//! the model chooses.

use std::sync::Arc;

use colony_core::event::{Event, Incarnation, Log};
use colony_core::fleet::Applied;
use colony_core::node;
use colony_core::site::{NodeManifest, Seed, Step};
use colony_core::time::{Monotonic, Now};
use colony_world::{
    Breach, Change, Flaw, Host, Outcome, Role, Roles, ToCentral, ToLocal, ToNode, Transaction,
};

use crate::check::Rule;
use crate::world::fate::Die;
use crate::world::time::{NODE_WALL, WALL};
use crate::world::{LOCAL, World};

impl Host for World {
    /// Few, so that a batch does not contain all events.
    const BATCH: usize = 3;

    fn roles(&self) -> &Roles {
        &self.roles
    }

    fn roles_mut(&mut self) -> &mut Roles {
        &mut self.roles
    }

    fn time(&self) -> u64 {
        self.now
    }

    /// Workloads behave at once: nothing of an engine depends on the time.
    fn engine_time(&self) -> u64 {
        0
    }

    fn present(&mut self, role: Role) -> Now {
        let (mono, wall) = match role {
            Role::Central => (Monotonic(0), WALL),
            Role::Local(site) => (self.roles.sites[site].process.mono(self.now), WALL),
            Role::Node(node) => (self.roles.nodes[node].process.mono(self.now), NODE_WALL),
        };
        Now { mono, wall, entropy: 0 }
    }

    fn commit(&mut self, _transaction: Transaction, writes: bool) -> Outcome {
        let die = self.fated(writes);
        self.trail.dying = die == Die::BeforeAct;
        if die == Die::BeforePersist { Outcome::Dies } else { Outcome::Stored }
    }

    fn survives(&mut self, _transaction: Transaction) -> bool {
        !std::mem::take(&mut self.trail.dying)
    }

    fn die(&mut self, role: Role, when: &str) {
        match role {
            Role::Central => self.central_dies(when),
            Role::Local(site) => self.local_dies(site, when),
            Role::Node(node) => self.node_dies(node, when),
        }
    }

    fn flaw(&self) -> Flaw {
        self.plan.flaw
    }

    /// Only the central orchestrator sends by this way; nodes have lines of
    /// their own.
    fn send_to_local(&mut self, _site: usize, message: ToLocal) {
        self.answered = true;
        if !self.is_prompt() && self.back.send(message, self.plan.bounds.far) {
            self.miss_central();
        }
    }

    fn send_to_node(&mut self, node: usize, message: ToNode) {
        let room = self.plan.bounds.room;
        self.down[node].send(message, room);
    }

    fn send_to_central(&mut self, _site: usize, message: ToCentral) {
        if self.out.send(message, self.plan.bounds.far) {
            self.miss_central();
        }
    }

    fn reconnects(&self, site: usize) -> u64 {
        self.roles.sites[site].uplink.returns
    }

    fn before_local_step(&mut self, site: usize) {
        self.before = Some(self.roles.sites[site].clone());
    }

    fn observe_local(&mut self, _site: usize, step: &Step, now: Now) {
        if let Some(before) = self.before.take() {
            self.observe_site(&before, step, now);
        }
    }

    fn local_acts(&mut self, site: usize, _step: &Step) {
        if self.is_prompt() && site == LOCAL {
            self.central_take_all();
        }
    }

    fn before_seed(&mut self, _site: usize, seed: &Seed) {
        self.seeded = seed.placements.iter().map(|it| (it.id.clone(), it.state)).collect();
    }

    fn observe_manifest(&mut self, _site: usize, node: usize, manifest: &NodeManifest) {
        self.check_manifest(node, manifest);
    }

    fn diverged(&mut self, site: usize) {
        let head = self.roles.sites[site].core.log().next;
        let what = format!("CO has events that LO has not, whose next is {head}");
        self.break_rule(Rule::Acknowledged, what);
    }

    fn before_manifest(&mut self, node: usize, manifest: &NodeManifest) {
        self.check_obedience(node, manifest);
    }

    fn observe_node(&mut self, node: usize, step: &node::Step) {
        self.check_actions(node, step);
    }

    fn node_acts(&mut self, node: usize, step: node::Step) -> bool {
        self.begin_actions(node, step)
    }

    /// The events to store follow those already stored.
    fn observe_applied(&mut self, _site: usize, incarnation: Incarnation, applied: &Applied) {
        let key = (self.site.clone(), incarnation);
        let mut log = Log::new(self.site.clone(), incarnation);
        if let Some((last, hash)) = self.roles.central.events.get(&key).and_then(|it| it.last()) {
            (log.next, log.head) = (last.seq + 1, *hash);
        }
        if let Some(gap) = applied.fresh.iter().find_map(|it| log.follow(it).err()) {
            self.break_rule(Rule::Central, gap.to_string());
        }
    }

    fn observe_stored(&mut self, _site: usize, incarnation: Incarnation, _events: &[Arc<Event>]) {
        self.check_central(incarnation);
    }

    fn observe_acknowledged(&mut self, _site: usize, incarnation: Incarnation, next: u64) {
        let acked = self.acked.entry(incarnation).or_insert(1);
        *acked = next.max(*acked);
    }

    fn refuse_log(&mut self, _site: usize, incarnation: Incarnation) {
        let what = format!("CO refuses the log of incarnation {incarnation}");
        self.break_rule(Rule::Central, what);
    }

    fn observe_push(&mut self, _change: &Change) {
        self.say("CO reverts the file in Git".to_owned());
    }

    fn breach(&mut self, breach: Breach, what: String) {
        let rule = match breach {
            Breach::Journal => Rule::Log,
            Breach::Batch | Breach::Git => Rule::Central,
            Breach::Seed => Rule::Seed,
        };
        self.break_rule(rule, what);
    }

    fn say(&mut self, line: impl FnOnce(&World) -> String) {
        if !self.trail.dry && !self.quiet {
            let line = line(self);
            self.said.push(line);
        }
    }
}
