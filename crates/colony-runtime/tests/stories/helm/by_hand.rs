//! Releases that were changed past the node: what it installed comes back.

use std::collections::BTreeMap;

use colony_core::node::{Container, Status};

use super::{App, World};

pub(crate) async fn object_that_was_deleted(world: &World) {
    let app = world.app("damaged", "1.0.0", "greeting: Moin");
    world.install(&app).await;
    let settings = ["get", "configmap", "damaged-web-settings", "-o", "jsonpath={.data.greeting}"];
    world.cluster.kubectl(&["delete", "configmap", "damaged-web-settings"]);
    world.until_stopped(&app).await;
    world.start(&app).await.unwrap();
    world.until_healthy(&app).await;
    assert_eq!(world.cluster.kubectl(&settings), "Moin");
    world.remove(&app).await;
}

pub(crate) async fn release_that_was_upgraded_or_rolled_back(world: &World) {
    let app = world.app("turned", "1.0.0", "greeting: Moin");
    let greeting = ["get", "configmap", "turned-web-settings", "-o", "jsonpath={.data.greeting}"];
    world.install(&app).await;
    let chart = format!("oci://{}/hello", world.registry.host);
    let upgrade = ["upgrade", "turned-web", &chart, "--version", "1.0.0", "--plain-http"];
    world.cluster.run_helm(&[&upgrade[..], &["--set", "greeting=Hi"]].concat());
    assert_eq!(world.cluster.kubectl(&greeting), "Hi");
    world.until_stopped(&app).await;
    world.start(&app).await.unwrap();
    world.until_healthy(&app).await;
    assert_eq!(world.cluster.kubectl(&greeting), "Moin");

    world.cluster.run_helm(&["rollback", "turned-web", "2"]);
    assert_eq!(world.cluster.kubectl(&greeting), "Hi");
    world.until_stopped(&app).await;
    world.start(&app).await.unwrap();
    world.until_healthy(&app).await;
    assert_eq!(world.cluster.kubectl(&greeting), "Moin");
    world.remove(&app).await;
}

impl World {
    async fn until_stopped(&self, app: &App) {
        let stopped = |it: &BTreeMap<String, Container>| it["release"].status == Status::Stopped;
        self.until(app, "stopped", stopped).await;
    }
}
