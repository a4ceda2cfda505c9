//! The fleet core, fed with the logs of real sites.

mod kit;
mod memory;
mod order;
mod projection;
mod replacement;
mod rollback;
mod status;
mod story;
mod told;
mod untrusted;
mod why;
