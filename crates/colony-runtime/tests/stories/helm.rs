//! Charts on a real cluster.

pub(crate) mod changes;
pub(crate) mod refusals;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::margo::{ApplicationDeployment, DeploymentId, Digest};
use colony_core::node::image::ImagePolicy;
use colony_core::node::{Action, Container, Health, Prepared, Status, fingerprint};
use colony_runtime::{Choice, Config, LogQuery, Registries, Runtime, Subject};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::benches::HelmBench;
use crate::cluster::Cluster;
use crate::conformance;
use crate::kit::Registry;

/// The chart of the stories: one workload with a readiness probe.
const CHART: &str = "apiVersion: v2\nname: hello\nversion: VERSION\n";
const VALUES: &str = "image: IMAGE\nreplicas: 1\nstrategy: Recreate\ndeadline: 600\npage: index.html\ngreeting: hello\ncommand: 'httpd -p 8080 -h /www; sleep 3600'\nprobe: index.html\n";
const SCHEMA: &str =
    r#"{"type": "object", "properties": {"replicas": {"type": "integer", "maximum": 3}}}"#;
const WEB: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  strategy: {type: {{ .Values.strategy }}}
  progressDeadlineSeconds: {{ .Values.deadline }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      terminationGracePeriodSeconds: 0
      automountServiceAccountToken: false
      containers:
      - name: web
        image: {{ .Values.image | quote }}
        command: ["/bin/sh", "-c", {{ printf "echo %s; %s" .Values.greeting .Values.command | quote }}]
        readinessProbe:
          exec: {command: ["/bin/wget", "-q", "-O", "/dev/null", {{ printf "http://127.0.0.1:8080/%s" .Values.probe | quote }}]}
          periodSeconds: 1
"#;
const SETTINGS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-settings}\ndata: {greeting: {{ .Values.greeting | quote }}}\n";

pub(crate) struct World {
    pub(crate) cluster: Cluster,
    registry: Registry,
    dir: TempDir,
    runtime: Runtime,
    stop: CancellationToken,
}

#[derive(Clone)]
pub(crate) struct App {
    id: DeploymentId,
    fingerprint: Digest,
    pub(crate) subject: Subject,
}

pub(crate) async fn tell_all() {
    let Some(cluster) = Cluster::start() else { return };
    let mut world = World::new(cluster).await;
    conformance::run_all(&mut HelmBench::new(&world).await).await;
    install_update_and_remove(&mut world).await;
    interrupted_operation_is_discarded(&world).await;
    workloads_that_do_not_get_ready(&world).await;
    cluster_that_refuses(&world).await;
    what_is_not_ours_is_left_alone(&world).await;
    api_server_that_is_away(&world).await;
    world.stop.cancel();
}

async fn install_update_and_remove(world: &mut World) {
    let first = world.app("hello", "1.0.0", "greeting: Moin");
    let prepared = world.prepare(&first).await.unwrap();
    assert_eq!(prepared.services, names(&["release", "deployment/hello-web"]));
    assert!(world.look(&first).await.is_empty(), "preparing starts nothing");
    world.start(&first).await.unwrap();
    let seen = world.until_healthy(&first).await;
    assert_eq!(seen.keys().cloned().collect::<BTreeSet<_>>(), prepared.services);
    let lines = world.lines(&first).await;
    assert!(lines.contains(&"Moin".to_owned()), "{lines:?}");

    // Another process adopts what runs, and doing it again changes nothing.
    world.restart().await;
    assert_eq!(
        world.until_healthy(&first).await["deployment/hello-web"].run,
        seen["deployment/hello-web"].run
    );
    world.start(&first).await.unwrap();
    assert_eq!(
        world.until_healthy(&first).await["deployment/hello-web"].run,
        seen["deployment/hello-web"].run
    );

    // What is replaced runs on and is not shown; a way back is an update.
    let second = world.app("hello", "2.0.0", "greeting: Tach");
    world.prepare(&second).await.unwrap();
    world.clear(&second, false).await.unwrap();
    assert!(world.look(&second).await.is_empty());
    assert!(
        world
            .cluster
            .kubectl(&["get", "deployment", "hello-web", "-o", "name"])
            .contains("hello-web")
    );
    for app in [&second, &first] {
        world.clear(app, false).await.unwrap();
        world.start(app).await.unwrap();
        let seen = world.until_healthy(app).await;
        assert!(seen.values().all(|it| it.fingerprint == app.fingerprint));
    }
    let failure = world.perform(stage(&first), Some(&first)).await.unwrap_err();
    assert_eq!(failure.code, Code::NotEligible);

    world.clear(&first, true).await.unwrap();
    assert!(world.look(&first).await.is_empty());
    world.start(&first).await.unwrap();
    world.remove(&first).await;
    world.remove(&first).await;
    assert!(world.look(&first).await.is_empty());
    let left = world.cluster.kubectl(&["get", "deployments,configmaps,secrets", "-o", "name"]);
    assert!(!left.contains("hello"), "{left}");
    world.runtime.collect(&BTreeSet::new()).await.unwrap();
    let charts = std::fs::read_dir(world.dir.path().join("charts")).unwrap();
    assert_eq!(charts.count(), 0, "charts that nothing needs go");
}

