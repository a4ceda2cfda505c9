//! The rows of the projection, and the seed of a new orchestrator of a site.

pub(in crate::fleet) mod row;
pub(in crate::fleet) mod seed;
