//! The execution node: the shell around `colony_core::node`.
//!
//! A node whose engine does not answer still joins, reports the reason
//! (`relay`, `health`) and starts its work when the engine is available.
//!
//! Five tasks share one `Brain` (the core, its journal and its clock): `poll`
//! requests the manifest, which is also the node's sign of life, `act` executes
//! the actions of the core and looks at the engine, `report` sends reports
//! until the manager has accepted them, `relay` sends the health of the node,
//! `health` serves `/healthz`, `/readyz` and `/metrics` on the machine itself.
//! Every step is on disk before it has effects; the node boots its last
//! accepted state from disk alone.

mod act;
mod brain;
mod clock;
mod engine;
mod health;
mod identity;
#[cfg(test)]
mod kit;
mod manager;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tracing::info;

use colony_process::{Access, RoleFolder, Tasks};
use colony_runtime::Runtime;

pub use colony_core::node::Policy;
pub use colony_core::node::image::ImagePolicy;
pub use colony_runtime::{Choice, CredentialStore, DocumentPolicy, usual_credential_files};
pub use identity::Identity;
pub use manager::NodeRefused;

use brain::Brain;
use engine::service::Service;
use engine::{Finder, Slot, capabilities};
use health::vitals::Vitals;
use identity::renew;
use manager::{Manager, poll, relay, report};

/// The configuration of a node.
#[derive(Debug, Clone)]
pub struct Config {
    pub data: PathBuf,
    /// The invitation; needed once.
    pub join: Option<String>,
    /// The name to join with; the host's name if absent.
    pub name: Option<String>,
    /// The engines to use, one for each type of profile; at least one.
    pub engines: Vec<Choice>,
    /// The program `helm`; looked for in `PATH` if absent.
    pub helm: Option<PathBuf>,
    pub labels: BTreeMap<String, String>,
    /// Where `/healthz` and the like are served; nowhere if absent.
    pub health: Option<SocketAddr>,
    /// Registries that use plain HTTP, besides those on this machine.
    pub insecure_registries: BTreeSet<String>,
    /// How long images are kept that nothing needs.
    pub images: ImagePolicy,
    /// What deployments may ask for.
    pub documents: DocumentPolicy,
    /// Credentials for registries, for archives and images.
    pub credentials: CredentialStore,
    /// Variables of every container, such as the telemetry endpoint.
    pub environment: BTreeMap<String, String>,
    pub policy: Policy,
}

/// A node that has its identity and is about to work.
#[derive(Debug)]
pub struct Node {
    brain: Arc<Brain>,
    manager: Arc<Manager>,
    identity: Identity,
    config: Config,
    health: Option<health::Listener>,
    finder: Finder,
    /// The engine, with its service if this node had to start it.
    found: Option<(Runtime, Option<Service>)>,
    /// Locked for this process.
    folder: RoleFolder,
}

impl Node {
    /// Joins if necessary, looks for the engine and loads the stored state.
    /// `run` waits for an engine that does not answer.
    pub async fn start(config: Config) -> anyhow::Result<Node> {
        // Locks before anything that cannot be repeated, such as joining.
        let folder = RoleFolder::open(&config.data, Access::Owner).await?;
        let health = match config.health {
            Some(address) => Some(health::Listener::bind(address).await?),
            None => None,
        };
        let identity = identity::obtain(&config).await?;
        let manager = Arc::new(Manager::new(&identity)?);
        let brain = Arc::new(Brain::open(&config, &identity)?);
        let finder = Finder {
            config: config.clone(),
            identity: identity.clone(),
            manager: manager.clone(),
            slot: Slot::default(),
        };
        let found = finder.look().await;
        Ok(Node { brain, manager, identity, config, health, finder, found, folder })
    }

    pub fn name(&self) -> &str {
        &self.identity.name
    }

    pub fn site(&self) -> &str {
        &self.identity.site
    }

    /// The container engine, such as `podman 4.3.1`, or what the node waits
    /// for.
    pub fn engine(&self) -> String {
        match self.finder.slot.runtime() {
            Ok(runtime) => {
                let engines = runtime.engines().map(|it| format!("{} {}", it.kind, it.version));
                engines.collect::<Vec<_>>().join(", ")
            }
            Err(why) => format!("waiting for the container engine: {why}"),
        }
    }

    /// Works until `stop`; containers keep running. Ends with [`NodeRefused`] when
    /// the site no longer accepts the node.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Node { brain, manager, identity, config, health, finder, found, folder } = self;
        let vitals = Vitals {
            brain: brain.clone(),
            engine: finder.slot.clone(),
            credentials: config.credentials.clone(),
        };
        let mut tasks = Tasks::new(stop.clone());
        tasks.spawn("renew", renew::run(manager.clone(), config.data.clone(), stop.clone()));
        tasks.spawn("relay", relay::run(vitals.clone(), manager.clone(), stop.clone()));
        if let Some(listener) = health {
            tasks.spawn("health", health::run(listener, vitals, manager.clone(), stop.clone()));
        }
        let work = Work { brain, manager, identity, config };
        tasks.spawn("work", async move {
            let found = match found {
                Some(found) => Some(found),
                None => stop.run_until_cancelled(finder.wait()).await,
            };
            match found {
                Some((runtime, service)) => work.run(runtime, service, stop).await,
                None => Ok(()),
            }
        });
        let ended = tasks.join().await;
        drop(folder);
        ended
    }
}

/// What a node needs to work once it has an engine.
struct Work {
    brain: Arc<Brain>,
    manager: Arc<Manager>,
    identity: Identity,
    config: Config,
}

impl Work {
    async fn run(
        self,
        runtime: Runtime,
        service: Option<Service>,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        let Work { brain, manager, identity, config } = self;
        info!(node = identity.name, site = identity.site, "node works");
        let own = capabilities::detect(&config, &identity, &runtime).await?;
        let mut tasks = Tasks::new(stop.clone());
        let engine = runtime.clone();
        let engine_stop = stop.clone();
        tasks.spawn("engine watch", async move {
            engine.run(engine_stop).await;
            Ok(())
        });
        tasks.spawn("act", act::run(brain.clone(), runtime.clone(), own.clone(), stop.clone()));
        tasks.spawn("report", report::run(brain.clone(), manager.clone(), stop.clone()));
        let poll = poll::Poll::new(brain, manager, Arc::new(runtime), own);
        tasks.spawn("poll", poll.run(stop));
        let Some(mut service) = service else { return tasks.join().await };
        tokio::select! {
            never = service.keep() => match never {},
            ended = tasks.join() => ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_second_process_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let data = dir.path().join("node");
        let _first = RoleFolder::open(&data, Access::Owner).await.expect("it is free");
        let config = Config {
            data,
            join: None,
            name: None,
            engines: vec![Choice::Auto],
            helm: None,
            labels: BTreeMap::new(),
            health: None,
            insecure_registries: BTreeSet::new(),
            images: ImagePolicy::default(),
            documents: DocumentPolicy::default(),
            credentials: CredentialStore::default(),
            environment: BTreeMap::new(),
            policy: Policy::default(),
        };
        let second = Node::start(config).await.expect_err("it is in use");
        let process = format!("in use by process {}", std::process::id());
        assert!(second.to_string().contains(&process), "{second}");
    }
}