/// Helm that was killed leaves a release it refuses to work on.
async fn interrupted_operation_is_discarded(world: &World) {
    let app = world.app("cut", "1.0.0", "");
    world.install(&app).await;
    for (version, status) in [(1, "pending-install"), (2, "pending-upgrade")] {
        if version == 2 {
            world.install(&app).await;
        }
        let newest = world.cluster.kubectl(&[
            "get",
            "secrets",
            "-l",
            "owner=helm,name=cut-web",
            "-o",
            "name",
            "--sort-by=.metadata.creationTimestamp",
        ]);
        let newest = newest.lines().last().unwrap().to_owned();
        world.cluster.kubectl(&["label", "--overwrite", &newest, &format!("status={status}")]);
        let seen = world.look(&app).await;
        assert_eq!(seen["release"].status, Status::Starting, "{status}");
        world.start(&app).await.unwrap();
        world.until_healthy(&app).await;
    }
    world.remove(&app).await;
}

async fn workloads_that_do_not_get_ready(world: &World) {
    let image = format!("{}/nothing:1", world.registry.host);
    for (name, parameters, code, words) in [
        ("missing", format!("image: {image}"), Code::ImageMissing, "not found"),
        (
            "refused",
            "image: 127.0.0.1:9/nothing:1".to_owned(),
            Code::RegistryUnavailable,
            "connection refused",
        ),
        ("exits", "command: exit 7".to_owned(), Code::Exited, "exited with code 7, 3 times"),
    ] {
        let app = world.app(name, "1.0.0", &parameters);
        world.prepare(&app).await.unwrap();
        world.start(&app).await.unwrap();
        let service = format!("deployment/{name}-web");
        let failed = |it: &BTreeMap<String, Container>| matches!(it.get(&service).map(|it| &it.health), Some(Health::Unhealthy { code: found, .. }) if *found == code);
        let seen = world.until(&app, "unhealthy", failed).await;
        let Health::Unhealthy { detail, .. } = &seen[&service].health else { panic!("{seen:?}") };
        assert!(detail.contains(words), "{detail}");
        if code == Code::Exited {
            assert_eq!(seen[&service].log, ["hello"], "its last lines are shown");
        }
        world.remove(&app).await;
    }
    // A probe that never passes fails nothing by itself: the node's deadline does.
    let app = world.app("probe", "1.0.0", "probe: nothing.html");
    world.prepare(&app).await.unwrap();
    world.start(&app).await.unwrap();
    let starting = |it: &BTreeMap<String, Container>| {
        it.get("deployment/probe-web").map(|it| it.health.clone()) == Some(Health::Starting)
    };
    world.until(&app, "starting", starting).await;
    world.remove(&app).await;
}

async fn cluster_that_refuses(world: &World) {
    world.cluster.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: small}\n---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: small}\nspec: {hard: {pods: 0}}\n");
    let app = world.app_in("small", "quota", "1.0.0", "");
    world.prepare(&app).await.unwrap();
    world.start(&app).await.unwrap();
    let refused = |it: &BTreeMap<String, Container>| {
        let health = it.get("deployment/quota-web").map(|it| &it.health);
        matches!(health, Some(Health::Unhealthy { code: Code::EngineError, detail }) if detail.contains("exceeded quota"))
    };
    world.until(&app, "refused", refused).await;
    world.remove(&app).await;

    let reserved = world.app_in("kube-system", "bad", "1.0.0", "");
    let failure = world.prepare(&reserved).await.unwrap_err();
    assert_eq!(
        (failure.code, failure.message.as_str()),
        (Code::InvalidConfig, "the namespace `kube-system` belongs to the cluster")
    );
}

