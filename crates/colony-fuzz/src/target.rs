//! What a target is, and all of them.

use crate::Outcome;
use crate::targets;

/// One reader with the properties it must keep.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// `<crate>_<reader>`; also the name of its corpus folder.
    pub name: &'static str,
    pub shape: Shape,
    /// Words that mean something to the reader.
    pub words: &'static [&'static str],
    /// Mebibytes the reader may hold for the smallest input.
    pub memory: usize,
    pub run: fn(&[u8]) -> Outcome,
}

/// What inputs look like, which decides how they are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Json,
    Yaml,
    /// Lines or a single line of text.
    Text,
    Bytes,
}

/// What most readers get by with.
const MEMORY: usize = 48;

impl Target {
    pub(crate) const fn new(
        name: &'static str,
        shape: Shape,
        words: &'static [&'static str],
        run: fn(&[u8]) -> Outcome,
    ) -> Target {
        Target { name, shape, words, memory: MEMORY, run }
    }

    /// The same, for a reader that has to hold more.
    pub(crate) const fn holding(self, memory: usize) -> Target {
        Target { memory, ..self }
    }

    /// The most bytes a reader may hold at once for an input of this length.
    pub fn allowance(&self, length: usize) -> usize {
        (self.memory << 20) + 64 * length
    }
}

/// All targets, crate by crate.
pub fn all() -> Vec<Target> {
    targets::ALL.concat()
}

/// The target of this name.
pub fn find(name: &str) -> Option<Target> {
    all().into_iter().find(|it| it.name == name)
}
