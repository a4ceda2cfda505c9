//! The targets, one folder per crate they look at.

#[cfg(feature = "adapters")]
mod api;
#[cfg(feature = "central")]
mod central;
#[cfg(feature = "adapters")]
mod cli;
mod core;
#[cfg(feature = "adapters")]
mod git;
mod margo;
#[cfg(feature = "adapters")]
mod runtime;
#[cfg(feature = "adapters")]
mod wfm;

use crate::Target;

pub(crate) const ALL: &[&[Target]] = &[
    margo::TARGETS,
    core::TARGETS,
    #[cfg(feature = "adapters")]
    runtime::TARGETS,
    #[cfg(feature = "adapters")]
    wfm::TARGETS,
    #[cfg(feature = "adapters")]
    git::TARGETS,
    #[cfg(feature = "adapters")]
    api::TARGETS,
    #[cfg(feature = "adapters")]
    cli::TARGETS,
    #[cfg(feature = "central")]
    central::TARGETS,
];
