//! What a node needs of a container engine.
//!
//! One implementation for each kind of engine. The actions and the containers
//! are those of the node's core, which decides what to do; an engine does it
//! and shows what is there.

use std::collections::BTreeSet;
use std::fmt;

use async_trait::async_trait;
use colony_core::attempt::Failure;
use colony_core::margo::{DeploymentId, Digest};
use colony_core::node::{Action, Container, Prepared};
use tokio_util::sync::CancellationToken;

use crate::config::{EngineInfo, Facts, PullProgress};
use crate::error::Error;
use crate::job::Job;
use crate::logs::{LogPage, LogQuery};

/// A container engine that belongs to one node, or that nodes share.
///
/// Objects of other nodes are never touched. Every method may be called at any
/// time, also while the engine is away.
#[async_trait]
pub(crate) trait Engine: fmt::Debug + Send + Sync {
    fn info(&self) -> &EngineInfo;

    /// Whether the engine answers.
    async fn ping(&self) -> Result<(), Error>;

    /// Reaches the goal of `action`, from any state that an interrupted action
    /// left behind. `Prepare`, `Start` and `Stage` come with their job. An
    /// engine that holds nothing of the deployment has nothing to clear or to
    /// remove, and succeeds.
    async fn perform(&self, action: &Action, job: Option<&Job>) -> Result<Prepared, Failure>;

    /// All containers of this node. A container without an identity counts if
    /// its deployment is in `known`.
    async fn observe(&self, known: &BTreeSet<DeploymentId>) -> Result<Vec<Container>, Failure>;

    /// Resolves when something has changed since the last observation.
    async fn changed(&self);

    /// Listens to the engine and runs health checks until `stop`.
    async fn run(&self, stop: CancellationToken);

    /// Removes what only fingerprints outside of `needed` use.
    async fn collect(&self, needed: &BTreeSet<Digest>) -> Result<(), Failure>;

    /// The logs of the services of a deployment.
    async fn logs(&self, deployment: &DeploymentId, query: &LogQuery) -> Result<LogPage, Failure>;

    async fn facts(&self) -> Facts;

    /// What works worse than it could on this machine, as sentences.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    /// The images that are being fetched.
    fn progress(&self) -> Vec<PullProgress>;

    /// Resolves when the fetch of an image begins; one that began since the
    /// last call counts. For one waiter.
    async fn pulling(&self);
}
