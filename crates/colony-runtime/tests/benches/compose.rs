//! Docker, Podman and containerd for the list of behaviours.

use std::collections::BTreeSet;

use colony_core::attempt::Failure;
use colony_core::margo::{DeploymentId, Digest};
use colony_core::node::{Action, Container, Prepared};
use serde_json::json;

use super::{changed, lines, perform};
use crate::conformance::{App, Bench, Damage, EngineColumn, LinePage, Node, Version};
use crate::stories::world::{self, World, app};

const COMPOSE: &str = "
services:
  web:
    image: IMAGE
    command: ['/bin/sh', '-c', \"trap 'exit 0' TERM; COMMAND\"]
    healthcheck: { test: ['CMD', '/bin/wget', '-q', '-O', '/dev/null', 'http://127.0.0.1:8080/'], interval: 1s, timeout: 5s, retries: 1 }
";

impl Bench for World {
    type Node = world::Node;

    fn engine(&self) -> EngineColumn {
        match self.engine.kind {
            "docker" => EngineColumn::Docker,
            "podman" => EngineColumn::Podman,
            "containerd" => EngineColumn::Containerd,
            other => panic!("{other}"),
        }
    }

    fn node(&self) -> &world::Node {
        &self.node
    }

    async fn restart_node(&mut self) {
        World::restart_node(self).await;
    }

    async fn other_node(&self) -> world::Node {
        let dir = tempfile::tempdir().unwrap();
        world::Node::start(&self.engine, &self.registry, "b/n1", dir).await
    }

    fn publish(&self, name: &str, version: Version) -> App {
        self.registry.push_image("busybox", name, json!({ "Cmd": ["/bin/sleep", "3600"] }));
        let lines =
            |word: &str| (1..=5).map(|it| format!("echo {word} {it}; ")).collect::<String>();
        let serve = "httpd -p 8080 -h /www; sleep 3600 & wait";
        let (repository, command) = match version {
            Version::One => (format!("{name}-one"), lines("one") + serve),
            Version::Two => (format!("{name}-two"), lines("two") + serve),
            Version::Exits => (format!("{name}-exits"), "exit 7".to_owned()),
        };
        let compose = COMPOSE.replace("IMAGE", &image(self, name)).replace("COMMAND", &command);
        self.registry.push_component(&repository, "1.0.0", &[("compose.yaml", &compose)]);
        let repository = format!("oci://{}/{repository}", self.registry.host);
        App::new(app(name, &repository, "").subject.document)
    }

    fn break_check(&self, app: &App) {
        self.engine.exec(app.name(), "web", &["/bin/busybox", "rm", "/www/index.html"]);
    }

    fn damages(&self) -> &'static [Damage] {
        match self.engine.kind {
            // CRI has no other clients on the machine of a test.
            "containerd" => &[Damage::Ended],
            _ => &[Damage::Ended, Damage::Removed],
        }
    }

    fn damage(&self, app: &App, how: Damage) {
        match how {
            Damage::Ended => self.engine.kill(app.name(), "web"),
            Damage::Removed => {
                let name = format!("colony-n1-{}-web-web", app.name());
                self.engine.ask("DELETE", &format!("/containers/{name}?force=true"));
            }
        }
    }

    fn stop_engine(&mut self) {
        self.engine.stop();
    }

    fn start_engine(&mut self) {
        self.engine.start_again();
    }

    fn remains(&self, app: &App) -> Vec<String> {
        self.engine.objects_of(app.name(), self.node.dir())
    }

    fn is_fetched(&self, app: &App) -> bool {
        let archive = self.node.dir().join("archives").join(app.fingerprint.hex()).is_dir();
        assert_eq!(archive, self.engine.has_image(&image(self, app.name())), "archive and image");
        archive
    }
}

fn image(world: &World, name: &str) -> String {
    format!("{}/busybox:{name}", world.registry.host)
}

impl Node for world::Node {
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
