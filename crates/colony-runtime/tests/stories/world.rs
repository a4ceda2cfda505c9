//! What a story happens in: an engine, a registry, one node's runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use colony_core::attempt::Failure;
use colony_core::margo::{ApplicationDeployment, DeploymentId, Digest};
use colony_core::node::image::ImagePolicy;
use colony_core::node::{Action, Container, Health, Prepared, Status, fingerprint};
use colony_runtime::{
    Choice, Config, CredentialStore, DocumentPolicy, Fetched, LogQuery, Registries, Runtime,
    Source, Subject,
};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::kit::{Engine, Registry};

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) registry: Arc<Registry>,
    pub(crate) node: Node,
}

/// A node with its folder, and the task that listens for it.
pub(crate) struct Node {
    pub(crate) runtime: Runtime,
    pub(crate) identity: String,
    name: String,
    dir: TempDir,
    stop: DropGuard,
    task: JoinHandle<()>,
}

/// One deployment with one component, `web`.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) id: DeploymentId,
    pub(crate) fingerprint: Digest,
    pub(crate) subject: Subject,
}

/// Reads what lies on `colony.builtin` out of the registry.
struct Manager(Arc<Registry>);

#[async_trait::async_trait]
impl Source for Manager {
    async fn fetch(&self, path: &str, accept: &str, _limit: usize) -> Result<Fetched, String> {
        let (status, bytes) = self.0.get(path, accept);
        Ok(Fetched { status, content_type: String::new(), bytes: bytes.into() })
    }
}

impl World {
    pub(crate) async fn new(engine: Engine) -> World {
        let registry = Arc::new(Registry::start());
        // Redirects of ports are found by the identity, and tests share a host.
        let identity = format!("a-{}-{}/n1", engine.kind, std::process::id());
        let node = Node::start(&engine, &registry, &identity, tempfile::tempdir().unwrap()).await;
        World { engine, registry, node }
    }

    /// Publishes a component `name` that says `compose` and returns its first
    /// deployment. `IMAGE` in the file stands for the busybox image.
    pub(crate) fn app(&self, name: &str, compose: &str) -> App {
        self.app_with(name, &[("compose.yaml", compose)], "")
    }

    /// A version of the deployment `name`, published as `repository`.
    pub(crate) fn version(&self, name: &str, repository: &str, compose: &str) -> App {
        let image = format!("{}/busybox:1", self.registry.host);
        let compose = compose.replace("IMAGE", &image);
        self.registry.push_component(repository, "1.0.0", &[("compose.yaml", &compose)]);
        app(name, &format!("oci://{}/{repository}", self.registry.host), "")
    }

    pub(crate) fn app_with(&self, name: &str, files: &[(&str, &str)], parameters: &str) -> App {
        let image = format!("{}/busybox:1", self.registry.host);
        let files: Vec<(&str, String)> =
            files.iter().map(|(name, text)| (*name, text.replace("IMAGE", &image))).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|it| (it.0, it.1.as_str())).collect();
        self.registry.push_component(name, "1.0.0", &files);
        app(name, &format!("oci://{}/{name}", self.registry.host), parameters)
    }

    /// Another process takes over the same node.
    pub(crate) async fn restart_node(&mut self) {
        let dir = std::mem::replace(&mut self.node.dir, tempfile::tempdir().unwrap());
        let identity = self.node.identity.clone();
        let next = Node::start(&self.engine, &self.registry, &identity, dir).await;
        std::mem::replace(&mut self.node, next).end().await;
    }
}

fn choice(engine: &Engine) -> Choice {
    match engine.kind {
        "containerd" => Choice::Containerd(Some(engine.socket.clone())),
        _ => Choice::Socket(engine.socket.clone()),
    }
}

/// The file with the node's credentials; absent unless a story writes it.
pub(crate) fn credentials(dir: &std::path::Path) -> std::path::PathBuf {
    dir.join("auth.json")
}

/// The deployment of the component at `repository`, with parameters in YAML.
pub(crate) fn app(name: &str, repository: &str, parameters: &str) -> App {
    let id = crate::kit::deployment(name);
    let text = format!(
        "id: {id}\nmetadata: {{ name: {name}, namespace: default, deviceId: n1 }}\nspec:\n  \
         applicationId: {name}\n  deploymentProfile:\n    type: compose\n    components:\n      \
         - name: web\n        properties: {{ repository: \"{repository}\", revision: 1.0.0 }}\n\
         {parameters}"
    );
    let document = ApplicationDeployment::parse(text.as_bytes()).unwrap().value;
    let component = document.spec.profile.components[0].clone();
    let fingerprint = fingerprint(&document, &component);
    App { id, fingerprint, subject: Subject { document, component } }
}

