//! What a front end of the world provides: time, faults, a network, and checks.
//!
//! The simulator draws them from a seed, the model explores them. The shells in
//! `role/` are the same for both.

use std::sync::Arc;

use colony_core::event::{Event, Incarnation};
use colony_core::fleet::Applied;
use colony_core::site::{self, Action, Have, NodeManifest, Seed};
use colony_core::time::Now;
use colony_core::why::AnswerUpdate;
use colony_core::{node, site::Commit};

use crate::disk::Write;
use crate::git::Git;
use crate::message::{ToCentral, ToLocal, ToNode};
use crate::role::{Central, Change, Device, Local};
use crate::shared::Shared;

/// The roles of a world, and the Git repository between them.
#[derive(Debug, Clone, Default)]
pub struct Roles {
    pub git: Shared<Git>,
    pub central: Shared<Central>,
    /// The orchestrator in charge of each site, followed by replaced ones.
    pub sites: Vec<Shared<Local>>,
    pub nodes: Vec<Shared<Device>>,
}

/// One role of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Central,
    Local(usize),
    Node(usize),
}

/// A write to the disk of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transaction {
    /// A step of a node: one line of its journal.
    Node(usize),
    /// A step of a local orchestrator: its rows and events.
    Local(usize),
    /// A batch of a site's events at the central orchestrator.
    Batch,
    /// Another write of the central orchestrator: a join, a command, a change
    /// for Git or its outcome.
    Record,
}

/// The end of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Stored,
    /// The disk has no room: the step has no effect, the process continues.
    Refused,
    /// The process dies before the commit.
    Dies,
}

/// A deliberate error in a shell, for tests of the model itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// The central orchestrator acknowledges events before it has stored them.
    AcksFirst,
    /// A fresh orchestrator gets an empty seed, although workloads run at its
    /// site.
    EmptySeed,
    /// A node runs a version to be staged in place of the active one.
    TakesStaged,
}

/// Something that a shell itself found to be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breach {
    /// A journal does not hold what was synced.
    Journal,
    /// The central orchestrator refuses the events of a sound site.
    Batch,
    /// A seed lacks something of the site.
    Seed,
    /// Git has lost a content.
    Git,
}

/// A front end: the world around the roles. Methods with a body are for one of
/// the front ends only.
pub trait Host: Sized {
    /// The most events of one batch.
    const BATCH: usize;

    fn roles(&self) -> &Roles;
    fn roles_mut(&mut self) -> &mut Roles;

    /// The virtual time.
    fn time(&self) -> u64;
    /// The virtual time as engines see it.
    fn engine_time(&self) -> u64 {
        self.time()
    }
    /// The present on the clocks of a role.
    fn present(&mut self, role: Role) -> Now;

    /// Decides on a transaction; `writes` if it has something to store.
    fn commit(&mut self, transaction: Transaction, writes: bool) -> Outcome;
    /// Decides whether the process lives on after a stored transaction, to
    /// answer and act.
    fn survives(&mut self, transaction: Transaction) -> bool;
    /// Decides whether the central orchestrator lives on while it writes Git.
    fn survives_push(&mut self, _when: &str) -> bool {
        true
    }
    /// A process dies.
    fn die(&mut self, role: Role, when: &str);
    /// The disk of a node or of a local orchestrator refused a step.
    fn fall_back(&mut self, _role: Role) {}
    /// Power failed while a node wrote a line.
    fn tear(&mut self, _node: usize, _write: Write<node::Key, node::Row>) {}
    fn flaw(&self) -> Flaw {
        Flaw::None
    }

    fn send_to_local(&mut self, site: usize, message: ToLocal);
    fn send_to_node(&mut self, node: usize, message: ToNode);
    fn send_to_central(&mut self, site: usize, message: ToCentral);
    /// How often the central orchestrator answered a site again after an
    /// outage.
    fn reconnects(&self, site: usize) -> u64;
    /// The answers to `why` that a site sends with its events.
    fn answers_due(&mut self, _site: usize) -> Option<Box<AnswerUpdate>> {
        None
    }

    /// A local orchestrator is about to step.
    fn before_local_step(&mut self, _site: usize) {}
    /// A local orchestrator has stored a step.
    fn observe_local(&mut self, site: usize, step: &site::Step, now: Now);
    /// A local orchestrator acts on a stored step.
    fn local_acts(&mut self, _site: usize, _step: &site::Step) {}
    fn before_seed(&mut self, _site: usize, _seed: &Seed) {}
    fn before_fetch(&mut self, _site: usize, _commit: &Commit) {}
    fn after_fetch(&mut self, _site: usize, _step: &site::Step) {}
    /// The orchestrator trusts that the node has its manifest.
    fn is_up_to_date(&mut self, _site: usize, _node: usize, _have: Option<Have>) -> bool {
        false
    }
    fn observe_manifest(&mut self, site: usize, node: usize, manifest: &NodeManifest);
    /// A local orchestrator executed a command of the central one.
    fn executed(&mut self, _site: usize, _number: u64, _action: Action) {}
    /// The log of a local orchestrator is not the one of the central one.
    fn diverged(&mut self, site: usize);

    /// A node accepts a manifest.
    fn before_manifest(&mut self, _node: usize, _manifest: &NodeManifest) {}
    /// A node has stored a step.
    fn observe_node(&mut self, node: usize, step: &node::Step);
    /// A node acts on a stored step; `false` if it died of a consequence.
    fn node_acts(&mut self, node: usize, step: node::Step) -> bool;

    /// The central orchestrator receives events.
    fn before_batch(&mut self, _site: usize, _events: &[Arc<Event>]) {}
    /// The central orchestrator has applied events, and not stored them yet.
    fn observe_applied(&mut self, site: usize, incarnation: Incarnation, applied: &Applied);
    /// The central orchestrator has these events.
    fn observe_stored(&mut self, site: usize, incarnation: Incarnation, events: &[Arc<Event>]);
    /// The central orchestrator acknowledges all events before `next`.
    fn observe_acknowledged(&mut self, site: usize, incarnation: Incarnation, next: u64);
    /// The central orchestrator refuses a log that diverged from its own.
    fn refuse_log(&mut self, site: usize, incarnation: Incarnation);

    /// The central orchestrator writes a change to Git.
    fn observe_push(&mut self, change: &Change);
    /// The central orchestrator leaves a file unchanged.
    fn observe_conflict(&mut self, _change: &Change) {}

    fn breach(&mut self, breach: Breach, what: String);
    /// A line for the trace of a front end that shows every message.
    fn say(&mut self, _line: impl FnOnce(&Self) -> String) {}
}
