//! Containers of a component, from the service in its compose file to their
//! removal.

mod configs;
mod make;
mod order;
mod remove;
mod stage;
mod start;
mod twice;
mod wait;
pub(crate) mod work;