async fn what_is_not_ours_is_left_alone(world: &World) {
    let app = world.app("mine", "1.0.0", "");
    world.install(&app).await;
    let other = World::runtime(&world.cluster, "b/n1", tempfile::tempdir().unwrap().path()).await;
    let known = BTreeSet::from([app.id.clone()]);
    assert!(other.observe(&known).await.unwrap().containers.is_empty());
    let prepare = prepare(&app);
    let failure = other.perform(&prepare, Some(app.subject.clone())).await.unwrap_err();
    assert!(failure.message.contains("was not installed by this node"), "{failure:?}");
    other
        .perform(&Action::Remove { deployment: app.id.clone(), purge: false, images: false }, None)
        .await
        .unwrap();
    world.until_healthy(&app).await;
    world.remove(&app).await;
}

async fn api_server_that_is_away(world: &World) {
    let app = world.app("away", "1.0.0", "");
    world.install(&app).await;
    world.cluster.stop_api();
    let known = BTreeSet::from([app.id.clone()]);
    let failure = world.runtime.observe(&known).await.unwrap_err();
    assert_eq!(failure.code, Code::EngineUnavailable, "{failure:?}");
    assert!(world.runtime.ping().await.is_err());
    assert_eq!(world.start(&app).await.unwrap_err().code, Code::EngineUnavailable);
    world.cluster.start_api();
    world.until_healthy(&app).await;
    world.remove(&app).await;
}

impl World {
    async fn new(cluster: Cluster) -> World {
        let registry = Registry::at(cluster.registry());
        registry.push_image("busybox", "1", json!({ "Cmd": ["/bin/sleep", "3600"] }));
        let dir = tempfile::tempdir().unwrap();
        let runtime = World::runtime(&cluster, "a/n1", dir.path()).await;
        let stop = CancellationToken::new();
        let world = World { cluster, registry, dir, runtime, stop };
        world.listen();
        for version in ["1.0.0", "2.0.0"] {
            let values = VALUES.replace("IMAGE", &format!("{}/busybox:1", world.registry.host));
            let chart = CHART.replace("VERSION", version);
            let files = [
                ("Chart.yaml", chart.as_str()),
                ("values.yaml", &values),
                ("values.schema.json", SCHEMA),
                ("templates/web.yaml", WEB),
                ("templates/settings.yaml", SETTINGS),
            ];
            world.registry.push_chart("hello", version, &files);
        }
        world
    }

    pub(crate) async fn runtime(
        cluster: &Cluster,
        identity: &str,
        dir: &std::path::Path,
    ) -> Runtime {
        let kubeconfig = cluster.kubeconfig();
        World::runtime_at(cluster, kubeconfig, identity, dir).await.unwrap()
    }

    /// A runtime that the cluster knows by what is in this kubeconfig.
    async fn runtime_at(
        cluster: &Cluster,
        kubeconfig: std::path::PathBuf,
        identity: &str,
        dir: &std::path::Path,
    ) -> Result<Runtime, colony_runtime::Error> {
        let config = Config {
            node: "n1".parse().unwrap(),
            identity: identity.to_owned(),
            dir: dir.to_owned(),
            engines: vec![Choice::Kubernetes(Some(kubeconfig))],
            helm: Some(cluster.helm()),
            manager: None,
            environment: BTreeMap::new(),
            registries: Registries::default(),
            images: ImagePolicy::default(),
            policy: colony_runtime::DocumentPolicy::default(),
        };
        Runtime::connect(config).await
    }

    fn listen(&self) {
        let (runtime, stop) = (self.runtime.clone(), self.stop.clone());
        tokio::spawn(async move { runtime.run(stop).await });
    }

    async fn restart(&mut self) {
        self.stop.cancel();
        self.stop = CancellationToken::new();
        self.runtime = World::runtime(&self.cluster, "a/n1", self.dir.path()).await;
        self.listen();
    }

    /// A deployment of the chart with parameters, one a line: `pointer: value`.
    pub(crate) fn app(&self, name: &str, version: &str, parameters: &str) -> App {
        self.app_in("default", name, version, parameters)
    }

    fn app_in(&self, namespace: &str, name: &str, version: &str, parameters: &str) -> App {
        let repository = format!("oci://{}/hello", self.registry.host);
        app_at(namespace, name, &repository, version, parameters)
    }

    async fn perform(&self, action: Action, app: Option<&App>) -> Result<Prepared, Failure> {
        self.runtime.perform(&action, app.map(|it| it.subject.clone())).await
    }

