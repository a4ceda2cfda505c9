//! Pods that cannot run: what is said about the workload.

use colony_core::code::{Class, Code};
use colony_core::node::Health;
use serde_json::json;

use super::super::{App, World};

/// A stateful set with what a test needs in its pods.
const DATABASE: &str = r#"apiVersion: apps/v1
kind: StatefulSet
metadata: {name: {{ .Release.Name }}}
spec:
  serviceName: none
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: db
        image: {{ .Values.image | quote }}
        command: ["/bin/sleep", "3600"]
        {{- with .Values.secret }}
        envFrom: [{secretRef: {name: {{ . }}}}]
        {{- end }}
        {{- with .Values.cpu }}
        resources: {requests: {cpu: {{ . }}}}
        {{- end }}
  {{- with .Values.storage }}
  volumeClaimTemplates:
  - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: {{ . }}}}}}
  {{- end }}
"#;
const PRIVATE_PORT: &str = "15999";

pub(super) async fn tell_all(world: &World) {
    let image = format!("{}/busybox:1", world.registry.host);
    let values = format!("image: {image}\n");
    let chart = [
        ("Chart.yaml", "apiVersion: v2\nname: database\nversion: 1.0.0\n"),
        ("values.yaml", values.as_str()),
        ("templates/db.yaml", DATABASE),
    ];
    world.registry.push_chart("database", "1.0.0", &chart);
    volume_that_nothing_provides(world).await;
    pod_that_is_too_large_for_the_cluster(world).await;
    configuration_that_cannot_be_applied(world).await;
    image_that_needs_a_password(world).await;
    image_for_another_architecture(world).await;
}

async fn volume_that_nothing_provides(world: &World) {
    let app = database(world, "volume", "storage: 1Gi");
    let words = "pod volume-web-0 cannot be scheduled: 0/1 nodes are available: 1 pod has unbound immediate PersistentVolumeClaims";
    let found = fails(world, &app, "statefulset/volume-web").await;
    said(&found, Code::EngineError, Class::Environment, words);
    world.remove(&app).await;
    world.cluster.kubectl(&["delete", "persistentvolumeclaims", "--all"]);
}

async fn pod_that_is_too_large_for_the_cluster(world: &World) {
    let app = database(world, "large", "cpu: 900");
    let words = "pod large-web-0 cannot be scheduled: 0/1 nodes are available: 1 Insufficient cpu";
    let found = fails(world, &app, "statefulset/large-web").await;
    said(&found, Code::EngineError, Class::Environment, words);
    world.remove(&app).await;
}

async fn configuration_that_cannot_be_applied(world: &World) {
    let app = database(world, "config", "secret: absent");
    let words = "container `db` of pod config-web-0: CreateContainerConfigError: secret \"absent\" not found";
    let found = fails(world, &app, "statefulset/config-web").await;
    said(&found, Code::InvalidConfig, Class::Revision, words);
    world.remove(&app).await;
}

/// The node of the cluster reaches no registry but those on its own loopback
/// address without TLS.
async fn image_that_needs_a_password(world: &World) {
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
    let app = database(world, "locked", &image);
    let found = fails_with(world, &app, "statefulset/locked-web", &Code::RegistryDenied).await;
    said(&found, Code::RegistryDenied, Class::Environment, "401 Unauthorized");
    world.remove(&app).await;
    registry.kill().unwrap();
    registry.wait().unwrap();
}

async fn image_for_another_architecture(world: &World) {
    let image = world.registry.push_image_for("foreign", "one", "s390x", json!({}));
    world.registry.push_index("foreign", "1", "s390x", &image);
    let image = format!("image: {}/foreign:1", world.registry.host);
    let app = database(world, "foreign", &image);
    let found = fails(world, &app, "statefulset/foreign-web").await;
    said(&found, Code::ImageMissing, Class::Revision, "no match for platform in manifest");
    world.remove(&app).await;

    world.registry.push_foreign_image("alien", "1");
    let image = format!("image: {}/alien:1", world.registry.host);
    let app = database(world, "alien", &image);
    let found = fails(world, &app, "statefulset/alien-web").await;
    said(&found, Code::InvalidConfig, Class::Revision, "exec format error");
    world.remove(&app).await;
}

fn database(world: &World, name: &str, parameters: &str) -> App {
    let repository = format!("oci://{}/database", world.registry.host);
    super::app(name, &repository, "1.0.0", parameters)
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
