//! A site that runs: its directory, its repository, its orchestrator, nodes.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::Duration;

use colony_core::event::Body;
use colony_core::id::GitRevision;
use colony_core::margo::StateManifest;
use colony_git::{Batch, Deployments, Edit};
use colony_local::Config;
use colony_testkit::{App, capabilities, status};
use colony_wfm::{Client, Credentials, Joined, Link, Poll, PrivateKey, Trust, join, tls};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::central::Central;
use crate::{now, soon};

pub(crate) struct Plant {
    pub(crate) central: Central,
    pub(crate) repo: Deployments,
    dir: TempDir,
    /// Kept over restarts, so that nodes find it again.
    listen: Mutex<SocketAddr>,
}

/// An orchestrator on a thread and a runtime of its own, so that it can die.
pub(crate) struct Running {
    pub(crate) socket: PathBuf,
    stop: CancellationToken,
    kill: CancellationToken,
    thread: JoinHandle<Option<anyhow::Result<()>>>,
}

/// A node as the network sees it.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) client: Client,
    url: String,
}

impl Plant {
    pub(crate) async fn new() -> Plant {
        let dir = TempDir::new().expect("a directory");
        let repo = Deployments::hosted(&dir.path().join("deployments.git")).expect("a repository");
        let central = Central::start(&dir.path().join("deployments.git")).await;
        let listen = Mutex::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        Plant { central, repo, dir, listen }
    }

    pub(crate) fn config(&self, token: Option<String>) -> Config {
        let mut config = Config::new(self.dir.path().join("local"));
        config.listen = *self.listen.lock().expect("no panic");
        config.join = token;
        config
    }

    /// Who the site is in the fleet, as it is kept.
    pub(crate) fn fleet_identity(&self) -> Credentials {
        let kept = Credentials::load(&self.dir.path().join("local/fleet"));
        kept.expect("it is readable").expect("it is there")
    }

    /// Starts the orchestrator, with a token the first time.
    pub(crate) async fn start(&self, token: Option<String>) -> Running {
        let config = self.config(token);
        let (stop, kill) = (CancellationToken::new(), CancellationToken::new());
        let (tell, told) = oneshot::channel();
        let (stopped, killed) = (stop.clone(), kill.clone());
        let thread = std::thread::spawn(move || run(config, tell, stopped, killed));
        let (addr, socket) = told.await.expect("it starts");
        *self.listen.lock().expect("no panic") = addr;
        Running { socket, stop, kill, thread }
    }

    /// Joins, and waits until the site works.
    pub(crate) async fn first_start(&self) -> Running {
        let running = self.start(Some(self.central.site_token("site-1", 3_600))).await;
        self.central.event(|it| it.body == Body::Ready).await;
        running
    }

    /// Writes a deployment into Git without telling anybody.
    pub(crate) fn commit(&self, app: &App) -> GitRevision {
        self.write(&app.name, Some(app.text(&"plant".parse().expect("a name"))))
    }

    fn write(&self, name: &str, text: Option<String>) -> GitRevision {
        let path = format!("deployments/plant/{name}.yaml");
        let expected = self.repo.blob_at(&path).expect("a look");
        let edits = vec![Edit { path, expected, text, only_with: None }];
        let batch = Batch {
            message: format!("change {name}"),
            trailers: Vec::new(),
            author: "ana <ana@example.org>".to_owned(),
            at_unix: now(),
            edits,
        };
        self.repo.write(&batch).expect("it is written").revision.expect("a commit")
    }

    /// Writes a deployment into Git, and CO says so.
    pub(crate) fn deploy(&self, app: &App) -> GitRevision {
        let head = self.commit(app);
        self.central.hint(|it| it.head = Some(head.clone()));
        head
    }

    /// Takes a deployment out of Git, and CO says so.
    pub(crate) fn undeploy(&self, name: &str) {
        let head = self.write(name, None);
        self.central.hint(|it| it.head = Some(head.clone()));
    }

