//! The definition of a world: its roles, its script, and the bounds of its
//! faults.

use colony_world::Flaw;

use crate::world::World;

/// One bounded world.
#[derive(Debug, Clone)]
pub struct Plan {
    pub name: &'static str,
    /// A description of the world.
    pub about: &'static str,
    pub(crate) nodes: &'static [&'static str],
    /// Settings of the only deployment, besides the times.
    pub(crate) settings: &'static str,
    /// The version in Git at the beginning.
    pub(crate) first: Option<&'static str>,
    /// The world begins when that version has converged, with default settings.
    pub(crate) settled: bool,
    /// The operations of operators, in this order, at any time.
    pub(crate) script: &'static [Op],
    /// The central orchestrator receives all events at once: its line is not
    /// the subject.
    pub(crate) prompt: bool,
    /// A replaced orchestrator continues until it is fenced.
    pub(crate) split: bool,
    pub(crate) bounds: Bounds,
    pub(crate) goals: &'static [Goal],
    /// How many nodes may start the newest version in place of the active one
    /// before it is promoted.
    pub(crate) ahead: Option<usize>,
    pub(crate) flaw: Flaw,
}

/// The bounds of the faults and of the exploration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// Processes that die within a step, of any role.
    pub deaths: u8,
    /// Messages that arrive twice.
    pub doubles: u8,
    /// Containers that are killed from outside.
    pub kills: u8,
    /// How often time passes.
    pub passes: u8,
    /// Messages on each line to a node.
    pub room: usize,
    /// Messages on the line to the central orchestrator.
    pub far: usize,
    /// The number of tried steps at which exploring is cut off.
    pub steps: usize,
    /// One of this many states is checked for convergence.
    pub sample: u64,
}

/// An operation of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// A commit with this version.
    Push(&'static str),
    /// A commit without the file.
    Delete,
    /// The orchestrator of the site is lost with its disk; another takes over.
    Replace,
    /// An operator releases the quarantined revision.
    Release,
    /// An operator rolls back to the previous revision.
    Rollback,
    /// An operator opens the next step of a rollout that waits for it.
    Promote,
    /// An operator aborts a rollout.
    Abort,
}

/// A condition that a world must be able to reach; otherwise it proves nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    pub(crate) name: &'static str,
    pub(crate) reached: fn(&World) -> bool,
}

impl Plan {
    /// A variant small enough for every test run.
    pub(crate) fn quick(self) -> Plan {
        self.bounded(|it| {
            it.passes = 1;
            (it.steps, it.sample) = (8_000, 16);
        })
    }

    /// Changes the bounds.
    pub fn bounded(self, change: impl FnOnce(&mut Bounds)) -> Plan {
        let mut bounds = self.bounds;
        change(&mut bounds);
        Plan { bounds, ..self }
    }

    pub fn with(self, flaw: Flaw) -> Plan {
        Plan { flaw, ..self }
    }

    /// The last version of the script.
    pub(crate) fn newest(&self) -> Option<&'static str> {
        self.script.iter().rev().find_map(|it| match it {
            Op::Push(version) => Some(*version),
            Op::Delete | Op::Replace | Op::Release | Op::Rollback | Op::Promote | Op::Abort => None,
        })
    }
}
