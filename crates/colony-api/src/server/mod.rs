//! The operator API that both orchestrators serve alike: questions about the
//! fleet, and orders to its sites.
//!
//! An orchestrator implements `ReadApi`: which callers it accepts, and how it
//! takes a snapshot of its fleet; and `OrderApi`: how orders become effective.
//! The central orchestrator queues them, a local one executes them. Everything
//! else is here: parsing, the choice of sites, refusals and answers.

mod log;
mod names;
mod operations;
mod order;
mod order_sentence;
mod order_targets;
mod question;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use colony_core::fleet::Fleet;
use colony_core::id::{DeploymentName, SiteName};
use colony_core::margo::Problem;
use serde::de::DeserializeOwned;

pub use log::*;
pub use operations::Operations;
pub use order::*;
pub use order_targets::{Issued, Orders};
pub use question::*;

use crate::render::{About, Context};
use crate::request::{EventQuery, LogsQuery};
use crate::site::LogAnswer;

/// Every question and order that both orchestrators serve.
pub fn operations<Q: OrderApi>() -> Operations<Q> {
    crate::operations![for Q:
        status, fleet_why,
        site_list, site_show, site_why, site_hold, site_release,
        node_list, node_show, node_why, node_cordon, node_uncordon, node_retire,
        deployment_list, deployment_show, deployment_why, deployment_logs,
        deployment_hold, deployment_release, deployment_retry, quarantine_release,
        deployment_promote, deployment_pause, deployment_resume, deployment_abort,
        events,
    ]
}

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

    /// The fleet at this moment.
    fn fleet(&self) -> impl Future<Output = Result<Arc<Fleet>, Self::Error>> + Send;

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

    /// Fetches the lines that the query selects from a node.
    fn log(
        &self,
        target: LogTarget,
        query: LogsQuery,
    ) -> impl Future<Output = Result<LogAnswer, Self::Error>> + Send;

    /// A page or a stream of the orchestrator's own log. The site of the query
    /// exists.
    fn events(
        &self,
        caller: &Self::Caller,
        query: EventQuery,
        headers: &HeaderMap,
    ) -> impl Future<Output = Result<Response, Self::Error>> + Send;
}

/// An orchestrator that accepts orders.
pub trait OrderApi: ReadApi {
    /// Refuses a caller that may not give orders to this site.
    fn may_order(&self, caller: &Self::Caller, site: &SiteName) -> Result<(), Self::Error>;

    /// Reads the body of a request.
    fn json<T: DeserializeOwned + Send>(
        &self,
        request: Request,
    ) -> impl Future<Output = Result<T, Self::Error>> + Send;

    /// Executes the orders, or stores them for their sites.
    fn issue(
        &self,
        caller: &Self::Caller,
        orders: &Orders,
    ) -> impl Future<Output = Result<Issued, Self::Error>> + Send;
}

/// Whether the caller may view a site.
fn sees<Q: ReadApi>(app: &Q, caller: &Q::Caller) -> impl Fn(&SiteName) -> bool {
    |site| app.may_view(caller, site).is_ok()
}
