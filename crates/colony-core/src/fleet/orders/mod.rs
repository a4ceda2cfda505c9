//! Orders and changes of central, until a site has accepted them.

pub(in crate::fleet) mod command;
pub(in crate::fleet) mod deletion;
pub(in crate::fleet) mod order_state;
pub(in crate::fleet) mod target;
