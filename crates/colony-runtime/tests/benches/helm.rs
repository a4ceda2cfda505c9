//! Kubernetes for the list of behaviours.

use std::collections::BTreeSet;
use std::path::Path;

use colony_core::attempt::Failure;
use colony_core::margo::{DeploymentId, Digest};
use colony_core::node::{Action, Container, Prepared};
use colony_runtime::Runtime;
use tempfile::TempDir;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{changed, lines, perform};
use crate::conformance::{App, Bench, Damage, EngineColumn, LinePage, Node, Version};
use crate::stories::helm::World;

pub(crate) struct HelmBench<'a> {
    world: &'a World,
    node: HelmNode,
}

pub(crate) struct HelmNode {
    runtime: Runtime,
    dir: TempDir,
    _stop: DropGuard,
}

impl HelmBench<'_> {
    pub(crate) async fn new(world: &World) -> HelmBench<'_> {
        let node = HelmNode::start(world, "c/n1", tempfile::tempdir().unwrap()).await;
        HelmBench { world, node }
    }
}

impl Bench for HelmBench<'_> {
    type Node = HelmNode;

    fn engine(&self) -> EngineColumn {
        EngineColumn::Kubernetes
    }

    fn node(&self) -> &HelmNode {
        &self.node
    }

    async fn restart_node(&mut self) {
        let dir = std::mem::replace(&mut self.node.dir, tempfile::tempdir().unwrap());
        self.node = HelmNode::start(self.world, "c/n1", dir).await;
    }

    async fn other_node(&self) -> HelmNode {
        HelmNode::start(self.world, "b/n1", tempfile::tempdir().unwrap()).await
    }

    fn publish(&self, name: &str, version: Version) -> App {
        let lines =
            |word: &str| (2..=5).map(|it| format!("echo {word} {it}; ")).collect::<String>();
        let serve = "httpd -p 8080 -h /www; sleep 3600";
        let (version, word, command) = match version {
            Version::One => ("1.0.0", "one", lines("one") + serve),
            Version::Two => ("2.0.0", "two", lines("two") + serve),
            Version::Exits => ("2.0.0", "bye", "exit 7".to_owned()),
        };
        let parameters = format!("greeting: {word} 1\ncommand: {command}");
        App::new(self.world.app(name, version, &parameters).subject.document)
    }

    fn break_check(&self, app: &App) {
        let workload = format!("deployment/{}-web", app.name());
        self.world.cluster.kubectl(&[
            "exec",
            &workload,
            "--",
            "/bin/busybox",
            "rm",
            "/www/index.html",
        ]);
    }

    /// A container that ends is the kubelet's work, one without its workload is
    /// the node's.
    fn damages(&self) -> &'static [Damage] {
        &[Damage::Removed]
    }

    fn damage(&self, app: &App, _how: Damage) {
        self.world.cluster.kubectl(&["delete", "deployment", &format!("{}-web", app.name())]);
    }

    fn stop_engine(&mut self) {
        self.world.cluster.stop_api();
    }

    fn start_engine(&mut self) {
        self.world.cluster.start_api();
    }

    fn remains(&self, app: &App) -> Vec<String> {
        let all =
            self.world.cluster.kubectl(&["get", "deployments,configmaps,secrets", "-o", "name"]);
        all.lines().filter(|it| it.contains(app.name())).map(str::to_owned).collect()
    }

    /// Images belong to the nodes of the cluster.
    fn is_fetched(&self, app: &App) -> bool {
        self.node.dir.path().join("charts").join(app.fingerprint.hex()).is_dir()
    }

    /// Each upgrade makes another revision of the release.
    fn is_record(&self, service: &str) -> bool {
        service == "release"
    }
}

impl HelmNode {
    async fn start(world: &World, identity: &str, dir: TempDir) -> HelmNode {
        let path: &Path = dir.path();
        let runtime = World::runtime(&world.cluster, identity, path).await;
        let stop = CancellationToken::new();
        let (listener, token) = (runtime.clone(), stop.clone());
        tokio::spawn(async move { listener.run(token).await });
        HelmNode { runtime, dir, _stop: stop.drop_guard() }
    }
}

impl Node for HelmNode {
    async fn perform(&self, action: Action, app: &App) -> Result<Prepared, Failure> {
        perform(&self.runtime, action, app).await
    }

    async fn observe(&self, known: &BTreeSet<DeploymentId>) -> Result<Vec<Container>, Failure> {
        Ok(self.runtime.observe(known).await?.containers)
    }

    async fn changed(&self) {
        changed(&self.runtime).await;
    }

    async fn collect(&self, needed: &BTreeSet<Digest>) -> Result<(), Failure> {
        self.runtime.collect(needed).await
    }

    async fn lines(&self, app: &App, after: &str, limit: u32) -> LinePage {
        lines(&self.runtime, app, after, limit).await
    }
}
