//! Pods that cannot run: what is said about the workload.

use std::collections::BTreeMap;

use colony_core::code::{Class, Code};
use colony_core::node::{Container, Health};
use serde_json::json;

use super::super::{App, World};

const PRIVATE_PORT: &str = "15999";

pub(crate) async fn volume_that_nothing_provides(world: &World) {
    let app = world.database("volume", "storage: 1Gi");
    let words = "pod volume-web-0 cannot be scheduled: 0/1 nodes are available: 1 pod has unbound immediate PersistentVolumeClaims";
    let found = fails(world, &app, "statefulset/volume-web").await;
    said(&found, Code::EngineError, Class::Environment, words);
    world.remove(&app).await;
    world.cluster.kubectl(&["delete", "persistentvolumeclaims", "data-volume-web-0"]);
}

pub(crate) async fn pod_that_is_too_large_for_the_cluster(world: &World) {
    let app = world.database("large", "cpu: 900");
    let words = "pod large-web-0 cannot be scheduled: 0/1 nodes are available: 1 Insufficient cpu";
    let found = fails(world, &app, "statefulset/large-web").await;
    said(&found, Code::EngineError, Class::Environment, words);
    world.remove(&app).await;
}

pub(crate) async fn configuration_that_cannot_be_applied(world: &World) {
    let app = world.database("config", "secret: absent");
    let words = "container `db` of pod config-web-0: CreateContainerConfigError: secret \"absent\" not found";
    let found = fails(world, &app, "statefulset/config-web").await;
    said(&found, Code::InvalidConfig, Class::Revision, words);
    world.remove(&app).await;
}

/// The node of the cluster reaches no registry but those on its own loopback
/// address without TLS.
pub(crate) async fn image_that_needs_a_password(world: &World) {
    let folder = world.dir.path().join("private");
    std::fs::create_dir_all(&folder).unwrap();
    let (config, users) = (folder.join("config.yml"), folder.join("users"));
    std::fs::write(&users, "ann:$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC\n")
        .unwrap();
    let text = format!(
        "version: 0.1\nstorage: {{ inmemory: {{}} }}\nhttp: {{ addr: \"127.0.0.1:{PRIVATE_PORT}\" }}\n\
         auth: {{ htpasswd: {{ realm: r, path: {} }} }}\n",
        users.display()
    );
    std::fs::write(&config, text).unwrap();
    let serve = ["docker-registry", "serve", config.to_str().unwrap()];
    let mut registry = world.cluster.spawn(&serve);
    let image = format!("image: 127.0.0.1:{PRIVATE_PORT}/private:1");
    let app = world.database("locked", &image);
    let found = fails_with(world, &app, "statefulset/locked-web", &Code::RegistryDenied).await;
    said(&found, Code::RegistryDenied, Class::Environment, "401 Unauthorized");
    world.remove(&app).await;
    registry.kill().unwrap();
    registry.wait().unwrap();
}

pub(crate) async fn image_for_another_architecture(world: &World) {
    let image = world.registry.push_image_for("foreign", "one", "s390x", json!({}));
    world.registry.push_index("foreign", "1", "s390x", &image);
    let image = format!("image: {}/foreign:1", world.registry.host);
    let app = world.database("foreign", &image);
    let found = fails(world, &app, "statefulset/foreign-web").await;
    said(&found, Code::ImageMissing, Class::Revision, "no match for platform in manifest");
    world.remove(&app).await;
}

/// The image says that it fits.
pub(crate) async fn program_for_another_architecture(world: &World) {
    world.registry.push_foreign_image("alien", "1");
    let image = format!("image: {}/alien:1", world.registry.host);
    let app = world.database("alien", &image);
    let found = fails(world, &app, "statefulset/alien-web").await;
    said(&found, Code::InvalidConfig, Class::Revision, "exec format error");
    world.remove(&app).await;
}

pub(crate) async fn image_that_is_missing(world: &World) {
    let app = world.app("missing", "1.0.0", &format!("image: {}/nothing:1", world.registry.host));
    let found = fails_with(world, &app, "deployment/missing-web", &Code::ImageMissing).await;
    said(&found, Code::ImageMissing, Class::Revision, "not found");
    world.remove(&app).await;
}

pub(crate) async fn registry_of_images_that_is_down(world: &World) {
    let app = world.app("refused", "1.0.0", "image: 127.0.0.1:9/nothing:1");
    let found = fails_with(world, &app, "deployment/refused-web", &Code::RegistryUnavailable).await;
    said(&found, Code::RegistryUnavailable, Class::Environment, "connection refused");
    world.remove(&app).await;
}

pub(crate) async fn container_that_exits(world: &World) {
    let app = world.app("exits", "1.0.0", "command: exit 7");
    let found = fails(world, &app, "deployment/exits-web").await;
    said(&found, Code::Exited, Class::Revision, "exited with code 7, 3 times");
    let seen = world.look(&app).await;
    assert_eq!(seen["deployment/exits-web"].log, ["hello"], "its last lines are shown");
    world.remove(&app).await;
}

/// A probe that never passes fails nothing by itself: the node's deadline does.
pub(crate) async fn probe_that_never_passes(world: &World) {
    let app = world.app("probe", "1.0.0", "probe: nothing.html");
    world.prepare(&app).await.unwrap();
    world.start(&app).await.unwrap();
    let starting = |it: &BTreeMap<String, Container>| {
        it.get("deployment/probe-web").map(|it| it.health.clone()) == Some(Health::Starting)
    };
    world.until(&app, "starting", starting).await;
    world.remove(&app).await;
}

pub(crate) async fn quota_that_is_used_up(world: &World) {
    world.cluster.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: small}\n---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: small}\nspec: {hard: {pods: 0}}\n");
    let app = world.app_in("small", "quota", "1.0.0", "");
    let found = fails(world, &app, "deployment/quota-web").await;
    said(&found, Code::EngineError, Class::Environment, "exceeded quota");
    world.remove(&app).await;
}

/// Starts the app and waits for the first thing that is wrong with a service.
async fn fails(world: &World, app: &App, service: &str) -> (Code, String) {
    fails_if(world, app, service, |_| true).await
}

async fn fails_with(world: &World, app: &App, service: &str, code: &Code) -> (Code, String) {
    fails_if(world, app, service, |it| it == code).await
}

pub(super) async fn fails_if(
    world: &World,
    app: &App,
    service: &str,
    expected: impl Fn(&Code) -> bool,
) -> (Code, String) {
    world.prepare(app).await.unwrap();
    world.start(app).await.unwrap();
    let failed = |it: &Health| matches!(it, Health::Unhealthy { code, .. } if expected(code));
    let seen = world
        .until(app, "unhealthy", |it| it.get(service).is_some_and(|it| failed(&it.health)))
        .await;
    let Health::Unhealthy { code, detail } = &seen[service].health else { panic!("{seen:?}") };
    (code.clone(), detail.clone())
}

#[track_caller]
pub(super) fn said(found: &(Code, String), code: Code, class: Class, words: &str) {
    assert_eq!((&found.0, found.0.class()), (&code, class), "{found:?}");
    assert!(found.1.contains(words), "{found:?}");
}
