//! What is said between the roles, and the lines it travels on.
//!
//! A line keeps few messages. Any of them may arrive next, a message may arrive
//! twice, and one that does not fit any more pushes the oldest out: it is lost.

use std::sync::Arc;

use colony_core::event::{Event, Incarnation, Seq};
use colony_core::id::DeploymentId;
use colony_core::site::{Asks, Command, Have};
use colony_margo::{DeploymentStatus, Digest};

use crate::print::hash;

/// From a node to its orchestrator.
#[derive(Debug)]
pub(crate) enum Up {
    /// Here I am, and this is what I can do.
    Hello,
    Poll {
        have: Option<Have>,
    },
    Report(Box<DeploymentStatus>),
}

/// From an orchestrator to a node.
#[derive(Debug)]
pub(crate) enum Down {
    Answer { sheet: Option<Sheet>, asks: Asks },
    Taken { deployment: DeploymentId, report: u64 },
}

/// A manifest with its documents.
#[derive(Debug)]
pub(crate) struct Sheet {
    pub(crate) version: u64,
    pub(crate) etag: Digest,
    pub(crate) bytes: Vec<u8>,
    pub(crate) documents: Vec<(DeploymentId, Digest, Vec<u8>)>,
}

/// From a site to the centre.
#[derive(Debug)]
pub(crate) enum Out {
    Events { incarnation: Incarnation, from: Seq, events: Vec<Arc<Event>> },
    CommandsPlease,
}

/// From the centre to a site.
#[derive(Debug)]
pub(crate) enum Back {
    Taken { incarnation: Incarnation, next: Seq },
    Fenced { by: Incarnation },
    Commands(Vec<Command>),
}

/// A message with the digest it is known by.
#[derive(Debug)]
pub(crate) struct Letter<T> {
    pub(crate) print: u64,
    pub(crate) text: T,
}

impl Up {
    fn print(&self) -> u64 {
        match self {
            Up::Hello => hash(1),
            Up::Poll { have } => hash((2, have.map(|it| (it.version, it.etag)))),
            Up::Report(status) => hash((3, format!("{status:?}"))),
        }
    }
}

impl Down {
    fn print(&self) -> u64 {
        match self {
            Down::Answer { sheet, asks } => {
                let sheet = sheet.as_ref().map(|it| (it.version, it.etag));
                hash((4, sheet, asks.capabilities, &asks.deployments))
            }
            Down::Taken { deployment, report } => hash((5, deployment, report)),
        }
    }
}

impl Out {
    fn print(&self) -> u64 {
        match self {
            Out::Events { incarnation, from, events } => hash((6, incarnation, from, events.len())),
            Out::CommandsPlease => hash(7),
        }
    }
}

impl Back {
    fn print(&self) -> u64 {
        match self {
            Back::Taken { incarnation, next } => hash((8, incarnation, next)),
            Back::Fenced { by } => hash((9, by)),
            Back::Commands(commands) => {
                let numbers: Vec<Option<u64>> = commands.iter().map(|it| it.number).collect();
                hash((10, numbers))
            }
        }
    }
}

/// Something that can be sent.
pub(crate) trait Message {
    fn digest(&self) -> u64;
}

macro_rules! messages {
    ($($kind:ident)*) => {
        $(impl Message for $kind {
            fn digest(&self) -> u64 {
                self.print()
            }
        })*
    };
}
messages! { Up Down Out Back }

/// Messages under way, oldest first.
#[derive(Debug)]
pub(crate) struct Line<T> {
    letters: Vec<Arc<Letter<T>>>,
}

impl<T> Clone for Line<T> {
    fn clone(&self) -> Line<T> {
        Line { letters: self.letters.clone() }
    }
}

impl<T> Default for Line<T> {
    fn default() -> Line<T> {
        Line { letters: Vec::new() }
    }
}

impl<T: Message> Line<T> {
    /// Sends; what is under way already is not doubled by that. `true` if another
    /// message is lost for it.
    pub(crate) fn send(&mut self, text: T, room: usize) -> bool {
        let print = text.digest();
        if self.letters.iter().any(|it| it.print == print) {
            return false;
        }
        let full = self.letters.len() >= room;
        if full {
            self.letters.remove(0);
        }
        self.letters.push(Arc::new(Letter { print, text }));
        full
    }
}

impl<T> Line<T> {
    pub(crate) fn len(&self) -> usize {
        self.letters.len()
    }

    /// Takes a message off the line, or a copy of it.
    pub(crate) fn take(&mut self, index: usize, keep: bool) -> Option<Arc<Letter<T>>> {
        let letter = self.letters.get(index)?.clone();
        if !keep {
            self.letters.remove(index);
        }
        Some(letter)
    }

    pub(crate) fn clear(&mut self) {
        self.letters.clear();
    }

    pub(crate) fn prints(&self) -> Vec<u64> {
        self.letters.iter().map(|it| it.print).collect()
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &T> {
        self.letters.iter().map(|it| &it.text)
    }
}
