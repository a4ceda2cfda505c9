//! The deployments repository: changes on their way into it, and the sites that
//! are woken by its commits.

mod conflict;
mod crash;
pub(crate) mod git_http;
mod hints;
mod queue;
