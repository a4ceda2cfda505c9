//! The server of the Margo interface, over any manager.
//!
//! It parses requests, calls the manager and answers. A caller is identified by
//! the certificate of its connection (`ConnectInfo<Peer>`), never by the path
//! or the body; every request checks again that the manager accepts it. The
//! server holds no state of its own. The router has no fallback, so that a role
//! can merge it with its own routes.

#[cfg(feature = "server")]
pub(crate) mod address;
mod body;
mod caller;
mod content;
mod extract;
mod finish;
#[cfg(feature = "server")]
pub(crate) mod limit;
pub(crate) mod poll;
mod refusal;
mod report;
mod serve;

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::routing::{get, post, put};
use colony_margo::{Capabilities, DeploymentStatus, DeviceId, Digest, Problem};

use crate::health::NodeReport;
use crate::identity::SpiffeId;
use crate::join::Joined;
use crate::manager_request::{LogAnswer, ManagerRequests};
pub use body::{json, read as read_body};
pub use caller::cap_age;
pub use extract::{JsonBody, QueryParameters, WholeBody, read_object};
pub use finish::finish;
pub use refusal::{Refusal, problems_only};
pub use serve::serve;

/// The implementation behind the interface. `client` is always the name that
/// `accepts` returned for the certificate of the connection.
#[async_trait]
pub trait Manager: Send + Sync + 'static {
    /// Whether a caller with this id, and a public key of this digest, is
    /// accepted, and under which name. Called exactly once for each request,
    /// when it arrives.
    #[expect(clippy::result_large_err, reason = "once for each request, and like the others")]
    fn accepts(&self, id: &SpiffeId, key: Option<Digest>) -> Result<String, Problem>;

    /// The manifest of a client as it is at this moment.
    async fn manifest(&self, client: &str, have: Have) -> Result<CurrentManifest, Problem>;

    /// Resolves when the answer of `manifest` may have changed, or has requests
    /// to the client, since this was first polled. It may resolve without a
    /// change.
    async fn changed(&self, client: &str);

    /// The bytes of a deployment that was ever in a manifest of the client.
    async fn document(&self, client: &str, id: &str, digest: &Digest) -> Result<Vec<u8>, Problem>;

    /// The bytes of a bundle that was ever in a manifest of the client.
    async fn bundle(&self, client: &str, digest: &Digest) -> Result<Vec<u8>, Problem>;

    /// Stores the capabilities of a device; true if it was not known before.
    async fn capabilities_put(
        &self,
        client: &str,
        device: DeviceId,
        body: Capabilities,
    ) -> Result<bool, Problem>;

    /// Deletes a device.
    async fn capabilities_delete(&self, client: &str, device: DeviceId) -> Result<(), Problem>;

    /// Accepts a report, also for an unknown deployment.
    async fn status(&self, client: &str, status: DeploymentStatus) -> Result<(), Problem>;

    /// Accepts the answer to a request for logs.
    async fn logs(&self, client: &str, request: &str, answer: LogAnswer) -> Result<(), Problem>;

    /// Accepts the health report of a node; it is transient and may be ignored.
    async fn health(&self, _client: &str, _report: NodeReport) -> Result<(), Problem> {
        Ok(())
    }

    /// Signs another certificate for the client.
    async fn renew(&self, client: &str, csr: &str) -> Result<Joined, Problem>;
}

/// The manifest a client already has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Have {
    /// The tag of its manifest, without quotes.
    pub etag: Option<String>,
    /// The manifest version it has adopted.
    pub version: Option<u64>,
}

/// The manifest of a client, with the requests to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentManifest {
    pub bytes: Vec<u8>,
    /// The digest of `bytes`.
    pub etag: Digest,
    pub asks: ManagerRequests,
}

/// The Margo interface and colony's few extensions to it.
pub fn router(manager: Arc<dyn Manager>) -> Router {
    Router::new()
        .route("/api/v1/deployments", get(poll::manifest))
        .route("/api/v1/deployments/{id}/{digest}", get(content::document))
        .route("/api/v1/deployments/{id}/status", post(report::status))
        .route("/api/v1/bundles/{digest}", get(content::bundle))
        .route(
            "/api/v1/capabilities/{*device}",
            put(report::capabilities_put).delete(report::capabilities_delete),
        )
        .route("/colony/v1/logs/{request}", post(report::logs))
        .route("/colony/v1/health", post(report::health))
        .route("/colony/v1/renew", post(report::renew))
        .method_not_allowed_fallback(refusal::method_not_allowed)
        .layer(axum::middleware::from_fn(caller::cap_age))
        .with_state(manager)
}
