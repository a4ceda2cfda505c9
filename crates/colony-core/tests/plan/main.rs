//! Plans without a server: what a plan says, and that the site then does it.

mod changes;
mod kit;
mod orders;
mod placement;
mod random;
mod steps;
mod waiting;
