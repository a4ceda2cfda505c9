//! What a cluster, a registry or a chart refuses, and what the node says.

pub(crate) mod admission;
pub(crate) mod pods;

use std::collections::BTreeSet;

use colony_core::attempt::Failure;
use colony_core::code::{Class, Code};

use super::{App, World, app, charts};
use crate::kit::Registry;

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

/// Its namespace cannot leave before it.
const HELD: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: held, namespace: brief, finalizers: [example.com/held]}
";

pub(crate) async fn chart_that_does_not_render(world: &World) {
    let failure = world.prepare(&world.of_chart("broken", "")).await.unwrap_err();
    let words = "could not render the chart of `web`: execution error at (broken/templates/x.yaml:1:3): a port is missing";
    refused(&failure, Code::InvalidConfig, Class::Revision, words);
}

pub(crate) async fn kind_that_the_cluster_does_not_know(world: &World) {
    let failure = world.prepare(&world.of_chart("unknown", "")).await.unwrap_err();
    refused(&failure, Code::InvalidConfig, Class::Revision, "no matches for kind \"Nothing\"");
}

pub(crate) async fn namespace_of_the_cluster(world: &World) {
    let app = world.app_in("kube-system", "bad", "1.0.0", "");
    let failure = world.prepare(&app).await.unwrap_err();
    let words = "the namespace `kube-system` belongs to the cluster";
    refused(&failure, Code::InvalidConfig, Class::Revision, words);
}

pub(crate) async fn values_that_break_the_schema(world: &World) {
    let failure = world.prepare(&world.app("bad", "1.0.0", "replicas: 7")).await.unwrap_err();
    let words = "replicas: Must be less than or equal to 3";
    refused(&failure, Code::InvalidConfig, Class::Revision, words);
    let through = world.app("bad", "1.0.0", "replicas: 1\nreplicas.x: 1");
    let failure = world.prepare(&through).await.unwrap_err();
    let words = "the pointer `replicas.x` goes through a single value at `x`";
    refused(&failure, Code::InvalidConfig, Class::Revision, words);
}

pub(crate) async fn chart_without_the_asked_revision(world: &World) {
    let failure = world.prepare(&world.app("bad", "9.9.9", "")).await.unwrap_err();
    let words = format!("`{}/hello:9.9.9`", world.registry.host);
    refused(&failure, Code::ImageMissing, Class::Revision, &words);
}

pub(crate) async fn artifact_that_is_not_a_chart(world: &World) {
    world.registry.push_component("compose", "1.0.0", &[("compose.yaml", "services: {}")]);
    let failure = world.prepare(&world.of_chart("compose", "")).await.unwrap_err();
    refused(&failure, Code::ArchiveInvalid, Class::Revision, "is not a Helm chart");
}

pub(crate) async fn registry_of_charts_that_wants_a_password(world: &World) {
    let mut private = Registry::start();
    let image = format!("{}/busybox:1", world.registry.host);
    charts::publish(&private, &image);
    private.require_login("ann", "s3cr3t");
    let host = private.host.clone();
    let app = app("secret", &format!("oci://{host}/hello"), "1.0.0", "");
    let failure = world.prepare(&app).await.unwrap_err();
    let words = format!("could not fetch `{host}/hello:1.0.0`: the registry refuses (401");
    refused(&failure, Code::RegistryDenied, Class::Environment, &words);
    let words = format!("there are no credentials for `{host}` in ");
    refused(&failure, Code::RegistryDenied, Class::Environment, &words);

    world.write_password(&host, "ann:wrong");
    let failure = world.prepare(&app).await.unwrap_err();
    let words = format!("it does not accept the credentials for `{host}` in ");
    refused(&failure, Code::RegistryDenied, Class::Environment, &words);

    world.write_password(&host, "ann:s3cr3t");
    world.install(&app).await;
    world.remove(&app).await;
}

pub(crate) async fn account_that_may_not_install(world: &World) {
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

pub(crate) async fn account_that_may_not_look(world: &World) {
    world.cluster.kubectl(&["create", "serviceaccount", "blind"]);
    let dir = tempfile::tempdir().unwrap();
    let kubeconfig = world.cluster.kubeconfig_of("blind", 3_600);
    let other = World::runtime_at(&world.cluster, kubeconfig, "a/n1", dir.path()).await.unwrap();
    let failure = other.observe(&BTreeSet::new()).await.unwrap_err();
    let words = "could not look at the releases of this node: secrets is forbidden: User \"system:serviceaccount:default:blind\" cannot list resource \"secrets\"";
    refused(&failure, Code::EngineError, Class::Environment, words);
}

pub(crate) async fn token_that_expires(world: &World) {
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

pub(crate) async fn namespace_that_was_deleted(world: &World) {
    let app = world.app_in("brief", "lost", "1.0.0", "");
    world.install(&app).await;
    world.cluster.apply(HELD);
    world.cluster.kubectl(&["delete", "namespace", "brief", "--wait=false"]);
    // As long as it leaves, nothing can be installed there.
    let failure = world.start(&app).await.unwrap_err();
    refused(&failure, Code::EngineError, Class::Environment, "is being terminated");
    let release = r#"{"metadata": {"finalizers": null}}"#;
    let held = ["patch", "configmap", "held", "--namespace", "brief", "-p", release];
    world.cluster.kubectl(&held);
    world.cluster.await_gone("namespace/brief");
    assert!(world.look(&app).await.is_empty(), "the node sees that it is gone");
    world.start(&app).await.unwrap();
    world.until_healthy(&app).await;
    world.remove(&app).await;
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
pub(super) fn refused(failure: &Failure, code: Code, class: Class, words: &str) {
    assert_eq!((&failure.code, failure.code.class()), (&code, class), "{failure:?}");
    assert!(failure.message.contains(words), "{failure:?}");
}