impl Node {
    /// `identity` is the site and the node's name there.
    pub(crate) async fn start(
        engine: &Engine,
        registry: &Arc<Registry>,
        identity: &str,
        dir: TempDir,
    ) -> Node {
        let runtime = Node::connect(engine, registry, identity, dir.path()).await.unwrap();
        Node::with(engine, identity, dir, runtime)
    }

    /// One with other settings, in a folder of its own.
    pub(crate) async fn start_with(
        world: &World,
        identity: &str,
        change: impl FnOnce(&mut Config),
    ) -> Node {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Node::config(&world.engine, &world.registry, identity, dir.path());
        change(&mut config);
        let runtime = Runtime::connect(config).await.unwrap();
        Node::with(&world.engine, identity, dir, runtime)
    }

    fn with(engine: &Engine, identity: &str, dir: TempDir, runtime: Runtime) -> Node {
        let name = identity.rsplit_once('/').unwrap().1;
        let kinds: Vec<&str> = runtime.engines().map(|it| it.kind.name()).collect();
        assert_eq!(kinds, [engine.kind]);
        let stop = CancellationToken::new();
        let (listener, token) = (runtime.clone(), stop.clone());
        let task = tokio::spawn(async move { listener.run(token).await });
        let (identity, name) = (identity.to_owned(), name.to_owned());
        Node { runtime, identity, name, dir, stop: stop.drop_guard(), task }
    }

    pub(crate) async fn connect(
        engine: &Engine,
        registry: &Arc<Registry>,
        identity: &str,
        dir: &std::path::Path,
    ) -> Result<Runtime, colony_runtime::Error> {
        Runtime::connect(Node::config(engine, registry, identity, dir)).await
    }

    fn config(
        engine: &Engine,
        registry: &Arc<Registry>,
        identity: &str,
        dir: &std::path::Path,
    ) -> Config {
        let name = identity.rsplit_once('/').unwrap().1;
        let manager: Arc<dyn Source> = Arc::new(Manager(Arc::clone(registry)));
        Config {
            node: name.parse().unwrap(),
            identity: identity.to_owned(),
            dir: dir.to_owned(),
            engines: vec![choice(engine)],
            helm: None,
            manager: Some(manager),
            environment: BTreeMap::from([("NODE_SAYS".to_owned(), "hello".to_owned())]),
            registries: Registries {
                credentials: CredentialStore::files(Some(credentials(dir)), Vec::new()),
                ..Registries::default()
            },
            images: ImagePolicy { keep: Duration::from_secs(3_600), low: 0 },
            policy: DocumentPolicy::default(),
        }
    }

    pub(crate) async fn end(self) {
        drop(self.stop);
        self.task.await.unwrap();
    }

    pub(crate) async fn prepare(&self, app: &App) -> Result<Prepared, Failure> {
        self.prepare_with(app, false).await
    }

    /// As after a failed attempt.
    pub(crate) async fn refresh(&self, app: &App) -> Result<Prepared, Failure> {
        self.prepare_with(app, true).await
    }

    async fn prepare_with(&self, app: &App, refresh: bool) -> Result<Prepared, Failure> {
        let (deployment, component, fingerprint) = app.parts();
        let action = Action::Prepare { deployment, component, fingerprint, refresh };
        self.runtime.perform(&action, Some(app.subject.clone())).await
    }

    pub(crate) async fn start_app(&self, app: &App) -> Result<Prepared, Failure> {
        let (deployment, component, fingerprint) = app.parts();
        let action = Action::Start { deployment, component, fingerprint };
        self.runtime.perform(&action, Some(app.subject.clone())).await
    }

    pub(crate) async fn stage(&self, app: &App) -> Result<Prepared, Failure> {
        let (deployment, component, fingerprint) = app.parts();
        let action = Action::Stage { deployment, component, fingerprint };
        self.runtime.perform(&action, Some(app.subject.clone())).await
    }

    pub(crate) async fn unstage(&self, app: &App) -> Result<Prepared, Failure> {
        let (deployment, component, _) = app.parts();
        self.runtime.perform(&Action::Unstage { deployment, component }, None).await
    }

    #[track_caller]
    pub(crate) fn clear(
        &self,
        app: &App,
        keep: Option<Digest>,
    ) -> impl Future<Output = Result<Prepared, Failure>> {
        let (deployment, component, _) = app.parts();
        let runtime = self.runtime.clone();
        let action = Action::Clear { deployment, component, keep, gone: false };
        async move { runtime.perform(&action, None).await }
    }

    pub(crate) async fn remove(&self, app: &App) {
        let action = Action::Remove { deployment: app.id.clone(), purge: false, images: false };
        self.runtime.perform(&action, None).await.unwrap();
    }

