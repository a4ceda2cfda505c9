//! The networks of a deployment: they connect its components, and are removed
//! with it.
//!
//! Docker allows two networks with one name, so the names differ by deployment
//! and by node. Networks that have names of an earlier scheme keep them,
//! because containers use these networks.

use std::collections::BTreeSet;

use colony_core::attempt::Failure;
use colony_core::margo::{DeploymentId, Digest};
use tracing::debug;

use crate::compose::{Network, Project};
use crate::containers::api::ListedNetwork;
use crate::containers::component::work::{Names, Work};
use crate::containers::engine::ContainerEngine;
use crate::containers::engine_error::EngineError;
use crate::containers::label;
use crate::containers::scope::Ownership;
use crate::job::Job;

impl ContainerEngine {
    /// The engine's names of the project's networks, whether they exist or not.
    pub(crate) async fn network_names(
        &self,
        job: &Job,
        project: &Project,
    ) -> Result<Names, Failure> {
        let there = self.networks_of(&job.deployment, false).await;
        let there = there.map_err(|it| it.failed("look at the networks"))?;
        let there: BTreeSet<String> = there.into_iter().map(|it| it.name).collect();
        let called = |(name, network): (&String, &Network)| {
            let external = network.external.clone();
            (name.clone(), external.unwrap_or_else(|| self.network_name(job, name, &there)))
        };
        Ok(project.networks.iter().map(called).collect())
    }

    fn network_name(&self, job: &Job, name: &str, there: &BTreeSet<String>) -> String {
        let old = self.scope.name(&[&job.prefix(), name]);
        if there.contains(&old) {
            return old;
        }
        self.scope.name(&[&job.prefix(), name, &self.scope.mark(job.deployment.as_str())])
    }

    /// Ensures that the networks of the project exist. Returns whether any was
    /// created.
    pub(crate) async fn networks(
        &self,
        job: &Job,
        project: &Project,
        names: &Names,
    ) -> Result<bool, Failure> {
        let mut made = false;
        for (name, network) in project.networks.iter().filter(|it| it.1.external.is_none()) {
            let Some(called) = names.get(name) else { continue };
            let one = self.network(job, called, network).await;
            made |= one.map_err(|it| it.failed(&format!("create the network `{name}`")))?;
        }
        Ok(made)
    }

    async fn network(
        &self,
        job: &Job,
        called: &str,
        network: &Network,
    ) -> Result<bool, EngineError> {
        // Components of one deployment may need it at the same time, and Docker
        // allows two networks with one name.
        let _one_at_a_time = self.networking.lock().await;
        let made_from = made_from(network);
        match self.network_label(called).await? {
            Some(found) if found == made_from => return Ok(false),
            Some(_) => self.api.remove_network(called).await?,
            None => {}
        }
        let mut labels = network.labels.clone();
        labels.extend(self.scope.labels());
        labels.extend([
            (label::DEPLOYMENT.to_owned(), job.deployment.to_string()),
            (label::MADE_FROM.to_owned(), made_from),
        ]);
        if job.staged {
            labels.insert(label::STAGED.to_owned(), "true".to_owned());
        }
        // The active network has the addresses already.
        let ipam = network.ipam.clone().filter(|_| !job.staged);
        let network = Network { ipam, ..network.clone() };
        self.api.create_network(called, &network, labels).await?;
        Ok(true)
    }

    /// Whether the network exists as the project defines it.
    pub(crate) async fn network_is_there(&self, work: &Work<'_>, name: &str) -> bool {
        let (network, called) = (work.project.networks.get(name), work.network(name));
        let (Some(network), Some(called)) = (network, called) else { return false };
        let found = self.network_label(called).await;
        network.external.is_some() || found.is_ok_and(|it| it == Some(made_from(network)))
    }

    /// What the network of this name was made from; `None` if there is none.
    async fn network_label(&self, name: &str) -> Result<Option<String>, EngineError> {
        let labels = self.api.network(name).await?;
        Ok(labels.map(|mut it| it.remove(label::MADE_FROM).unwrap_or_default()))
    }

    /// The deployment's networks, or only the staged ones.
    async fn networks_of(
        &self,
        deployment: &DeploymentId,
        staged: bool,
    ) -> Result<Vec<ListedNetwork>, EngineError> {
        let mut labels = self.scope.filter(Some(deployment));
        labels.extend(staged.then(|| format!("{}=true", label::STAGED)));
        let found = self.api.networks(&labels).await?;
        let ours = |it: &ListedNetwork| {
            self.scope.ownership(it.labels.get(label::IDENTITY)) != Ownership::Foreign
        };
        Ok(found.into_iter().filter(ours).collect())
    }

    /// Removes the deployment's networks, or only the staged ones, except those
    /// that other containers use.
    pub(crate) async fn networks_remove(
        &self,
        deployment: &DeploymentId,
        staged: bool,
    ) -> Result<(), EngineError> {
        let _one_at_a_time = self.networking.lock().await;
        let found = self.networks_of(deployment, staged).await?;
        for network in found {
            if let Err(trouble) = self.api.remove_network(&network.id).await {
                if matches!(trouble, EngineError::Unavailable(_) | EngineError::Timeout) {
                    return Err(trouble);
                }
                debug!(network.name = network.name, "a network is kept: {trouble}");
            }
        }
        Ok(())
    }
}

fn made_from(network: &Network) -> String {
    Digest::of(&serde_json::to_vec(network).unwrap_or_default()).to_string()
}
