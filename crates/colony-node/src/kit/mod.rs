//! Parts of a node for unit tests: its settings, and a site that answers it.

pub(crate) mod sample;
pub(crate) mod stand_in;
