//! What outlives the process: the rows of the store, and the seed of a new orchestrator.

pub(in crate::site) mod row;
pub(in crate::site) mod seed;
