//! The point within an act at which a process dies.
//!
//! An act is a chain of steps: of an orchestrator that receives a message, of
//! the central orchestrator that receives its events at once, of a node that
//! looks at its engine. A process may die in each of them: before it has
//! persisted, or after that and before it has sent or started anything.

use crate::world::World;
use crate::world::act::{Act, Kind};

/// Whether and where a process dies within a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Die {
    Never,
    /// The step is lost.
    BeforePersist,
    /// The step is on disk, but no answer was sent and no action started.
    BeforeAct,
}

/// The step of an act that dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fate {
    /// The number of steps of the act that succeed before.
    after: u32,
    die: Die,
}

/// The steps of an act so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trail {
    steps: u32,
    /// One bit for each step that had something to write.
    wrote: u64,
    fate: Option<Fate>,
    /// The process dies after the transaction that was just stored.
    pub(crate) dying: bool,
    /// Only counts the steps.
    pub(crate) dry: bool,
}

impl Trail {
    pub(crate) fn of(fate: Option<Fate>) -> Trail {
        Trail { fate, ..Trail::default() }
    }

    /// Every possible death in these steps. In a step without a write, there is
    /// no difference between before and after it.
    fn fates(self) -> impl Iterator<Item = Fate> {
        (0..self.steps.min(u64::BITS)).flat_map(move |after| {
            let wrote = self.wrote & (1 << after) != 0;
            let early = wrote.then_some(Fate { after, die: Die::BeforePersist });
            early.into_iter().chain([Fate { after, die: Die::BeforeAct }])
        })
    }
}

impl World {
    /// The fate of the next step; `writes` if it has something to persist.
    pub(crate) fn fated(&mut self, writes: bool) -> Die {
        let at = self.trail.steps;
        self.trail.steps += 1;
        if at < u64::BITS {
            self.trail.wrote |= u64::from(writes) << at;
        }
        let Some(fate) = self.trail.fate.filter(|it| it.after == at) else { return Die::Never };
        self.left.deaths = self.left.deaths.saturating_sub(1);
        fate.die
    }

    /// The variants of `kind`: without a death, and with a death in any step.
    pub(crate) fn ways(&self, kind: Kind, acts: &mut Vec<Act>) {
        let trail = if self.left.deaths > 0 && kind.steps() {
            self.trail_of(&kind)
        } else {
            Trail::default()
        };
        let fates = std::iter::once(None).chain(trail.fates().map(Some));
        acts.extend(fates.map(|fate| Act { kind: kind.clone(), fate }));
    }

    /// Runs the act on a copy and counts its steps.
    fn trail_of(&self, kind: &Kind) -> Trail {
        let mut dry = self.clone();
        dry.trail = Trail { dry: true, ..Trail::default() };
        dry.run(kind);
        dry.trail
    }
}
