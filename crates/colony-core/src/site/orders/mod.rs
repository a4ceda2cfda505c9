//! Orders of central and of operators: what they change, and whether the state allows them.

pub(in crate::site) mod command;
pub(in crate::site) mod order_state;
pub(in crate::site) mod placement_order;
pub(in crate::site) mod rollout_order;
