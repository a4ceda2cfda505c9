//! The acts that can happen next in a world.

use crate::plan::Op;
use crate::world::World;
use crate::world::fate::Fate;

/// One act, and the process that dies in it, if any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Act {
    pub(crate) kind: Kind,
    pub(crate) fate: Option<Fate>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Operate,
    Fetch,
    /// A process that died starts again.
    Begin(RoleProcess),
    /// A fresh orchestrator requests its seed from the central orchestrator.
    Seed,
    Poll(usize),
    /// A node sends its unacknowledged reports.
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
    /// A site requests commands.
    Ask,
    Revert,
    FormerFetch,
    FormerHears {
        node: usize,
        index: usize,
    },
    FormerFenced,
    /// Time passes to the next timer of any role.
    Pass,
}

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoleProcess {
    Local,
    Former,
    Node(usize),
}

/// A line between two roles.
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
    /// Another copy of it is still on the line.
    Twice,
}

impl Act {
    /// An act in which no process dies.
    pub(crate) fn plain(kind: Kind) -> Act {
        Act { kind, fate: None }
    }
}

impl Kind {
    /// Whether a role may have something to persist.
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
    /// Every act that can happen.
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
        for node in 0..self.roles.nodes.len() {
            self.node_choices(node, &mut add);
        }
        if self.left.passes > 0 && self.next_timer().is_some() {
            add(Kind::Pass);
        }
    }

    fn site_choices(&self, add: &mut impl FnMut(Kind)) {
        if !self.local().process.up {
            return add(Kind::Begin(RoleProcess::Local));
        }
        if self.lacks_seed() {
            add(Kind::Seed);
        } else if self.local().core.git() != Some(self.roles.git.head()) {
            add(Kind::Fetch);
        }
        if !self.is_prompt() {
            if self.has_news() {
                add(Kind::Send);
            }
            if !self.roles.central.core.commands_open(&self.site).is_empty() {
                add(Kind::Ask);
            }
        }
        arrivals(self, Way::Back, self.back.len(), add);
        for node in 0..self.roles.nodes.len() {
            arrivals(self, Way::Up(node), self.up[node].len(), add);
        }
    }

    fn node_choices(&self, node: usize, add: &mut impl FnMut(Kind)) {
        if self.left.kills > 0 {
            add(Kind::Kill(node));
        }
        if !self.roles.nodes[node].process.up {
            return add(Kind::Begin(RoleProcess::Node(node)));
        }
        add(Kind::Poll(node));
        add(Kind::Report(node));
        arrivals(self, Way::Down(node), self.down[node].len(), add);
        (0..self.doing[node].len()).for_each(|index| add(Kind::Engine { node, index }));
        if self.left.deaths > 0 && !self.doing[node].is_empty() {
            add(Kind::PowerCut { node, finished: false });
            add(Kind::PowerCut { node, finished: true });
        }
    }

    /// An operation without a subject is skipped, such as a release without a
    /// quarantine.
    pub(crate) fn makes_sense(&self, op: Op) -> bool {
        let heard = !self.is_prompt() || self.local().process.up;
        match op {
            Op::Push(_) | Op::Delete | Op::Replace => true,
            Op::Release => heard && self.is_quarantined(),
            Op::Promote => heard && self.awaits_promotion(),
            Op::Abort => heard && self.is_rolling_out(),
            Op::Rollback => heard && self.local().core.git() == Some(self.roles.git.head()),
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
