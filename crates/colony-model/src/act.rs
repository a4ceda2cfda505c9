//! What can happen next in a world.

use crate::fate::Fate;
use crate::plan::Op;
use crate::world::World;

/// One thing that happens, and who dies in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Act {
    pub(crate) kind: Kind,
    pub(crate) fate: Option<Fate>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Operate,
    Fetch,
    /// A process that died begins again.
    Begin(Who),
    /// A new orchestrator asks the centre what there is.
    Seed,
    Poll(usize),
    /// A node sends the reports nobody has acknowledged.
    Report(usize),
    /// A message on a line arrives.
    Arrive {
        line: Way,
        index: usize,
        how: How,
    },
    Engine {
        node: usize,
        index: usize,
    },
    PowerCut {
        node: usize,
        finished: bool,
    },
    Kill(usize),
    /// A site sends its events.
    Send,
    /// A site asks for commands.
    Ask,
    Revert,
    FormerFetch,
    FormerHears {
        node: usize,
        index: usize,
    },
    FormerFenced,
    /// Time passes to the next timer of anybody.
    Pass,
}

/// Which process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Local,
    Former,
    Node(usize),
}

/// Which line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Up(usize),
    Down(usize),
    Out,
    Back,
}

/// How a message arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Once,
    /// Another copy of it is still under way.
    Twice,
}

impl Act {
    /// Nobody dies.
    pub(crate) fn plain(kind: Kind) -> Act {
        Act { kind, fate: None }
    }
}

impl Kind {
    /// Somebody may have something to persist.
    pub(crate) fn steps(&self) -> bool {
        match self {
            Kind::Operate
            | Kind::Fetch
            | Kind::Begin(_)
            | Kind::Seed
            | Kind::Arrive { .. }
            | Kind::Engine { .. }
            | Kind::Revert
            | Kind::FormerFetch
            | Kind::FormerHears { .. }
            | Kind::FormerFenced
            | Kind::Pass => true,
            Kind::Poll(_)
            | Kind::Report(_)
            | Kind::PowerCut { .. }
            | Kind::Kill(_)
            | Kind::Send
            | Kind::Ask => false,
        }
    }
}

impl World {
    /// Everything that can happen.
    pub(crate) fn choices(&self, acts: &mut Vec<Act>) {
        if self.broken.is_some() {
            return;
        }
        let mut add = |kind: Kind| self.ways(kind, acts);
        if self.plan.script.get(self.done).is_some_and(|it| self.makes_sense(*it)) {
            add(Kind::Operate);
        }
        self.site_choices(&mut add);
        if self.may_revert() {
            add(Kind::Revert);
        }
        self.former_choices(&mut add);
        arrivals(self, Way::Out, self.out.len(), &mut add);
        for node in 0..self.nodes.len() {
            self.node_choices(node, &mut add);
        }
        if self.left.passes > 0 && self.next_timer().is_some() {
            add(Kind::Pass);
        }
    }

    fn site_choices(&self, add: &mut impl FnMut(Kind)) {
        if !self.local.up {
            return add(Kind::Begin(Who::Local));
        }
        if self.lacks_seed() {
            add(Kind::Seed);
        } else if self.local.core.git() != Some(&self.git.head()) {
            add(Kind::Fetch);
        }
        if !self.is_prompt() {
            if self.local_news().is_some() {
                add(Kind::Send);
            }
            if !self.central.core.commands_open(&self.site).is_empty() {
                add(Kind::Ask);
            }
        }
        arrivals(self, Way::Back, self.back.len(), add);
        for node in 0..self.nodes.len() {
            arrivals(self, Way::Up(node), self.up[node].len(), add);
        }
    }

    fn node_choices(&self, node: usize, add: &mut impl FnMut(Kind)) {
        if self.left.kills > 0 {
            add(Kind::Kill(node));
        }
        if !self.nodes[node].up {
            return add(Kind::Begin(Who::Node(node)));
        }
        add(Kind::Poll(node));
        add(Kind::Report(node));
        arrivals(self, Way::Down(node), self.down[node].len(), add);
        (0..self.nodes[node].doing.len()).for_each(|index| add(Kind::Engine { node, index }));
        if self.left.deaths > 0 && !self.nodes[node].doing.is_empty() {
            add(Kind::PowerCut { node, finished: false });
            add(Kind::PowerCut { node, finished: true });
        }
    }

    /// What cannot be asked for is not: there is nothing to release or to leave.
    pub(crate) fn makes_sense(&self, op: Op) -> bool {
        let heard = !self.is_prompt() || self.local.up;
        match op {
            Op::Push(_) | Op::Delete | Op::Replace => true,
            Op::Release => heard && self.is_quarantined(),
            Op::Promote => heard && self.awaits_promotion(),
            Op::Abort => heard && self.is_under_way(),
            Op::Rollback => heard && self.local.core.git() == Some(&self.git.head()),
        }
    }
}

fn arrivals(world: &World, line: Way, count: usize, add: &mut impl FnMut(Kind)) {
    for index in 0..count {
        add(Kind::Arrive { line, index, how: How::Once });
        if world.left.doubles > 0 {
            add(Kind::Arrive { line, index, how: How::Twice });
        }
    }
}
