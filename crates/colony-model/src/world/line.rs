//! The lines between the roles.
//!
//! A line holds few messages. Any of them may arrive next, a message may arrive
//! twice, and one that exceeds the room of the line replaces the oldest, which
//! is lost.

use std::sync::Arc;

use colony_core::event::{Event, Seq};
use colony_world::{ToCentral, ToLocal, ToNode};

use crate::digest::print::hash;

/// A message with its digest.
#[derive(Debug)]
pub(crate) struct Letter<T> {
    pub(crate) print: u64,
    pub(crate) text: T,
}

/// A type of message.
pub(crate) trait Message {
    fn digest(&self) -> u64;
}

impl Message for ToLocal {
    fn digest(&self) -> u64 {
        match self {
            ToLocal::Capabilities { .. } => hash(1),
            ToLocal::Poll { have, .. } => hash((2, have.map(|it| (it.version, it.etag)))),
            ToLocal::Status { status, .. } => hash((3, format!("{status:?}"))),
            ToLocal::EventsTaken { incarnation, next, .. } => hash((4, incarnation, next)),
            ToLocal::Diverged { incarnation } => hash((5, incarnation)),
            ToLocal::Fenced { by } => hash((6, by)),
            ToLocal::Commands(commands) => {
                let numbers: Vec<Option<u64>> = commands.iter().map(|it| it.number).collect();
                hash((7, numbers))
            }
        }
    }
}

impl Message for ToNode {
    fn digest(&self) -> u64 {
        match self {
            ToNode::Answer { manifest, asks } => {
                let manifest = manifest.as_ref().map(|it| (it.version, it.etag));
                hash((1, manifest, asks.as_ref().map(|it| (it.capabilities, &it.deployments))))
            }
            ToNode::StatusTaken { deployment, report } => hash((2, deployment, report)),
            ToNode::CapabilitiesTaken => hash(3),
        }
    }
}

impl Message for ToCentral {
    fn digest(&self) -> u64 {
        match self {
            ToCentral::Events { incarnation, events, .. } => {
                hash((1, incarnation, first(events), events.len()))
            }
            ToCentral::CommandsPlease { incarnation, done } => hash((2, incarnation, done)),
        }
    }
}

/// The first event of a batch; an empty log begins with event 1.
pub(crate) fn first(events: &[Arc<Event>]) -> Seq {
    events.first().map_or(1, |it| it.seq)
}

/// Messages on a line, oldest first.
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
    /// Sends a message, unless an equal one is on the line. `true` if the
    /// oldest message is lost for it.
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

    /// Takes a message off the line, or a copy of it if `keep`.
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
