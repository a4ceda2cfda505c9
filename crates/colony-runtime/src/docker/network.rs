//! The networks of a deployment: they connect its components, and are removed
//! with it.
//!
//! Docker allows two networks with one name, so the names differ by deployment
//! and by node. Networks that have names of an earlier scheme keep them,
//! because containers use these networks.

use std::collections::{BTreeSet, HashMap};

use bollard::models;
use bollard::models::NetworkCreateRequest;
use bollard::query_parameters::{InspectNetworkOptions, ListNetworksOptions};
use colony_core::attempt::Failure;
use colony_core::margo::{DeploymentId, Digest};
use tracing::debug;

use crate::compose::{Network, Project};
use crate::docker::container::work::{Names, Work};
use crate::docker::engine::DockerEngine;
use crate::docker::engine_error::EngineError;
use crate::docker::label;
use crate::docker::scope::Whose;
use crate::job::Job;

impl DockerEngine {
    /// The engine's names of the project's networks, whether they exist or not.
    pub(crate) async fn network_names(
        &self,
        job: &Job,
        project: &Project,
    ) -> Result<Names, Failure> {
        let there = self.networks_of(&job.deployment, false).await;
        let there = there.map_err(|it| it.failed("look at the networks"))?;
        let there: BTreeSet<String> = there.into_iter().filter_map(|it| it.name).collect();
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
            Some(_) => self.docker.remove_network(called).await?,
            None => {}
        }
        let mut labels: HashMap<String, String> = network.labels.clone().into_iter().collect();
        labels.extend(self.scope.labels());
        labels.extend([
            (label::DEPLOYMENT.to_owned(), job.deployment.to_string()),
            (label::MADE_FROM.to_owned(), made_from),
        ]);
        if job.staged {
            labels.insert(label::STAGED.to_owned(), "true".to_owned());
        }
        let request = NetworkCreateRequest {
            name: called.to_owned(),
            driver: Some(network.driver.clone().unwrap_or_else(|| "bridge".to_owned())),
            internal: Some(network.internal),
            options: Some(network.driver_opts.clone().into_iter().collect()),
            labels: Some(labels),
            ..NetworkCreateRequest::default()
        };
        self.docker.create_network(request).await?;
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
        let found = self.docker.inspect_network(name, None::<InspectNetworkOptions>).await;
        match found.map_err(EngineError::from) {
            Ok(found) => {
                let mut labels = found.labels.unwrap_or_default();
                Ok(Some(labels.remove(label::MADE_FROM).unwrap_or_default()))
            }
            Err(trouble) if trouble.is_gone() => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// The deployment's networks, or only the staged ones.
    async fn networks_of(
        &self,
        deployment: &DeploymentId,
        staged: bool,
    ) -> Result<Vec<models::Network>, EngineError> {
        let mut labels = self.scope.filter(Some(deployment));
        labels.extend(staged.then(|| format!("{}=true", label::STAGED)));
        let filters = Some(HashMap::from([("label".to_owned(), labels)]));
        let found = self.docker.list_networks(Some(ListNetworksOptions { filters })).await?;
        let ours = |it: &models::Network| {
            let identity = it.labels.as_ref().and_then(|it| it.get(label::IDENTITY));
            self.scope.whose(identity) != Whose::Others
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
        for name in found.into_iter().filter_map(|it| it.id.or(it.name)) {
            if let Err(error) = self.docker.remove_network(&name).await {
                let trouble = EngineError::from(error);
                if matches!(trouble, EngineError::Unavailable(_) | EngineError::Timeout) {
                    return Err(trouble);
                }
                debug!(network.name = name, "a network is kept: {trouble}");
            }
        }
        Ok(())
    }
}

fn made_from(network: &Network) -> String {
    Digest::of(&serde_json::to_vec(network).unwrap_or_default()).to_string()
}
