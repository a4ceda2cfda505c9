//! todo
use crate::asks::{Asks, LogAnswer};
use crate::identity::SpiffeId;
use crate::join::Joined;
use async_trait::async_trait;
use axum::response::{IntoResponse, Response};
use colony_margo::{Capabilities, DeploymentStatus, DeviceId, Digest, Problem};
use std::sync::Arc;

/// What a manager does behind the interface. `client` is always the name that
/// `accepts` gave for the certificate of the connection.
#[async_trait]
pub trait Manager: Send + Sync + 'static {
    /// Whether somebody with this id may call, and under which name. Called
    /// once for each request, when it arrives.
    fn accepts(&self, id: &SpiffeId) -> Result<String, Problem>;

    /// The manifest of the client, at once.
    async fn manifest(&self, client: &str, have: Have) -> Result<Held, Problem>;

    /// Resolves when `manifest` may answer otherwise or there is something to
    /// ask, counted from the first time the future was polled.
    async fn changed(&self, client: &str);

    async fn document(&self, client: &str, id: &str, digest: &Digest) -> Result<Vec<u8>, Problem>;

    async fn bundle(&self, client: &str, digest: &Digest) -> Result<Vec<u8>, Problem>;

    /// Keeps the capabilities of a device; true if it was not known before.
    async fn capabilities_put(
        &self,
        client: &str,
        device: DeviceId,
        body: Capabilities,
    ) -> Result<bool, Problem>;

    async fn capabilities_delete(&self, client: &str, device: DeviceId) -> Result<(), Problem>;

    async fn status(&self, client: &str, status: DeploymentStatus) -> Result<(), Problem>;

    async fn logs(&self, client: &str, request: &str, answer: LogAnswer) -> Result<(), Problem>;

    async fn renew(&self, client: &str, csr: &str) -> Result<Joined, Problem>;
}

/// What a client has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Have {
    /// Without its quotes.
    pub etag: Option<String>,
    /// The manifest version it has adopted.
    pub version: Option<u64>,
}

/// What a manager holds for a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub bytes: Vec<u8>,
    pub etag: Digest,
    pub asks: Asks,
}

/// The Margo interface over a manager.
pub fn router(_manager: Arc<dyn Manager>) -> axum::Router {
    todo!()
}

/// A problem as an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub Problem);

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Refusal {
        Refusal(problem)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        todo!()
    }
}