    /// Removes it, and its images are not kept.
    pub(crate) async fn remove_with_images(&self, app: &App) {
        let deployment = app.id.clone();
        let action = Action::Remove { deployment, purge: false, images: true };
        self.runtime.perform(&action, None).await.unwrap();
    }

    /// Removes it with its volumes.
    pub(crate) async fn purge(&self, app: &App) {
        let action = Action::Remove { deployment: app.id.clone(), purge: true, images: false };
        self.runtime.perform(&action, None).await.unwrap();
    }

    /// The active containers of the app, by service.
    pub(crate) async fn look(&self, app: &App) -> BTreeMap<String, Container> {
        self.look_at(app, false).await
    }

    pub(crate) async fn look_staged(&self, app: &App) -> BTreeMap<String, Container> {
        self.look_at(app, true).await
    }

    async fn look_at(&self, app: &App, staged: bool) -> BTreeMap<String, Container> {
        let all = self.runtime.observe(&BTreeSet::from([app.id.clone()])).await.unwrap();
        let own =
            all.containers.into_iter().filter(|it| it.deployment == app.id && it.staged == staged);
        own.map(|it| (it.service.clone(), it)).collect()
    }

    /// Looks each time something changed, until `reached`.
    pub(crate) async fn until(
        &self,
        app: &App,
        what: &str,
        reached: impl Fn(&BTreeMap<String, Container>) -> bool,
    ) -> BTreeMap<String, Container> {
        self.until_at(app, false, what, reached).await
    }

    /// The same of what is staged.
    pub(crate) async fn until_beside(
        &self,
        app: &App,
        what: &str,
        reached: impl Fn(&BTreeMap<String, Container>) -> bool,
    ) -> BTreeMap<String, Container> {
        self.until_at(app, true, what, reached).await
    }

    async fn until_at(
        &self,
        app: &App,
        staged: bool,
        what: &str,
        reached: impl Fn(&BTreeMap<String, Container>) -> bool,
    ) -> BTreeMap<String, Container> {
        let mut seen = BTreeMap::new();
        let wait = async {
            loop {
                seen = self.look_at(app, staged).await;
                if reached(&seen) {
                    return;
                }
                self.runtime.changed().await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(40), wait).await;
        assert!(in_time.is_ok(), "{} of {}: not {what}: {seen:#?}", app.id, self.name);
        seen
    }

    /// What it printed follows what it does, but not at once.
    pub(crate) async fn until_said(&self, app: &App, expected: &[(&str, &str)]) {
        let expected: Vec<(String, String)> =
            expected.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect();
        let mut said = Vec::new();
        let wait = async {
            while said != expected {
                said = self.lines(app, &LogQuery { lines: 10, ..LogQuery::default() }).await;
                tokio::task::yield_now().await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(20), wait).await;
        assert!(in_time.is_ok(), "{said:?}, not {expected:?}");
    }

    async fn lines(&self, app: &App, query: &LogQuery) -> Vec<(String, String)> {
        let page = self.runtime.logs(&app.id, query).await.unwrap();
        page.lines.into_iter().map(|it| (it.service, it.text)).collect()
    }

    /// The first line that it printed.
    pub(crate) async fn first_line(&self, app: &App) -> String {
        let wait = async {
            loop {
                let query = LogQuery { lines: 10, ..LogQuery::default() };
                if let Some((_, line)) = self.lines(app, &query).await.into_iter().next() {
                    return line;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), wait).await.expect("it prints a line")
    }

    /// What the containers before printed.
    pub(crate) async fn kept_logs(&self, app: &App) -> Vec<(String, String)> {
        self.lines(app, &LogQuery { previous: true, lines: 10, ..LogQuery::default() }).await
    }

    pub(crate) async fn until_healthy(&self, app: &App) -> BTreeMap<String, Container> {
        self.until(app, "healthy", |it| !it.is_empty() && it.values().all(is_healthy)).await
    }

    /// Those without a check run, the others are healthy.
    pub(crate) async fn until_well(&self, app: &App) -> BTreeMap<String, Container> {
        self.until(app, "well", |it| !it.is_empty() && it.values().all(is_well)).await
    }

    pub(crate) async fn until_staged(&self, app: &App) -> BTreeMap<String, Container> {
        self.until_beside(app, "staged", |it| !it.is_empty() && it.values().all(is_well)).await
    }

    pub(crate) fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }
}

fn is_well(container: &Container) -> bool {
    let unchecked = container.status == Status::Running && container.health == Health::None;
    unchecked || is_healthy(container)
}

fn is_healthy(container: &Container) -> bool {
    container.status == Status::Running && container.health == Health::Healthy
}

impl App {
    fn parts(&self) -> (DeploymentId, colony_core::margo::ComponentName, Digest) {
        (self.id.clone(), self.subject.component.name.clone(), self.fingerprint)
    }
}
