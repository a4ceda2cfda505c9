//! What a world is made of: who is there, what is done to them, how much may fail.

use crate::world::World;

/// One bounded world.
#[derive(Debug, Clone)]
pub struct Plan {
    pub name: &'static str,
    /// What happens in it, in words.
    pub about: &'static str,
    pub(crate) nodes: &'static [&'static str],
    /// Settings of the only deployment, besides the times.
    pub(crate) settings: &'static str,
    /// What Git holds at first.
    pub(crate) first: Option<&'static str>,
    /// The world begins when that has converged, with the settings nobody chose.
    pub(crate) settled: bool,
    /// What people do, in this order, at any time.
    pub(crate) script: &'static [Op],
    /// The centre hears of everything at once: its line is not the subject.
    pub(crate) prompt: bool,
    /// An orchestrator that is replaced goes on until it hears of it.
    pub(crate) split: bool,
    pub(crate) bounds: Bounds,
    pub(crate) goals: &'static [Goal],
    /// How many nodes may start what comes last in place of what runs, as long
    /// as nobody has promoted it.
    pub(crate) ahead: Option<usize>,
    pub(crate) flaw: Flaw,
}

/// How much may go wrong, and how far a world goes.
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
    /// Messages on the line to the centre.
    pub far: usize,
    /// Where exploring is cut off: steps that were tried.
    pub steps: usize,
    /// Of so many states one is asked whether it converges.
    pub sample: u64,
}

/// What somebody does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// A commit with this version.
    Push(&'static str),
    /// A commit without the file.
    Delete,
    /// The orchestrator of the site is lost with its disk; another takes over.
    Replace,
    /// An operator releases what is quarantined.
    Release,
    /// An operator goes back to the revision before.
    Rollback,
    /// An operator opens the next step of a rollout that waits for it.
    Promote,
    /// An operator gives a rollout up.
    Abort,
}

/// A mistake in a shell, for tests of the model itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// The centre acknowledges events before it has stored them.
    AcksFirst,
    /// A new orchestrator is told that nothing runs at its site.
    EmptySeed,
    /// A node runs what it is to stage in place of what is there.
    TakesStaged,
}

/// Something a world must be able to reach, or it shows nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    pub(crate) name: &'static str,
    pub(crate) reached: fn(&World) -> bool,
}

impl Plan {
    /// Small enough for every day.
    pub(crate) fn quick(self) -> Plan {
        self.bounded(|it| {
            it.passes = 1;
            (it.steps, it.sample) = (8_000, 16);
        })
    }

    /// Widens or narrows what may happen.
    pub fn bounded(self, change: impl FnOnce(&mut Bounds)) -> Plan {
        let mut bounds = self.bounds;
        change(&mut bounds);
        Plan { bounds, ..self }
    }

    pub fn with(self, flaw: Flaw) -> Plan {
        Plan { flaw, ..self }
    }

    /// The version that comes last.
    pub(crate) fn newest(&self) -> Option<&'static str> {
        self.script.iter().rev().find_map(|it| match it {
            Op::Push(version) => Some(*version),
            Op::Delete | Op::Replace | Op::Release | Op::Rollback | Op::Promote | Op::Abort => None,
        })
    }
}
