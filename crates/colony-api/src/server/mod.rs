//! Every question about the fleet, answered alike by both orchestrators.
//!
//! An orchestrator implements `Questions`: whom it lets ask, and how it looks at
//! its fleet once. The handlers parse, look and render. Orders are not here: the
//! central orchestrator queues them, a local one executes them.

mod handler;

use std::future::Future;

use axum::extract::FromRequestParts;
use axum::response::IntoResponse;
use colony_core::fleet::Fleet;
use colony_core::id::{DeploymentName, SiteName};
use colony_margo::Problem;

pub use handler::*;

use crate::render::{About, Context};

/// Which part of the fleet a question is about.
#[derive(Debug, Clone)]
pub enum Scope {
    Fleet,
    /// The fleet, and what lies in Git that no site reads.
    Status,
    Deployment(DeploymentName),
}

/// An orchestrator that can be asked.
pub trait Questions: Clone + Send + Sync + 'static {
    /// The caller, as the request proves it.
    type Caller: FromRequestParts<Self, Rejection = Self::Error> + Send + Sync;
    type Error: From<Problem> + IntoResponse + Send;

    /// Refuses a caller that may not look at this site.
    fn may_view(&self, caller: &Self::Caller, site: &SiteName) -> Result<(), Self::Error>;

    /// Looks at the fleet once and renders what the caller may see of it.
    fn look<T: Send>(
        &self,
        caller: &Self::Caller,
        scope: Scope,
        render: impl FnOnce(&Fleet, &Context<'_>) -> T + Send,
    ) -> impl Future<Output = Result<T, Self::Error>> + Send;

    /// Changes whenever a list may have changed, but for ages in sentences;
    /// `None` if lists are always sent.
    fn list_version(&self) -> impl Future<Output = Option<String>> + Send;

    /// What the orchestrator says of itself.
    fn about(&self) -> impl Future<Output = About> + Send;
}
