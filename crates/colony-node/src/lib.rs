//! The execution node: the shell around `colony_core::node`.
//!
//! Five tasks share one `Brain` (the core, its journal and its clock): `poll`
//! asks the manager for the manifest and thereby shows that the node lives,
//! `act` does what the core wants and looks at the engine, `report` tells the
//! manager until it has taken it, `relay` tells it how the node is, `health`
//! answers `/healthz`, `/readyz` and `/metrics` on the machine itself. Every
//! step is on disk before anything follows from it; from disk alone the node
//! boots its last accepted state.

mod act;
mod actions;
mod alarm;
mod brain;
mod capabilities;
mod clock;
mod engine;
mod health;
mod identity;
mod journal;
mod logs;
mod manager;
mod metrics;
mod poll;
mod relay;
mod renew;
mod report;
mod service;
mod vitals;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tracing::info;

use colony_runtime::Runtime;
use colony_task::{Access, RoleFolder, Tasks};

pub use colony_core::node::Policy;
pub use colony_runtime::Choice;
pub use identity::Identity;

use brain::Brain;
use manager::Manager;
use vitals::Vitals;

/// How a node is set up.
#[derive(Debug, Clone)]
pub struct Config {
    pub data: PathBuf,
    /// The invitation; needed once.
    pub join: Option<String>,
    /// The name to join with; the host's name if absent.
    pub name: Option<String>,
    pub engine: Choice,
    pub labels: BTreeMap<String, String>,
    /// Where `/healthz` and the like are answered; nowhere if absent.
    pub health: Option<SocketAddr>,
    /// Registries that speak plain HTTP, besides those on this machine.
    pub insecure_registries: BTreeSet<String>,
    /// Set in every container, such as where telemetry goes.
    pub environment: BTreeMap<String, String>,
    pub policy: Policy,
}

/// A node that has its identity and its engine and is about to work.
#[derive(Debug)]
pub struct Node {
    brain: Arc<Brain>,
    manager: Arc<Manager>,
    runtime: Runtime,
    identity: Identity,
    config: Config,
    health: Option<health::Listener>,
    /// The engine's service, if this node had to start it.
    service: Option<service::Service>,
    /// Of this process alone.
    folder: RoleFolder,
}

impl Node {
    /// Joins if it has to, finds the engine and reads what it knew.
    pub async fn start(config: Config) -> anyhow::Result<Node> {
        // Before anything that cannot be done twice, such as joining.
        let folder = RoleFolder::open(&config.data, Access::Owner).await?;
        let health = match config.health {
            Some(address) => Some(health::Listener::bind(address).await?),
            None => None,
        };
        let returning = identity::is_known(&config);
        let identity = identity::obtain(&config).await?;
        let manager = Arc::new(Manager::new(&identity)?);
        let (runtime, service) = engine::find(&config, &identity, &manager, returning).await?;
        let brain = Arc::new(Brain::open(&config, &identity)?);
        Ok(Node { brain, manager, runtime, identity, config, health, service, folder })
    }

    pub fn name(&self) -> &str {
        &self.identity.name
    }

    pub fn site(&self) -> &str {
        &self.identity.site
    }

    /// What runs the containers, such as `podman 4.3.1`.
    pub fn engine(&self) -> String {
        let engine = self.runtime.engine();
        format!("{} {}", engine.kind, engine.version)
    }

    pub fn health_address(&self) -> Option<SocketAddr> {
        self.health.as_ref().map(health::Listener::address)
    }

    /// Works until `stop`; what runs is left running.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Node { brain, manager, runtime, identity, config, health, service, folder } = self;
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
        let poll = poll::Poll::new(brain.clone(), manager.clone(), runtime.clone(), own);
        tasks.spawn("poll", poll.run(stop.clone()));
        tasks.spawn("renew", renew::run(manager.clone(), config.data.clone(), stop.clone()));
        let vitals = Vitals { brain, runtime };
        tasks.spawn("relay", relay::run(vitals.clone(), manager.clone(), stop.clone()));
        if let Some(listener) = health {
            tasks.spawn("health", health::run(listener, vitals, manager, stop));
        }
        let ended = match service {
            None => tasks.join().await,
            Some(mut service) => tokio::select! {
                never = service.keep() => match never {},
                ended = tasks.join() => ended,
            },
        };
        drop(folder);
        ended
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
            engine: Choice::Auto,
            labels: BTreeMap::new(),
            health: None,
            insecure_registries: BTreeSet::new(),
            environment: BTreeMap::new(),
            policy: Policy::default(),
        };
        let second = Node::start(config).await.expect_err("it is in use");
        let process = format!("in use by process {}", std::process::id());
        assert!(second.to_string().contains(&process), "{second}");
    }
}