    /// A node that has joined and reported its capabilities.
    pub(crate) async fn node(&self, name: &str) -> Node {
        let token = self.central.node_token(&format!("node-{name}"), 3_600).await;
        let key = PrivateKey::generate().expect("a key");
        let node = Node::join(&token, &key, Some(name)).await.expect("it joins");
        let own = capabilities(name, "amd64", "");
        let device = name.parse().expect("an id");
        node.client.capabilities(&device, &own).await.expect("they are taken");
        node
    }
}

fn run(
    config: Config,
    tell: oneshot::Sender<(SocketAddr, PathBuf)>,
    stop: CancellationToken,
    kill: CancellationToken,
) -> Option<anyhow::Result<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let ended = runtime.block_on(async {
        let local = colony_local::start(config).await.expect("it starts");
        let _ = tell.send((local.addr(), local.socket_path().to_owned()));
        tokio::select! {
            ended = local.run(stop) => Some(ended),
            () = kill.cancelled() => None,
        }
    });
    runtime.shutdown_background();
    ended
}

impl Running {
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        let ended = tokio::task::spawn_blocking(|| self.thread.join());
        let ended = tokio::time::timeout(Duration::from_secs(20), ended).await;
        let ended = ended.expect("it ends in time").expect("it ends").expect("without a panic");
        ended.expect("it was not killed").expect("it ends well");
    }

    /// Dies where it stands.
    pub(crate) async fn kill(self) {
        self.kill.cancel();
        let ended = tokio::task::spawn_blocking(|| self.thread.join()).await;
        assert!(ended.expect("it ends").expect("without a panic").is_none());
    }
}

fn client(joined: Joined, key: &PrivateKey, url: &str) -> Client {
    let (chain_pem, roots_pem) = (joined.chain, joined.roots);
    let own = Credentials { chain_pem, key_pem: key.to_pem(), roots_pem };
    let expect = own.manager().expect("a manager");
    let trust = Trust::Roots { pem: &own.roots_pem, expect };
    let tls = tls::client_config(Some(&own), trust).expect("TLS");
    Client::new(Link::new(url, tls).expect("a URL"))
}

impl Node {
    pub(crate) async fn join(
        token: &str,
        key: &PrivateKey,
        name: Option<&str>,
    ) -> Result<Node, join::JoinError> {
        let csr = key.csr().expect("a request");
        let (joined, url) = join::join(token, &csr, name, now()).await?;
        let name = joined.name.clone();
        Ok(Node { name, client: client(joined, key, &url), url })
    }

    /// Its client with another identity.
    pub(crate) fn with(&self, joined: Joined, key: &PrivateKey) -> Client {
        client(joined, key, &self.url)
    }

    /// Polls until the manifest lists `count` deployments.
    pub(crate) async fn manifest(&self, count: usize) -> (StateManifest, String) {
        soon("the manifest", self.manifest_of(count)).await
    }

    async fn manifest_of(&self, count: usize) -> (StateManifest, String) {
        let mut have: Option<String> = None;
        loop {
            let wait = Duration::from_secs(10);
            let poll = self.client.manifest(have.as_deref(), None, wait).await;
            match poll {
                Ok(Poll::Manifest { bytes, etag, .. }) => {
                    let manifest = StateManifest::parse(&bytes).expect("a manifest");
                    if manifest.deployments.len() == count {
                        return (manifest, etag.expect("an ETag"));
                    }
                    have = etag;
                }
                Ok(Poll::Unchanged { .. }) => {}
                Err(error) => panic!("{}: {error:?}", self.name),
            }
        }
    }

    pub(crate) async fn report(&self, app: &str, state: &str, adopted: u64, number: u64) {
        let status = status(&colony_testkit::deployment_id(app), state, adopted, number);
        self.client.status(&status).await.expect("it is taken");
    }
}
