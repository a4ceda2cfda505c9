//! What a cluster, a registry or a chart refuses, and what the node says.

mod admission;
mod pods;

use std::collections::BTreeSet;

use colony_core::attempt::Failure;
use colony_core::code::{Class, Code};
use colony_core::node::Status;

use super::{App, World, app};
use crate::cluster::Cluster;
use crate::kit::Registry;

/// A hook that runs until the API server is away.
const HOOK: &str = r#"apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      containers: [{name: hook, image: {{ .Values.image | quote }}, command: ["/bin/sleep", "{{ .Values.seconds }}"]}]
"#;
/// It may look at what a node looks at, and write what Helm writes.
const READER: &str = r#"apiVersion: v1
kind: ServiceAccount
metadata: {name: ACCOUNT}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ACCOUNT}
rules:
- {apiGroups: [""], resources: [secrets], verbs: ["*"]}
- {apiGroups: ["", apps, batch], resources: ["*"], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [namespaces], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ACCOUNT}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ACCOUNT}
subjects: [{kind: ServiceAccount, name: ACCOUNT, namespace: default}]
"#;

pub(crate) async fn tell_all() {
    let Some(cluster) = Cluster::start() else { return };
    let world = World::new(cluster).await;
    chart_that_does_not_render(&world).await;
    values_that_break_the_schema(&world).await;
    chart_without_the_asked_revision(&world).await;
    artifact_that_is_not_a_chart(&world).await;
    registry_of_charts_that_wants_a_password(&world).await;
    account_that_may_not_install(&world).await;
    account_that_may_not_look(&world).await;
    token_that_expires(&world).await;
    namespace_that_was_deleted(&world).await;
    world.stop.cancel();
}

pub(crate) async fn tell_of_workloads() {
    let Some(cluster) = Cluster::start() else { return };
    let world = World::new(cluster).await;
    pods::tell_all(&world).await;
    admission::tell_all(&world).await;
    api_server_that_goes_in_the_middle(&world).await;
    world.stop.cancel();
}

async fn chart_that_does_not_render(world: &World) {
    let chart = [
        ("Chart.yaml", "apiVersion: v2\nname: broken\nversion: 1.0.0\n"),
        ("templates/x.yaml", "{{ fail \"a port is missing\" }}"),
    ];
    world.registry.push_chart("broken", "1.0.0", &chart);
    let failure = world.prepare(&world.of_chart("broken", "")).await.unwrap_err();
    let words = "could not render the chart of `web`: execution error at (broken/templates/x.yaml:1:3): a port is missing";
    refused(&failure, Code::InvalidConfig, Class::Revision, words);

    let chart = [
        ("Chart.yaml", "apiVersion: v2\nname: unknown\nversion: 1.0.0\n"),
        ("templates/x.yaml", "apiVersion: none.example/v1\nkind: Nothing\nmetadata: {name: x}\n"),
    ];
    world.registry.push_chart("unknown", "1.0.0", &chart);
    let failure = world.prepare(&world.of_chart("unknown", "")).await.unwrap_err();
    refused(&failure, Code::InvalidConfig, Class::Revision, "no matches for kind \"Nothing\"");
}

async fn values_that_break_the_schema(world: &World) {
    let failure = world.prepare(&world.app("bad", "1.0.0", "replicas: 7")).await.unwrap_err();
    let words = "replicas: Must be less than or equal to 3";
    refused(&failure, Code::InvalidConfig, Class::Revision, words);
    let through = world.app("bad", "1.0.0", "replicas: 1\nreplicas.x: 1");
    let failure = world.prepare(&through).await.unwrap_err();
    let words = "the pointer `replicas.x` goes through a single value at `x`";
    refused(&failure, Code::InvalidConfig, Class::Revision, words);
}

async fn chart_without_the_asked_revision(world: &World) {
    let failure = world.prepare(&world.app("bad", "9.9.9", "")).await.unwrap_err();
    let words = format!("`{}/hello:9.9.9`", world.registry.host);
    refused(&failure, Code::ImageMissing, Class::Revision, &words);
}

async fn artifact_that_is_not_a_chart(world: &World) {
    world.registry.push_component("compose", "1.0.0", &[("compose.yaml", "services: {}")]);
    let failure = world.prepare(&world.of_chart("compose", "")).await.unwrap_err();
    refused(&failure, Code::ArchiveInvalid, Class::Revision, "is not a Helm chart");
}

async fn registry_of_charts_that_wants_a_password(world: &World) {
    let mut private = Registry::start();
    private.push_chart("secret", "1.0.0", &[("Chart.yaml", "name: secret")]);
    private.require_login("ann", "s3cr3t");
    let host = private.host.clone();
    let app = app("secret", &format!("oci://{host}/secret"), "1.0.0", "");
    let failure = world.prepare(&app).await.unwrap_err();
    let words = format!("could not fetch `{host}/secret:1.0.0`: the registry refuses (401");
    refused(&failure, Code::RegistryDenied, Class::Environment, &words);
}

async fn account_that_may_not_install(world: &World) {
    world.cluster.apply(&READER.replace("ACCOUNT", "reader"));
    let dir = tempfile::tempdir().unwrap();
    let kubeconfig = world.cluster.kubeconfig_of("reader", 3_600);
    let other = World::runtime_at(&world.cluster, kubeconfig, "a/n1", dir.path()).await.unwrap();
    let app = world.app("denied", "1.0.0", "");
    let failure = start_on(&other, &app).await;
    let words = "User \"system:serviceaccount:default:reader\" cannot create resource";
    refused(&failure, Code::EngineError, Class::Environment, words);
    // The one that may finishes what the other began.
    world.install(&app).await;
    world.remove(&app).await;
}

