//! The measurements: each file takes one and prints its table.

pub(crate) mod command;
pub(crate) mod deploy;
pub(crate) mod memory;
pub(crate) mod push;
pub(crate) mod ready;
pub(crate) mod sites;
pub(crate) mod trace;
pub(crate) mod update;
