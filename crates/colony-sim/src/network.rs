//! The queue of events, and a network that loses, duplicates and delays
//! messages.

use std::collections::BTreeSet;

use colony_core::id::DeploymentId;
use colony_core::node::Action;
use colony_world::{ToCentral, ToLocal, ToNode};

use crate::world::World;

/// An event that is due at a virtual time.
#[derive(Debug, Clone)]
pub(crate) enum Happening {
    Chaos,
    /// `again`: one of the node's periodic rounds.
    NodePoll {
        node: usize,
        again: bool,
    },
    NodeLook {
        node: usize,
        again: bool,
    },
    NodeWake {
        node: usize,
        life: u64,
        at: u64,
    },
    EngineDone {
        node: usize,
        life: u64,
        action: Action,
        version: Option<String>,
    },
    LocalSync {
        site: usize,
    },
    LocalWake {
        site: usize,
        life: u64,
        at: u64,
    },
    CentralWork,
    /// CO writes a queued change; Git may have changed since.
    CentralPush {
        number: u64,
    },
    /// Every role answers `why` about every subject.
    Ask,
    /// The node connects to the LO in charge.
    NodeMoves {
        node: usize,
        site: usize,
    },
    /// A node whose disk refused a step starts over.
    NodeReborn {
        node: usize,
        life: u64,
    },
    /// Checks the workloads of a node that booted without a network.
    NodeBooted {
        node: usize,
        life: u64,
        version: Option<u64>,
        ran: BTreeSet<DeploymentId>,
    },
    /// An operator lets an LO join again.
    LocalRejoin {
        site: usize,
    },
    NodeUp {
        node: usize,
    },
    LocalUp {
        site: usize,
    },
    CentralUp,
    ToLocal {
        site: usize,
        message: ToLocal,
    },
    ToNode {
        node: usize,
        message: ToNode,
    },
    ToCentral {
        site: usize,
        message: ToCentral,
    },
}

impl Happening {
    /// A periodic round, which is repeated forever.
    pub(crate) fn is_round(&self) -> bool {
        matches!(
            self,
            Happening::NodePoll { again: true, .. }
                | Happening::NodeLook { again: true, .. }
                | Happening::LocalSync { .. }
                | Happening::CentralWork
                | Happening::Ask
                | Happening::Chaos
        )
    }
}

impl World {
    /// Sends from a node to its LO.
    pub(crate) fn send_up(&mut self, node: usize, message: ToLocal) {
        let site = self.roles.nodes[node].site;
        self.send_near(node, Happening::ToLocal { site, message });
    }

    /// Sends between a node and its LO.
    pub(crate) fn send_near(&mut self, node: usize, happening: Happening) {
        let device = &self.roles.nodes[node];
        let cut = self.now < device.cut_until || self.now < self.roles.sites[device.site].cut_until;
        let unheard = self.now < device.unheard_until && is_report(&happening);
        self.send(cut || unheard, happening);
    }

    /// Sends between a site and CO.
    pub(crate) fn send_far(&mut self, site: usize, happening: Happening) {
        let cut = self.now < self.roles.sites[site].wan_until;
        self.send(cut, happening);
    }

    fn send(&mut self, cut: bool, happening: Happening) {
        if cut || (!self.calm && self.rng.chance(4)) {
            return;
        }
        if !self.calm && self.rng.chance(4) {
            let late = self.rng.range(50..30_000);
            self.after(late, happening.clone());
        }
        let delay = match self.rng.range(0..100) {
            0..90 => self.rng.range(2..40),
            90..98 => self.rng.range(40..1_000),
            _ => self.rng.range(1_000..15_000),
        };
        self.after(delay, happening);
    }
}

fn is_report(happening: &Happening) -> bool {
    matches!(happening, Happening::ToLocal { message: ToLocal::Status { .. }, .. })
}
