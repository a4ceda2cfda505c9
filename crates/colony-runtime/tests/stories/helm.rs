//! Charts on a real cluster.

pub(crate) mod by_hand;
pub(crate) mod changes;
mod charts;
pub(crate) mod claims;
pub(crate) mod hooks;
pub(crate) mod refusals;
pub(crate) mod releases;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use colony_core::attempt::Failure;
use colony_core::margo::{ApplicationDeployment, DeploymentId, Digest};
use colony_core::node::image::ImagePolicy;
use colony_core::node::{Action, Container, Health, Prepared, Status, fingerprint};
use colony_runtime::{Choice, Config, CredentialStore, LogQuery, Registries, Runtime, Subject};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::benches::HelmBench;
use crate::cluster::{Cluster, ClusterUse};
use crate::conformance;
use crate::kit::Registry;
use crate::stories::world::credentials;

pub(crate) struct World {
    pub(crate) cluster: Cluster,
    registry: Registry,
    dir: TempDir,
    runtime: Runtime,
    _stop: DropGuard,
}

#[derive(Clone)]
pub(crate) struct App {
    id: DeploymentId,
    fingerprint: Digest,
    pub(crate) subject: Subject,
}

/// All behaviours that engines have in common.
pub(crate) async fn conforms(world: &World) {
    conformance::run_all(&mut HelmBench::new(world).await).await;
}

impl World {
    /// On the cluster of this run of tests, beside other tests or alone.
    /// `None` where the programs of Kubernetes were not built yet.
    pub(crate) async fn open(turn: ClusterUse) -> Option<World> {
        let cluster = Cluster::open(turn)?;
        let registry = Registry::at(cluster.registry());
        registry.push_image("busybox", "1", json!({ "Cmd": ["/bin/sleep", "3600"] }));
        charts::publish(&registry, &format!("{}/busybox:1", registry.host));
        let dir = tempfile::tempdir().unwrap();
        let runtime = World::runtime(&cluster, "a/n1", dir.path()).await;
        let stop = CancellationToken::new();
        let (listener, token) = (runtime.clone(), stop.clone());
        tokio::spawn(async move { listener.run(token).await });
        Some(World { cluster, registry, dir, runtime, _stop: stop.drop_guard() })
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
            registries: Registries {
                credentials: CredentialStore::files(Some(credentials(dir)), Vec::new()),
                ..Registries::default()
            },
            images: ImagePolicy::default(),
            policy: colony_runtime::DocumentPolicy::default(),
        };
        Runtime::connect(config).await
    }

    /// Puts a user with a password, as `user:password`, where the node looks.
    fn write_password(&self, host: &str, login: &str) {
        let auth = STANDARD.encode(login);
        let file = json!({ "auths": { host: { "auth": auth } } });
        std::fs::write(credentials(self.dir.path()), file.to_string()).unwrap();
    }

    /// A deployment of the chart with parameters, one a line: `pointer: value`.
    pub(crate) fn app(&self, name: &str, version: &str, parameters: &str) -> App {
        self.app_in("default", name, version, parameters)
    }

    fn app_in(&self, namespace: &str, name: &str, version: &str, parameters: &str) -> App {
        let repository = format!("oci://{}/hello", self.registry.host);
        app_at(namespace, name, &repository, version, parameters)
    }

    /// A deployment of another chart than `hello`, with its name.
    fn of_chart(&self, chart: &str, parameters: &str) -> App {
        self.of_chart_as(chart, chart, parameters)
    }

    /// One with the stateful set.
    fn database(&self, name: &str, parameters: &str) -> App {
        self.of_chart_as("database", name, parameters)
    }

    /// One with a hook, and nothing else.
    fn hooked(&self, name: &str, parameters: &str) -> App {
        self.of_chart_as("hooked", name, parameters)
    }

    fn of_chart_as(&self, chart: &str, name: &str, parameters: &str) -> App {
        let repository = format!("oci://{}/{chart}", self.registry.host);
        app(name, &repository, "1.0.0", parameters)
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

    /// Removes it with its volumes.
    async fn purge(&self, app: &App) {
        let action = Action::Remove { deployment: app.id.clone(), purge: true, images: false };
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
    /// With a timeout of its component.
    fn within(mut self, timeout: &str) -> App {
        self.subject.component.properties.timeout = Some(timeout.parse().unwrap());
        self
    }

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