async fn account_that_may_not_look(world: &World) {
    world.cluster.kubectl(&["create", "serviceaccount", "blind"]);
    let dir = tempfile::tempdir().unwrap();
    let kubeconfig = world.cluster.kubeconfig_of("blind", 3_600);
    let other = World::runtime_at(&world.cluster, kubeconfig, "a/n1", dir.path()).await.unwrap();
    let failure = other.observe(&BTreeSet::new()).await.unwrap_err();
    let words = "could not look at the releases of this node: secrets is forbidden: User \"system:serviceaccount:default:blind\" cannot list resource \"secrets\"";
    refused(&failure, Code::EngineError, Class::Environment, words);
}

async fn token_that_expires(world: &World) {
    world.cluster.apply(&READER.replace("ACCOUNT", "brief"));
    let dir = tempfile::tempdir().unwrap();
    let kubeconfig = world.cluster.kubeconfig_of("brief", 20);
    let other = World::runtime_at(&world.cluster, kubeconfig.clone(), "a/n1", dir.path()).await;
    let other = other.unwrap();
    other.observe(&BTreeSet::new()).await.unwrap();
    let expired = async {
        loop {
            match other.observe(&BTreeSet::new()).await {
                Ok(_) => tokio::time::sleep(std::time::Duration::from_millis(300)).await,
                Err(failure) => return failure,
            }
        }
    };
    let failure = tokio::time::timeout(std::time::Duration::from_secs(60), expired).await.unwrap();
    let words = "does not accept the credentials of this node (401 Unauthorized): the token or certificate has expired or is not valid";
    refused(&failure, Code::EngineError, Class::Environment, words);
    let failure = start_on(&other, &world.app("expired", "1.0.0", "")).await;
    refused(&failure, Code::EngineError, Class::Environment, "(401 Unauthorized)");
    assert!(other.ping().await.is_err());
    let again = World::runtime_at(&world.cluster, kubeconfig, "a/n1", dir.path()).await;
    let error = again.unwrap_err().to_string();
    assert!(error.contains("the token or certificate has expired"), "{error}");
}

async fn namespace_that_was_deleted(world: &World) {
    let app = world.app_in("brief", "lost", "1.0.0", "");
    world.install(&app).await;
    world.cluster.kubectl(&["delete", "namespace", "brief", "--wait=false"]);
    // As long as it leaves, nothing can be installed there.
    let failure = world.start(&app).await.unwrap_err();
    assert_eq!(failure.code.class(), Class::Environment, "{failure:?}");
    world.cluster.kubectl(&["wait", "--for=delete", "namespace/brief", "--timeout=60s"]);
    assert!(world.look(&app).await.is_empty(), "the node sees that it is gone");
    world.start(&app).await.unwrap();
    world.until_healthy(&app).await;
    world.remove(&app).await;
}

async fn api_server_that_goes_in_the_middle(world: &World) {
    let image = format!("{}/busybox:1", world.registry.host);
    let values = format!("image: {image}\nseconds: 3600\n");
    let chart = [
        ("Chart.yaml", "apiVersion: v2\nname: hooked\nversion: 1.0.0\n"),
        ("values.yaml", values.as_str()),
        ("templates/hook.yaml", HOOK),
    ];
    world.registry.push_chart("hooked", "1.0.0", &chart);
    let slow = world.of_chart("hooked", "");
    let quick = world.of_chart("hooked", "seconds: 0");
    world.prepare(&slow).await.unwrap();
    let cut = async {
        let wait = ["wait", "--for=condition=Ready", "pod", "-l", "job-name=hooked-web"];
        let mut there = false;
        while !there {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            there = world
                .cluster
                .kubectl(&["get", "pods", "-l", "job-name=hooked-web"])
                .contains("hooked");
        }
        world.cluster.kubectl(&[&wait[..], &["--timeout=60s"]].concat());
        world.cluster.stop_api();
    };
    let (failure, ()) = tokio::join!(world.start(&slow), cut);
    let failure = failure.unwrap_err();
    refused(&failure, Code::EngineUnavailable, Class::Environment, "could not install the release");
    world.cluster.start_api();
    let seen = world.look(&slow).await;
    assert!(matches!(seen["release"].status, Status::Starting | Status::Exited { .. }), "{seen:?}");
    world.start(&quick).await.unwrap();
    assert_eq!(world.look(&quick).await["release"].status, Status::Running);
    world.remove(&quick).await;
}

async fn start_on(runtime: &colony_runtime::Runtime, app: &App) -> Failure {
    let subject = Some(app.subject.clone());
    let (deployment, component, fingerprint) = app.parts();
    let start = colony_core::node::Action::Start { deployment, component, fingerprint };
    match runtime.perform(&super::prepare(app), subject.clone()).await {
        Ok(_) => runtime.perform(&start, subject).await.unwrap_err(),
        Err(failure) => failure,
    }
}

#[track_caller]
fn refused(failure: &Failure, code: Code, class: Class, words: &str) {
    assert_eq!((&failure.code, failure.code.class()), (&code, class), "{failure:?}");
    assert!(failure.message.contains(words), "{failure:?}");
}

impl World {
    /// A deployment of another chart than `hello`, with its name.
    fn of_chart(&self, chart: &str, parameters: &str) -> App {
        let repository = format!("oci://{}/{chart}", self.registry.host);
        app(chart, &repository, "1.0.0", parameters)
    }
}
