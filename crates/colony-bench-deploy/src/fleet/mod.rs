//! The fleet that is measured: a central orchestrator, a site and its nodes,
//! each a process of its own, as on as many machines. Beside it: one process
//! and where its memory is, and a node without an engine.

pub(crate) mod maps;
pub(crate) mod pretend;
pub(crate) mod process;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};

use colony_api::request::{Invite, SiteAdd};
use colony_api::{Client, Server};

use crate::fleet::process::Process;

/// The site of all nodes.
pub(crate) const SITE: &str = "bench";
/// How long a role may take to do what it is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the per-stage table is made of; a dozen lines per deployment.
const LOGS: &str =
    "info,colony_central=debug,colony_local=debug,colony_node=debug,colony_runtime=debug";

/// The programs, and where everything is kept.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) colony: PathBuf,
    /// The build for a site, or `colony` once more.
    pub(crate) local: PathBuf,
    /// The node-only build, or `colony` once more.
    pub(crate) node: PathBuf,
    pub(crate) dir: PathBuf,
}

/// A role: how it is started, and its process while it runs.
#[derive(Debug)]
pub(crate) struct Role {
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
    log: PathBuf,
    process: Option<Process>,
    /// Where the role answers on this machine.
    pub(crate) port: u16,
}

impl Role {
    /// Each role runs a copy of its program of its own: on one machine they
    /// would share its pages, and on several they do not.
    fn new(
        setup: &Setup,
        program: &Path,
        name: &str,
        port: u16,
        words: &[&str],
    ) -> anyhow::Result<Role> {
        let copy = setup.dir.join(format!("{name}.program"));
        std::fs::copy(program, &copy)
            .with_context(|| format!("could not copy {}", program.display()))?;
        let data = setup.dir.join(name).display().to_string();
        let own = ["--data", data.as_str()].into_iter().chain(words.iter().copied());
        Ok(Role {
            program: copy,
            arguments: own.map(str::to_owned).collect(),
            environment: vec![
                ("COLONY_CONTEXTS", contexts(&setup.dir).display().to_string()),
                ("COLONY_LOG_FORMAT", "json".to_owned()),
                ("COLONY_LOG_LEVEL", LOGS.to_owned()),
            ],
            log: setup.dir.join(format!("{name}.log")),
            process: None,
            port,
        })
    }

    pub(crate) fn start(&mut self) -> anyhow::Result<()> {
        let words: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        self.process = Some(Process::start(&self.program, &words, &self.environment, &self.log)?);
        Ok(())
    }

    pub(crate) async fn stop(&mut self) -> anyhow::Result<()> {
        match self.process.take() {
            Some(process) => process.stop().await,
            None => Ok(()),
        }
    }

    pub(crate) fn process(&mut self) -> anyhow::Result<&mut Process> {
        self.process.as_mut().context("the role does not run")
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }
}

#[derive(Debug)]
pub(crate) struct Fleet {
    pub(crate) setup: Setup,
    pub(crate) client: Client,
    pub(crate) central: Role,
    pub(crate) local: Role,
    pub(crate) nodes: BTreeMap<String, Role>,
}

impl Fleet {
    pub(crate) async fn start(setup: Setup) -> anyhow::Result<Fleet> {
        let port = free_port()?;
        let listen = format!("127.0.0.1:{port}");
        let words = ["central", "--listen", &listen];
        let mut central = Role::new(&setup, &setup.colony, "central", port, &words)?;
        central.start()?;
        let client = client(&setup.dir, port).await?;
        wait("the central orchestrator", async || Ok(client.status().await.is_ok())).await?;
        let add = SiteAdd { name: SITE.to_owned(), ..SiteAdd::default() };
        let token = client.site_add(&add).await.context("could not add the site")?.token;
        let port = free_port()?;
        let listen = format!("127.0.0.1:{port}");
        let words = ["local", "--join", &token, "--listen", &listen];
        let mut local = Role::new(&setup, &setup.local, "local", port, &words)?;
        local.start()?;
        Ok(Fleet { setup, client, central, local, nodes: BTreeMap::new() })
    }

