//! The world around a node in tests: its engine, its manager, its disk, and scripts for them.

pub(in crate::node::tests) mod fake;
pub(in crate::node::tests) mod script;
pub(in crate::node::tests) mod world;
