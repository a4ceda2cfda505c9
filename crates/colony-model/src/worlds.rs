//! The named worlds, and the goals each must be able to reach.

use colony_core::state::State;

use colony_world::Flaw;

use crate::plan::{Bounds, Goal, Op, Plan};

const INSTALLED: Goal = Goal {
    name: "every node runs what Git holds",
    reached: |it| it.all(|at| at == State::Installed) && it.runs_head(),
};
const GONE: Goal = Goal {
    name: "nothing is left after the removal",
    reached: |it| it.local().core.is_ready() && it.local().core.placements().next().is_none(),
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
    reached: |it| it.local().incarnation > 0 && it.local().core.is_ready(),
};
const FENCED: Goal = Goal {
    name: "the former orchestrator hears that it was replaced",
    reached: |it| it.former().is_some_and(|it| it.core.fenced_by().is_some()),
};
const READDED: Goal = Goal {
    name: "it is wanted again while it is removed",
    reached: |it| it.is_spent() && it.any(|at| at == State::Deleting),
};

const AWAITED: Goal =
    Goal { name: "a step is done and waits for an operator", reached: |it| it.awaits_promotion() };

const ABORTED: Goal = Goal {
    name: "an abort is followed everywhere",
    reached: |it| it.aborted && it.is_spent() && it.all(|at| at == State::Installed),
};

const ROLLING: &str = "strategy: {type: rolling, maxUnavailable: 1}";
const AT_ONCE: &str = "strategy: {type: all-at-once}";
const CANARY: &str = "strategy: {type: canary, canary: 1, soak: 10s, promote: manual}";
const BLUE_GREEN: &str = "strategy: {type: blue-green, soak: 10s, promote: manual}";

pub fn plans(quick: bool) -> Vec<Plan> {
    let one = [rollback(), delete(), replacement(), split(), doubled(), release(), install()];
    let two = [repair(), centre(), bad_line(), bad_line_replaced(), canary(), canary_fails()];
    let three = [blue_green(), staged_fails(), staged_aborted(), staged_replaced()];
    let small = [alone(), alone_deaths()];
    let all = one.into_iter().chain(two).chain(three).chain(small);
    all.map(|it| if quick { it.quick() } else { it }).collect()
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
        split: false,
        bounds: Bounds {
            deaths: 1,
            doubles: 0,
            kills: 0,
            passes: 2,
            room: 1,
            far: 1,
            steps: 80_000,
            sample: 8,
        },
        goals: &[],
        ahead: None,
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

/// The central orchestrator may lag behind when the orchestrator is lost.
pub fn replacement() -> Plan {
    Plan {
        name: "replacement",
        about: "the orchestrator is lost with its disk in the middle of an update",
        script: &[Op::Push("1.0.1"), Op::Replace],
        prompt: false,
        goals: &[TAKEN_OVER, INSTALLED, UNKNOWN],
        ..base()
    }
}

/// The former orchestrator cannot be fenced, and some messages of nodes still
/// arrive there.
fn split() -> Plan {
    Plan {
        name: "replaced-and-still-there",
        about: "a replaced orchestrator goes on beside the one that has taken over",
        split: true,
        goals: &[TAKEN_OVER, INSTALLED, FENCED],
        ..replacement()
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
        bounds: Bounds { kills: 1, deaths: 2, ..base().bounds },
        ..base()
    }
}

/// The line to the central orchestrator is the subject: every message on it can
/// be lost.
pub fn centre() -> Plan {
    Plan {
        name: "events-and-commands",
        about: "events go up and an operator's command comes down a bad line",
        nodes: &["a"],
        script: &[Op::Push("1.0.8"), Op::Release],
        prompt: false,
        goals: &[ROLLED_BACK],
        bounds: Bounds { deaths: 2, ..base().bounds },
        ..base()
    }
}

fn canary() -> Plan {
    Plan {
        name: "canary-promoted",
        about: "one of two nodes has the update until an operator promotes it",
        settings: CANARY,
        script: &[Op::Push("1.0.1"), Op::Promote],
        goals: &[AWAITED, INSTALLED],
        ahead: Some(1),
        ..base()
    }
}

fn canary_fails() -> Plan {
    Plan {
        name: "canary-fails",
        about: "the update ends on the first node, and the other never has it",
        settings: CANARY,
        script: &[Op::Push("1.0.6")],
        goals: &[ROLLED_BACK, REVERTED],
        ahead: Some(1),
        ..base()
    }
}

pub fn blue_green() -> Plan {
    Plan {
        name: "blue-green-promoted",
        about: "the update runs beside the old revision until an operator promotes it",
        settings: BLUE_GREEN,
        script: &[Op::Push("1.0.1"), Op::Promote],
        goals: &[AWAITED, INSTALLED],
        ahead: Some(0),
        bounds: Bounds { kills: 1, ..base().bounds },
        ..base()
    }
}

fn staged_fails() -> Plan {
    Plan {
        name: "blue-green-fails",
        about: "the update ends beside the old revision, which runs on",
        settings: BLUE_GREEN,
        script: &[Op::Push("1.0.6")],
        goals: &[ROLLED_BACK, REVERTED],
        ahead: Some(0),
        ..base()
    }
}

/// An operator aborts the revision while it is staged; no node starts it.
fn staged_aborted() -> Plan {
    Plan {
        name: "blue-green-aborted",
        about: "an operator gives the update up while it is staged",
        settings: BLUE_GREEN,
        script: &[Op::Push("1.0.1"), Op::Abort],
        goals: &[AWAITED, ABORTED, REVERTED],
        ahead: Some(0),
        ..base()
    }
}

fn staged_replaced() -> Plan {
    Plan {
        name: "blue-green-replaced",
        about: "the orchestrator is lost with its disk while a staged update is taken over",
        settings: BLUE_GREEN,
        script: &[Op::Push("1.0.1"), Op::Promote, Op::Replace],
        prompt: false,
        goals: &[AWAITED, TAKEN_OVER, INSTALLED],
        ahead: Some(0),
        ..base()
    }
}

/// Batches, answers and commands overtake each other, and one arrives twice.
fn bad_line() -> Plan {
    Plan {
        name: "line-to-central",
        about: "messages of a site and central are lost, doubled and overtaken during an update",
        nodes: &["a"],
        script: &[Op::Push("1.0.6"), Op::Release],
        prompt: false,
        goals: &[ROLLED_BACK, RELEASED],
        bounds: Bounds { doubles: 1, far: 2, ..base().bounds },
        ..base()
    }
}

fn bad_line_replaced() -> Plan {
    Plan {
        name: "line-to-central-replaced",
        about: "the same line while another orchestrator takes over",
        nodes: &["a"],
        script: &[Op::Push("1.0.1"), Op::Replace],
        prompt: false,
        goals: &[TAKEN_OVER, INSTALLED],
        bounds: Bounds { doubles: 1, far: 2, ..base().bounds },
        ..base()
    }
}

/// Small enough to be explored completely.
fn alone() -> Plan {
    Plan {
        name: "alone",
        about: "an update comes to one node",
        nodes: &["a"],
        script: &[Op::Push("1.0.1")],
        goals: &[INSTALLED],
        bounds: Bounds { passes: 1, steps: 5_000_000, ..base().bounds },
        ..base()
    }
}

fn alone_deaths() -> Plan {
    Plan {
        name: "alone-and-mortal",
        about: "an update comes to one node, and two processes die",
        nodes: &["a"],
        script: &[Op::Push("1.0.1")],
        goals: &[INSTALLED],
        bounds: Bounds { passes: 0, deaths: 2, steps: 5_000_000, ..base().bounds },
        ..base()
    }
}
