//! What the events of a site do to the view of it.

pub(in crate::fleet) mod answer;
pub(in crate::fleet) mod batch;
pub(in crate::fleet) mod deployment;
pub(in crate::fleet) mod fold;
pub(in crate::fleet) mod placement;
pub(in crate::fleet) mod projection_writer;
pub(in crate::fleet) mod rollout;
pub(in crate::fleet) mod verdict;
