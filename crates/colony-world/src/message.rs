//! The messages between the roles.

use std::sync::Arc;

use colony_core::event::{Event, Incarnation, Seq};
use colony_core::fleet::AnswersTaken;
use colony_core::id::DeploymentId;
use colony_core::margo::DeploymentStatus;
use colony_core::site::{Command, Have, NodeManifest, ReportRequests};
use colony_core::why::AnswerUpdate;

/// To a local orchestrator, from a node or from the central orchestrator.
#[derive(Debug, Clone)]
pub enum ToLocal {
    Poll { node: usize, have: Option<Have> },
    Status { node: usize, status: Box<DeploymentStatus> },
    Capabilities { node: usize },
    EventsTaken { incarnation: Incarnation, next: Seq, answers: Option<AnswersReply> },
    Diverged { incarnation: Incarnation },
    Fenced { by: Incarnation },
    Commands(Vec<Command>),
}

/// To a node.
#[derive(Debug, Clone)]
pub enum ToNode {
    /// The answer to a poll; without a manifest if the node has the present one.
    Answer {
        manifest: Option<Arc<NodeManifest>>,
        asks: Option<ReportRequests>,
    },
    StatusTaken {
        deployment: DeploymentId,
        report: u64,
    },
    CapabilitiesTaken,
}

/// To the central orchestrator.
#[derive(Debug, Clone)]
pub enum ToCentral {
    Events { incarnation: Incarnation, events: Vec<Arc<Event>>, answers: Option<Box<AnswerUpdate>> },
    CommandsPlease { incarnation: Incarnation, done: u64 },
}

/// The reply of the central orchestrator to an update of answers.
#[derive(Debug, Clone, Copy)]
pub struct AnswersReply {
    pub session: u64,
    pub number: u64,
    pub taken: AnswersTaken,
}
