//! The execution node.