    async fn prepare(&self, app: &App) -> Result<Prepared, Failure> {
        self.perform(prepare(app), Some(app)).await
    }

    async fn start(&self, app: &App) -> Result<Prepared, Failure> {
        let (deployment, component, fingerprint) = app.parts();
        self.perform(Action::Start { deployment, component, fingerprint }, Some(app)).await
    }

    async fn clear(&self, app: &App, gone: bool) -> Result<Prepared, Failure> {
        let (deployment, component, _) = app.parts();
        self.perform(Action::Clear { deployment, component, keep: None, gone }, None).await
    }

    async fn remove(&self, app: &App) {
        let action = Action::Remove { deployment: app.id.clone(), purge: false, images: false };
        self.perform(action, None).await.unwrap();
    }

    async fn install(&self, app: &App) {
        self.prepare(app).await.unwrap();
        self.start(app).await.unwrap();
        self.until_healthy(app).await;
    }

    async fn look(&self, app: &App) -> BTreeMap<String, Container> {
        let all = self.runtime.observe(&BTreeSet::from([app.id.clone()])).await.unwrap();
        let own = all.containers.into_iter().filter(|it| it.deployment == app.id);
        own.map(|it| (it.service.clone(), it)).collect()
    }

    async fn until_healthy(&self, app: &App) -> BTreeMap<String, Container> {
        let well = |it: &Container| it.status == Status::Running && it.health == Health::Healthy;
        self.until(app, "healthy", |it| it.len() == 2 && it.values().all(well)).await
    }

    /// Looks each time something changed, and as the node does, until `reached`.
    async fn until(
        &self,
        app: &App,
        what: &str,
        reached: impl Fn(&BTreeMap<String, Container>) -> bool,
    ) -> BTreeMap<String, Container> {
        let mut seen = BTreeMap::new();
        let wait = async {
            loop {
                seen = self.look(app).await;
                if reached(&seen) {
                    return;
                }
                let patrol = tokio::time::timeout(Duration::from_secs(2), self.runtime.changed());
                let _ = patrol.await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(90), wait).await;
        assert!(in_time.is_ok(), "{}: not {what}: {seen:#?}", app.subject.document.metadata.name);
        seen
    }

    async fn lines(&self, app: &App) -> Vec<String> {
        let query = LogQuery { lines: 10, ..LogQuery::default() };
        let page = self.runtime.logs(&app.id, &query).await.unwrap();
        page.lines.into_iter().map(|it| it.text).collect()
    }
}

impl App {
    fn parts(&self) -> (DeploymentId, colony_core::margo::ComponentName, Digest) {
        (self.id.clone(), self.subject.component.name.clone(), self.fingerprint)
    }
}

fn prepare(app: &App) -> Action {
    let (deployment, component, fingerprint) = app.parts();
    Action::Prepare { deployment, component, fingerprint, refresh: false }
}

fn stage(app: &App) -> Action {
    let (deployment, component, fingerprint) = app.parts();
    Action::Stage { deployment, component, fingerprint }
}

fn app(name: &str, repository: &str, version: &str, parameters: &str) -> App {
    app_at("default", name, repository, version, parameters)
}

fn app_at(namespace: &str, name: &str, repository: &str, version: &str, parameters: &str) -> App {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&Digest::of(name.as_bytes()).as_bytes()[..16]);
    let id = DeploymentId::from_bytes(bytes);
    let parameter = |(number, line): (usize, &str)| {
        let (pointer, value) = line.split_once(": ").unwrap();
        format!(
            "    p{number}:\n      value: {value}\n      targets:\n        - {{ pointer: {pointer}, components: [web] }}\n"
        )
    };
    let parameters: String = parameters.lines().enumerate().map(parameter).collect();
    let parameters = match parameters.as_str() {
        "" => String::new(),
        some => format!("  parameters:\n{some}"),
    };
    let text = format!(
        "id: {id}\nmetadata: {{ name: {name}, namespace: {namespace}, deviceId: n1 }}\nspec:\n  \
         applicationId: hello\n  deploymentProfile:\n    type: helm\n    components:\n      \
         - name: web\n        properties: {{ repository: \"{repository}\", revision: {version} }}\n\
         {parameters}"
    );
    let document = ApplicationDeployment::parse(text.as_bytes()).unwrap().value;
    let component = document.spec.profile.components[0].clone();
    let fingerprint = fingerprint(&document, &component);
    App { id, fingerprint, subject: Subject { document, component } }
}

fn names(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|it| (*it).to_owned()).collect()
}