    /// One more node, on the engine at `place`. The node-only build knows Docker
    /// and Podman, which are sockets; for other engines it is the complete one.
    pub(crate) async fn node_add(&mut self, name: &str, place: &str) -> anyhow::Result<()> {
        let token = self.invitation().await?;
        let port = free_port()?;
        let health = format!("127.0.0.1:{port}");
        let words =
            ["node", "--join", &token, "--name", name, "--engine", place, "--health", &health];
        let is_socket = !place.contains(':');
        let program = if is_socket { &self.setup.node } else { &self.setup.colony };
        let mut node = Role::new(&self.setup, program, name, port, &words)?;
        node.start()?;
        self.nodes.insert(name.to_owned(), node);
        Ok(())
    }

    /// The site has to have introduced itself before it can be asked.
    async fn invitation(&self) -> anyhow::Result<String> {
        let mut token = String::new();
        wait("an invitation", async || {
            let invited = self.client.node_invite(SITE, &Invite::default()).await;
            token = invited.as_ref().map(|it| it.token.clone()).unwrap_or_default();
            Ok(invited.is_ok())
        })
        .await?;
        Ok(token)
    }

    /// Waits until every node is online at the central orchestrator.
    pub(crate) async fn online(&mut self) -> anyhow::Result<()> {
        let (client, expected) = (self.client.clone(), self.nodes.len());
        wait("the nodes", async || {
            let nodes = client.node_list(Some(SITE)).await?;
            let online = |it: &&colony_api::view::NodeView| {
                serde_json::to_value(it.presence).is_ok_and(|it| it == "online")
            };
            Ok(nodes.iter().filter(online).count() == expected)
        })
        .await?;
        let main = [&mut self.central, &mut self.local].into_iter();
        main.chain(self.nodes.values_mut()).try_for_each(|it| it.process()?.check())
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.setup.dir.join("local/local/local.sock")
    }

    /// The certificate of a node, and where its site is.
    pub(crate) fn identity(&self, node: &str) -> PathBuf {
        self.setup.dir.join(node).join("node/identity")
    }

    /// Where a node keeps what belongs to its engine.
    pub(crate) fn engine_folder(&self, node: &str) -> PathBuf {
        self.setup.dir.join(node).join("node/engine")
    }

    pub(crate) fn contexts(&self) -> PathBuf {
        contexts(&self.setup.dir)
    }

    /// Ends every role, the ones that depend on others first.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        for node in self.nodes.values_mut() {
            node.stop().await?;
        }
        self.local.stop().await?;
        self.central.stop().await
    }
}

pub(crate) fn contexts(dir: &Path) -> PathBuf {
    dir.join("contexts.toml")
}

/// The central orchestrator writes its first operator's token down.
pub(crate) async fn client(dir: &Path, port: u16) -> anyhow::Result<Client> {
    let (token, ca) =
        (dir.join("central/central/admin.token"), dir.join("central/central/ca/ca.pem"));
    wait("the operator's token", async || Ok(token.exists() && ca.exists())).await?;
    let token = std::fs::read_to_string(token)?.trim().to_owned();
    let (token, ca_pem) = (Some(token), Some(std::fs::read_to_string(ca)?));
    Ok(Client::new(Server { url: format!("https://127.0.0.1:{port}"), token, ca_pem })?)
}

/// A port that no process listens on. It is below those that the system gives to
/// outgoing connections, so that it is still free when the role starts.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(12_000);
    std::iter::repeat_with(|| NEXT.fetch_add(1, Ordering::Relaxed))
        .take_while(|it| *it < 32_000)
        .find(|it| TcpListener::bind(("127.0.0.1", *it)).is_ok())
        .context("no port below 32000 is free")
}

/// Asks every few milliseconds.
pub(crate) async fn wait(
    what: &str,
    mut is_so: impl AsyncFnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let asking = async {
        while !is_so().await? {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        anyhow::Ok(())
    };
    match tokio::time::timeout(PATIENCE, asking).await {
        Ok(asked) => asked.with_context(|| format!("could not wait for {what}")),
        Err(_) => bail!("waited in vain for {what}"),
    }
}
