//! The named worlds: who is there, what is done to them, and how much may fail.

use colony_core::state::State;

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
    /// The world begins when that has converged.
    pub(crate) settled: bool,
    /// What people do, in this order, at any time.
    pub(crate) script: &'static [Op],
    /// The centre hears of everything at once: its line is not the subject.
    pub(crate) prompt: bool,
    pub(crate) bounds: Bounds,
    pub(crate) goals: &'static [Goal],
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
    /// Messages on each line.
    pub room: usize,
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
}

/// A mistake in a shell, for tests of the model itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// The centre acknowledges events before it has stored them.
    AcksFirst,
    /// A new orchestrator is told that nothing runs at its site.
    EmptySeed,
}

/// Something a world must be able to reach, or it shows nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    pub(crate) name: &'static str,
    pub(crate) reached: fn(&World) -> bool,
}

const INSTALLED: Goal = Goal {
    name: "every node runs what Git holds",
    reached: |it| it.all(|at| at == State::Installed) && it.runs_head(),
};
const GONE: Goal = Goal {
    name: "nothing is left after the removal",
    reached: |it| it.local.core.is_ready() && it.local.core.placements().next().is_none(),
};
const ROLLED_BACK: Goal = Goal {
    name: "every node is back at the good revision",
    reached: |it| it.is_quarantined() && it.all(|at| at == State::Installed),
};
const UNKNOWN: Goal = Goal {
    name: "an attempt is UNKNOWN",
    reached: |it| it.any(|at| matches!(at, State::Unknown(_))),
};
const REVERTED: Goal = Goal { name: "Git follows the rollback", reached: |it| it.reverted };
const RELEASED: Goal = Goal {
    name: "a released revision is tried again",
    reached: |it| it.is_spent() && it.any(|at| at == State::Updating),
};
const TAKEN_OVER: Goal = Goal {
    name: "the new orchestrator serves",
    reached: |it| it.local.incarnation() > 0 && it.local.core.is_ready(),
};
const READDED: Goal = Goal {
    name: "it is wanted again while it is removed",
    reached: |it| it.is_spent() && it.any(|at| at == State::Deleting),
};

const ROLLING: &str = "strategy: {type: rolling, maxUnavailable: 1}";
const AT_ONCE: &str = "strategy: {type: all-at-once}";

/// Every world of a run.
pub fn plans(quick: bool) -> Vec<Plan> {
    let full =
        [rollback(), delete(), replacement(), doubled(), release(), install(), repair(), centre()];
    full.into_iter().map(|it| if quick { it.quick() } else { it }).collect()
}

impl Plan {
    /// Small enough for every day.
    fn quick(self) -> Plan {
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
}

fn base() -> Plan {
    Plan {
        name: "",
        about: "",
        nodes: &["a", "b"],
        settings: ROLLING,
        first: Some("1.0.0"),
        settled: true,
        script: &[],
        prompt: true,
        bounds: Bounds {
            deaths: 1,
            doubles: 0,
            kills: 0,
            passes: 2,
            room: 1,
            steps: 150_000,
            sample: 4,
        },
        goals: &[],
        flaw: Flaw::None,
    }
}

fn install() -> Plan {
    Plan {
        name: "install",
        about: "a first revision that is good comes to two nodes at once",
        settings: AT_ONCE,
        settled: false,
        goals: &[INSTALLED],
        ..base()
    }
}

fn rollback() -> Plan {
    Plan {
        name: "install-update-fail-rollback",
        about: "an update that cannot run comes to two nodes, one after the other",
        script: &[Op::Push("1.0.6")],
        goals: &[ROLLED_BACK, REVERTED],
        ..base()
    }
}

fn delete() -> Plan {
    Plan {
        name: "delete-readd",
        about: "what runs is removed from Git and comes back with another version",
        settings: AT_ONCE,
        script: &[Op::Delete, Op::Push("1.0.1")],
        goals: &[GONE, READDED, INSTALLED],
        ..base()
    }
}

/// The centre may lag behind when the orchestrator is lost.
pub fn replacement() -> Plan {
    Plan {
        name: "replacement",
        about: "the orchestrator is lost with its disk in the middle of an update",
        nodes: &["a"],
        script: &[Op::Push("1.0.1"), Op::Replace],
        prompt: false,
        goals: &[TAKEN_OVER, INSTALLED, UNKNOWN],
        ..base()
    }
}

/// Two messages fit on each line, so that they overtake each other, and one of
/// them arrives twice.
fn doubled() -> Plan {
    Plan {
        name: "update-doubled-and-overtaken",
        about: "messages overtake each other and one arrives twice while an update comes",
        nodes: &["a"],
        script: &[Op::Push("1.0.1")],
        goals: &[INSTALLED],
        bounds: Bounds { doubles: 1, room: 2, ..base().bounds },
        ..base()
    }
}

fn release() -> Plan {
    Plan {
        name: "quarantine-release",
        about: "a quarantined revision is released by an operator, and fails again",
        nodes: &["a"],
        script: &[Op::Push("1.0.8"), Op::Release],
        goals: &[ROLLED_BACK, RELEASED, REVERTED],
        ..base()
    }
}

fn repair() -> Plan {
    Plan {
        name: "kill-and-operator-rollback",
        about: "a container is killed from outside while an operator goes back",
        nodes: &["a"],
        script: &[Op::Push("1.0.1"), Op::Rollback],
        goals: &[ROLLED_BACK],
        bounds: Bounds { kills: 1, ..base().bounds },
        ..base()
    }
}

/// The line to the centre is the subject: everything on it can be lost.
pub fn centre() -> Plan {
    Plan {
        name: "events-and-commands",
        about: "events go up and an operator's command comes down a bad line",
        nodes: &["a"],
        script: &[Op::Push("1.0.8"), Op::Release],
        prompt: false,
        goals: &[ROLLED_BACK],
        ..base()
    }
}
