//! Questions: every read request about the fleet, served alike by both
//! orchestrators.
//!
//! An orchestrator implements `ReadApi`: which callers it accepts, and how it
//! takes a snapshot of its fleet. The handlers parse, take the snapshot and
//! render. Orders are not here: the central orchestrator queues them, a local
//! one executes them.

mod handler;

use std::future::Future;

use axum::extract::FromRequestParts;
use axum::response::IntoResponse;
use colony_core::fleet::Fleet;
use colony_core::id::{DeploymentName, SiteName};
use colony_core::margo::Problem;

pub use handler::*;

use crate::render::{About, Context};

/// The part of the fleet that a question is about.
#[derive(Debug, Clone)]
pub enum Scope {
    Fleet,
    /// The fleet, and the files in Git that no site reads.
    Status,
    Deployment(DeploymentName),
}

/// An orchestrator that serves questions.
pub trait ReadApi: Clone + Send + Sync + 'static {
    /// The caller, authenticated by the request.
    type Caller: FromRequestParts<Self, Rejection = Self::Error> + Send + Sync;
    type Error: From<Problem> + IntoResponse + Send;

    /// Refuses a caller that may not view this site.
    fn may_view(&self, caller: &Self::Caller, site: &SiteName) -> Result<(), Self::Error>;

    /// Renders one snapshot of the fleet, limited to what the caller may see.
    fn look<T: Send>(
        &self,
        caller: &Self::Caller,
        scope: Scope,
        render: impl FnOnce(&Fleet, &Context<'_>) -> T + Send,
    ) -> impl Future<Output = Result<T, Self::Error>> + Send;

    /// Changes whenever a list may have changed, except for ages in sentences;
    /// `None` if lists are always sent.
    fn list_version(&self) -> impl Future<Output = Option<String>> + Send;

    /// The orchestrator's description of itself.
    fn about(&self) -> impl Future<Output = About> + Send;
}
