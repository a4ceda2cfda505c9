//! Networks and volumes of a deployment.
//!
//! Networks are those of the deployment, so that its components reach each
//! other, and go when it is removed. Volumes belong to one component and stay.

use std::collections::{BTreeMap, HashMap};

use bollard::models::{NetworkCreateRequest, VolumeCreateRequest};
use bollard::query_parameters::{InspectNetworkOptions, ListNetworksOptions};
use colony_core::attempt::Failure;
use colony_margo::{DeploymentId, Digest};
use tracing::debug;

use crate::compose::{Network, Project, Volume};
use crate::job::Job;
use crate::label;
use crate::runtime::Inner;
use crate::trouble::Trouble;

impl Inner {
    /// What the engine calls the networks of the project.
    pub(crate) fn network_names(&self, job: &Job, project: &Project) -> BTreeMap<String, String> {
        let called = |(name, network): (&String, &Network)| {
            let external = network.external.clone();
            (name.clone(), external.unwrap_or_else(|| self.network_name(job, name)))
        };
        project.networks.iter().map(called).collect()
    }

    fn network_name(&self, job: &Job, name: &str) -> String {
        label::name(&self.config.node, &[&job.prefix(), name])
    }

    /// Has the networks of the project. Returns whether any had to be made.
    pub(crate) async fn networks(&self, job: &Job, project: &Project) -> Result<bool, Failure> {
        let mut made = false;
        for (name, network) in project.networks.iter().filter(|it| it.1.external.is_none()) {
            let one = self.network(job, name, network).await;
            made |= one.map_err(|it| it.failed(&format!("create the network `{name}`")))?;
        }
        Ok(made)
    }

    async fn network(&self, job: &Job, name: &str, network: &Network) -> Result<bool, Trouble> {
        // Components of one deployment may want it at the same time, and
        // Docker lets two networks have one name.
        let _one_at_a_time = self.networking.lock().await;
        let called = self.network_name(job, name);
        let made_from = made_from(network);
        match self.network_label(&called).await? {
            Some(found) if found == made_from => return Ok(false),
            Some(_) => self.docker.remove_network(&called).await?,
            None => {}
        }
        let mut labels: HashMap<String, String> = network.labels.clone().into_iter().collect();
        labels.extend([
            (label::NODE.to_owned(), self.config.node.to_string()),
            (label::DEPLOYMENT.to_owned(), job.deployment.to_string()),
            (label::MADE_FROM.to_owned(), made_from),
        ]);
        if job.staged {
            labels.insert(label::STAGED.to_owned(), "true".to_owned());
        }
        let request = NetworkCreateRequest {
            name: called,
            driver: Some(network.driver.clone().unwrap_or_else(|| "bridge".to_owned())),
            internal: Some(network.internal),
            options: Some(network.driver_opts.clone().into_iter().collect()),
            labels: Some(labels),
            ..NetworkCreateRequest::default()
        };
        self.docker.create_network(request).await?;
        Ok(true)
    }

    /// Whether the network is there as the project wants it.
    pub(crate) async fn network_is_there(&self, job: &Job, project: &Project, name: &str) -> bool {
        let Some(network) = project.networks.get(name) else { return false };
        let found = self.network_label(&self.network_name(job, name)).await;
        network.external.is_some() || found.is_ok_and(|it| it == Some(made_from(network)))
    }

    /// What the network of this name was made from; `None` if there is none.
    async fn network_label(&self, name: &str) -> Result<Option<String>, Trouble> {
        let found = self.docker.inspect_network(name, None::<InspectNetworkOptions>).await;
        match found.map_err(Trouble::from) {
            Ok(found) => {
                let mut labels = found.labels.unwrap_or_default();
                Ok(Some(labels.remove(label::MADE_FROM).unwrap_or_default()))
            }
            Err(trouble) if trouble.is_gone() => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// Removes the deployment's networks, or the staged ones of them, but for
    /// those somebody else is in.
    pub(crate) async fn networks_remove(
        &self,
        deployment: &DeploymentId,
        staged: bool,
    ) -> Result<(), Trouble> {
        let _one_at_a_time = self.networking.lock().await;
        let mut labels = label::filter(&self.config.node, Some(deployment));
        labels.extend(staged.then(|| format!("{}=true", label::STAGED)));
        let filters = Some(HashMap::from([("label".to_owned(), labels)]));
        let found = self.docker.list_networks(Some(ListNetworksOptions { filters })).await?;
        for name in found.into_iter().filter_map(|it| it.name) {
            if let Err(error) = self.docker.remove_network(&name).await {
                let trouble = Trouble::from(error);
                if matches!(trouble, Trouble::Down(_) | Trouble::Slow) {
                    return Err(trouble);
                }
                debug!(network.name = name, "a network is kept: {trouble}");
            }
        }
        Ok(())
    }

    /// Has the volumes of the project; returns what the engine calls them.
    pub(crate) async fn volumes(
        &self,
        job: &Job,
        project: &Project,
    ) -> Result<BTreeMap<String, String>, Failure> {
        let mut names = BTreeMap::new();
        for (name, volume) in &project.volumes {
            let called = match &volume.external {
                Some(called) => called.clone(),
                None => self
                    .volume(job, name, volume)
                    .await
                    .map_err(|it| it.failed(&format!("create the volume `{name}`")))?,
            };
            names.insert(name.clone(), called);
        }
        Ok(names)
    }

    /// Engines answer with the volume that is there already.
    async fn volume(&self, job: &Job, name: &str, volume: &Volume) -> Result<String, Trouble> {
        let parts = [job.name(), job.component.as_str(), name];
        let called = label::name(&self.config.node, &parts);
        let mut labels: HashMap<String, String> = volume.labels.clone().into_iter().collect();
        labels.extend([
            (label::NODE.to_owned(), self.config.node.to_string()),
            (label::DEPLOYMENT.to_owned(), job.deployment.to_string()),
            (label::COMPONENT.to_owned(), job.component.to_string()),
        ]);
        let request = VolumeCreateRequest {
            name: Some(called.clone()),
            driver: Some(volume.driver.clone().unwrap_or_else(|| "local".to_owned())),
            driver_opts: Some(volume.driver_opts.clone().into_iter().collect()),
            labels: Some(labels),
            ..VolumeCreateRequest::default()
        };
        self.docker.create_volume(request).await?;
        Ok(called)
    }
}

fn made_from(network: &Network) -> String {
    Digest::of(&serde_json::to_vec(network).unwrap_or_default()).to_string()
}
