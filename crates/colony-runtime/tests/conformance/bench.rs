//! What the behaviours need of an engine and of a node on it.

use std::collections::BTreeSet;

use colony_core::attempt::Failure;
use colony_core::margo::{ApplicationDeployment, Component, DeploymentId, Digest};
use colony_core::node::{Action, Container, Prepared, fingerprint};

use super::EngineColumn;

/// An engine of the test's own, with one node on it.
pub(crate) trait Bench {
    type Node: Node;

    fn engine(&self) -> EngineColumn;

    fn node(&self) -> &Self::Node;

    /// Another process takes over the node.
    async fn restart_node(&mut self);

    /// A node of another site, with the same name.
    async fn other_node(&self) -> Self::Node;

    /// Publishes a version of the application `name`. All have a health check
    /// that is executed in the container.
    fn publish(&self, name: &str, version: Version) -> App;

    /// Makes the check of what runs fail.
    fn break_check(&self, app: &App);

    /// What can be done to a container from outside.
    fn damages(&self) -> &'static [Damage];

    fn damage(&self, app: &App, how: Damage);

    fn stop_engine(&mut self);

    /// Returns when the engine answers again.
    fn start_engine(&mut self);

    /// Objects of the application on the engine, and files for them.
    fn remains(&self, app: &App) -> Vec<String>;

    /// Whether all that was fetched for the application is there; fails if
    /// only a part is.
    fn is_fetched(&self, app: &App) -> bool;

    /// Whether the engine restarts a service when it is started again: one
    /// that is not a workload, but a record of one.
    fn is_record(&self, _service: &str) -> bool {
        false
    }
}

/// A node, as its core uses it.
pub(crate) trait Node {
    async fn perform(&self, action: Action, app: &App) -> Result<Prepared, Failure>;

    async fn observe(&self, known: &BTreeSet<DeploymentId>) -> Result<Vec<Container>, Failure>;

    /// Resolves when a look may show something else.
    async fn changed(&self);

    async fn collect(&self, needed: &BTreeSet<Digest>) -> Result<(), Failure>;

    /// So many lines after a position, the oldest first.
    async fn lines(&self, app: &App, after: &str, limit: u32) -> LinePage;
}

/// A page of a log.
#[derive(Debug)]
pub(crate) struct LinePage {
    pub(crate) lines: Vec<String>,
    /// The position after the last line.
    pub(crate) position: String,
}

/// A version of an application, by its behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// Prints `one 1` to `one 5`.
    One,
    Two,
    /// Ends with code 7.
    Exits,
}

/// What happens to a container from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    Ended,
    Removed,
}

/// A deployment of one version, with one component.
#[derive(Debug, Clone)]
pub(crate) struct App {
    pub(crate) document: ApplicationDeployment,
    pub(crate) component: Component,
    pub(crate) fingerprint: Digest,
}

impl App {
    pub(crate) fn new(document: ApplicationDeployment) -> App {
        let component = document.spec.profile.components[0].clone();
        let fingerprint = fingerprint(&document, &component);
        App { document, component, fingerprint }
    }

    pub(crate) fn id(&self) -> DeploymentId {
        self.document.id.clone()
    }

    pub(crate) fn name(&self) -> &str {
        &self.document.metadata.name
    }
}
