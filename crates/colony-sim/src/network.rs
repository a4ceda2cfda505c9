//! What is said between the roles, over a line that loses, doubles and delays.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::event::{Event, Incarnation, Seq};
use colony_core::id::DeploymentId;
use colony_core::node::Action;
use colony_core::site::{Asks, Command, Have};
use colony_core::why::AnswerUpdate;
use colony_margo::{DeploymentStatus, Digest};

use crate::answers::AnswersReply;
use crate::engine::Subject;
use crate::world::World;

/// Something that is due at a virtual time.
#[derive(Debug, Clone)]
pub(crate) enum Happening {
    Chaos,
    /// `again`: one of the rounds the node makes by itself.
    EdgePoll {
        node: usize,
        again: bool,
    },
    EdgeLook {
        node: usize,
        again: bool,
    },
    EdgeWake {
        node: usize,
        life: u64,
        at: u64,
    },
    EngineDone {
        node: usize,
        life: u64,
        action: Action,
        subject: Option<Subject>,
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
    /// CO writes a change of its queue; Git may have moved since.
    CentralPush {
        number: u64,
    },
    /// Somebody asks everybody why things are as they are.
    Ask,
    /// The node finds the LO that is in charge.
    EdgeMoves {
        node: usize,
        site: usize,
    },
    /// A node whose disk refused a step begins anew.
    EdgeReborn {
        node: usize,
        life: u64,
    },
    /// What a node that booted without a network must run by now.
    EdgeBooted {
        node: usize,
        life: u64,
        version: Option<u64>,
        ran: BTreeSet<DeploymentId>,
    },
    /// An operator invites an LO again.
    LocalRejoin {
        site: usize,
    },
    EdgeUp {
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
    ToEdge {
        node: usize,
        message: ToEdge,
    },
    ToCentral {
        site: usize,
        message: ToCentral,
    },
}

impl Happening {
    /// One of the rounds everybody makes for ever.
    pub(crate) fn is_round(&self) -> bool {
        matches!(
            self,
            Happening::EdgePoll { again: true, .. }
                | Happening::EdgeLook { again: true, .. }
                | Happening::LocalSync { .. }
                | Happening::CentralWork
                | Happening::Ask
                | Happening::Chaos
        )
    }
}

#[derive(Debug, Clone)]
pub(crate) enum ToLocal {
    Poll { node: usize, have: Option<Have> },
    Status { node: usize, status: Box<DeploymentStatus> },
    Capabilities { node: usize },
    EventsTaken { incarnation: Incarnation, next: Seq, answers: Option<AnswersReply> },
    Diverged { incarnation: Incarnation },
    Fenced { by: Incarnation },
    Commands(Vec<Command>),
}

#[derive(Debug, Clone)]
pub(crate) enum ToEdge {
    Manifest { bytes: Vec<u8>, etag: Digest, documents: BTreeMap<Digest, Vec<u8>> },
    Asked(Asks),
    StatusTaken { deployment: DeploymentId, report: u64 },
    CapabilitiesTaken,
}

#[derive(Debug, Clone)]
pub(crate) enum ToCentral {
    Events { incarnation: Incarnation, events: Vec<Event>, answers: Option<Box<AnswerUpdate>> },
    CommandsPlease { incarnation: Incarnation, done: u64 },
}

impl World {
    /// Between a node and its LO.
    pub(crate) fn send_near(&mut self, node: usize, happening: Happening) {
        let edge = &self.nodes[node];
        let cut = self.now < edge.cut_until || self.now < self.sites[edge.site].cut_until;
        let unheard = self.now < edge.unheard_until && is_report(&happening);
        self.send(cut || unheard, happening);
    }

    /// Between a site and CO.
    pub(crate) fn send_far(&mut self, site: usize, happening: Happening) {
        let cut = self.now < self.sites[site].wan_until;
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
