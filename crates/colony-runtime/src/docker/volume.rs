//! Volumes belong to one component, by the name of its deployment, and stay.
//!
//! A deployment that replaces another of its name finds the data again. A
//! volume of that name with another owner is left alone, and the name of ours
//! then contains the mark of the node's identity.

use std::collections::HashMap;

use bollard::models::VolumeCreateRequest;
use colony_core::attempt::Failure;

use crate::compose::{Project, Volume};
use crate::docker::container::work::Names;
use crate::docker::engine::DockerEngine;
use crate::docker::engine_error::EngineError;
use crate::docker::label;
use crate::docker::scope::Whose;
use crate::job::Job;

type Labels = HashMap<String, String>;

impl DockerEngine {
    /// Ensures that the volumes of the project exist; returns the engine's
    /// names.
    pub(crate) async fn volumes(&self, job: &Job, project: &Project) -> Result<Names, Failure> {
        let mut names = Names::new();
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

    async fn volume(&self, job: &Job, name: &str, volume: &Volume) -> Result<String, EngineError> {
        let mark = self.scope.mark("");
        let parts = [job.name(), job.component.as_str(), name, &mark];
        let (plain, marked) = (self.scope.name(&parts[..3]), self.scope.name(&parts));
        let ours = match self.volume_labels(&plain).await? {
            Some(labels) => self.is_our_volume(job, &labels),
            None => self.volume_labels(&marked).await?.is_none(),
        };
        if ours {
            // Another process may have created it in between.
            let labels = self.volume_make(job, &plain, volume).await?;
            if self.is_our_volume(job, &labels) {
                return Ok(plain);
            }
        }
        self.volume_make(job, &marked, volume).await?;
        Ok(marked)
    }

    /// A volume without an identity is ours if it was made for this deployment,
    /// or if this node is older than identities: then no other node had the
    /// name.
    fn is_our_volume(&self, job: &Job, labels: &Labels) -> bool {
        match self.scope.whose(labels.get(label::IDENTITY)) {
            Whose::Ours => true,
            Whose::Unsaid => {
                let made_for = labels.get(label::DEPLOYMENT).map(String::as_str);
                self.scope.is_older() || made_for == Some(job.deployment.as_str())
            }
            Whose::Others => false,
        }
    }

    /// `None` if there is no such volume.
    async fn volume_labels(&self, name: &str) -> Result<Option<Labels>, EngineError> {
        match self.docker.inspect_volume(name).await.map_err(EngineError::from) {
            Ok(found) => Ok(Some(found.labels)),
            Err(trouble) if trouble.is_gone() => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// Engines return a volume that exists already.
    async fn volume_make(
        &self,
        job: &Job,
        name: &str,
        volume: &Volume,
    ) -> Result<Labels, EngineError> {
        let mut labels: Labels = volume.labels.clone().into_iter().collect();
        labels.extend(self.scope.labels());
        labels.extend([
            (label::DEPLOYMENT.to_owned(), job.deployment.to_string()),
            (label::COMPONENT.to_owned(), job.component.to_string()),
        ]);
        let request = VolumeCreateRequest {
            name: Some(name.to_owned()),
            driver: Some(volume.driver.clone().unwrap_or_else(|| "local".to_owned())),
            driver_opts: Some(volume.driver_opts.clone().into_iter().collect()),
            labels: Some(labels),
            ..VolumeCreateRequest::default()
        };
        Ok(self.docker.create_volume(request).await?.labels)
    }
}
