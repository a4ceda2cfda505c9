//! Orders and changes of central, until a site has accepted them.

pub(in crate::fleet) mod central_change;
pub(in crate::fleet) mod command;
pub(in crate::fleet) mod deletion;
pub(in crate::fleet) mod order_state;
