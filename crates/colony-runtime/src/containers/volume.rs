//! Volumes belong to one component, by the name of its deployment. They stay
//! when it is removed, unless it is purged.
//!
//! A deployment that replaces another of its name finds the data again. A
//! volume of that name with another owner is left alone, and the name of ours
//! then contains the mark of the node's identity.
//!
//! Labels of a volume never change, so `volumes.json` says which deployments
//! have used it: a purge removes the volumes that its deployment used last.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use colony_core::attempt::Failure;
use colony_core::margo::DeploymentId;
use tracing::info;

use crate::compose::{Project, Volume};
use crate::containers::api::Labels;
use crate::containers::component::work::Names;
use crate::containers::engine::ContainerEngine;
use crate::containers::engine_error::EngineError;
use crate::containers::label;
use crate::containers::scope::Ownership;
use crate::file;
use crate::job::Job;
use crate::oci::archive::disk;

/// The deployments that have used a volume, by its name; the last one is last.
type Users = BTreeMap<String, Vec<DeploymentId>>;

impl ContainerEngine {
    /// Ensures that the volumes of the project exist; returns the engine's
    /// names.
    pub(crate) async fn volumes(&self, job: &Job, project: &Project) -> Result<Names, Failure> {
        let mut names = Names::new();
        for (name, volume) in &project.volumes {
            let called = match &volume.external {
                Some(called) => called.clone(),
                None => {
                    let made = self.volume(job, name, volume).await;
                    let called =
                        made.map_err(|it| it.failed(&format!("create the volume `{name}`")))?;
                    self.volume_used(&called, &job.deployment).await?;
                    called
                }
            };
            names.insert(name.clone(), called);
        }
        Ok(names)
    }

    async fn volume(&self, job: &Job, name: &str, volume: &Volume) -> Result<String, EngineError> {
        let mark = self.scope.mark("");
        let parts = [job.name(), job.component.as_str(), name, &mark];
        let (plain, marked) = (self.scope.name(&parts[..3]), self.scope.name(&parts));
        let ours = match self.api.volume(&plain).await? {
            Some(labels) => self.is_our_volume(job, &labels),
            None => self.api.volume(&marked).await?.is_none(),
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
        match self.scope.ownership(labels.get(label::IDENTITY)) {
            Ownership::Own => true,
            Ownership::Unlabeled => {
                let made_for = labels.get(label::DEPLOYMENT).map(String::as_str);
                self.scope.is_older() || made_for == Some(job.deployment.as_str())
            }
            Ownership::Foreign => false,
        }
    }

    async fn volume_make(
        &self,
        job: &Job,
        name: &str,
        volume: &Volume,
    ) -> Result<Labels, EngineError> {
        let mut labels = volume.labels.clone();
        labels.extend(self.scope.labels());
        labels.extend([
            (label::DEPLOYMENT.to_owned(), job.deployment.to_string()),
            (label::COMPONENT.to_owned(), job.component.to_string()),
        ]);
        self.api.create_volume(name, volume, labels).await
    }

    /// Removes the volumes of a deployment whose containers are gone. External
    /// volumes are not ours, and stay.
    pub(crate) async fn volumes_purge(&self, deployment: &DeploymentId) -> Result<(), Failure> {
        let failed = |it: EngineError| it.failed("look for the volumes to remove");
        let listed = self.api.volumes(&self.scope.filter(None)).await.map_err(failed)?;
        let running = self.survey(None).await.map_err(failed)?;
        let running: BTreeSet<DeploymentId> =
            running.into_iter().map(|it| it.owner.deployment).collect();
        let users = self.volume_users().await?;
        for it in listed {
            let made_for = it.labels.get(label::DEPLOYMENT);
            if !self.scope.owns(it.labels.get(label::IDENTITY), made_for) {
                continue;
            }
            let made_for = made_for.and_then(|it| it.parse().ok());
            let users = users.get(&it.name).cloned().unwrap_or_else(|| Vec::from_iter(made_for));
            if !goes(&users, deployment, &running) {
                continue;
            }
            let removed = self.api.remove_volume(&it.name).await;
            removed
                .map_err(|trouble| trouble.failed(&format!("remove the volume `{}`", it.name)))?;
            info!(volume = it.name, "removed a volume with its deployment");
            self.volume_users_change(|users| users.remove(&it.name).is_some()).await?;
        }
        Ok(())
    }

    async fn volume_used(&self, name: &str, by: &DeploymentId) -> Result<(), Failure> {
        let note = |users: &mut Users| {
            let users = users.entry(name.to_owned()).or_default();
            if users.last() == Some(by) {
                return false;
            }
            users.retain(|it| it != by);
            users.push(by.clone());
            true
        };
        self.volume_users_change(note).await
    }

    async fn volume_users(&self) -> Result<Users, Failure> {
        let bytes = file::read(&self.volume_users_path()).await.map_err(|it| disk(&it))?;
        // Without the file, the label says for which deployment a volume was
        // made.
        Ok(serde_json::from_slice(&bytes.unwrap_or_default()).unwrap_or_default())
    }

    async fn volume_users_change(
        &self,
        change: impl FnOnce(&mut Users) -> bool,
    ) -> Result<(), Failure> {
        let _one_at_a_time = self.noting.lock().await;
        let mut users = self.volume_users().await?;
        if !change(&mut users) {
            return Ok(());
        }
        let bytes = serde_json::to_vec_pretty(&users).unwrap_or_default();
        file::replace(&self.volume_users_path(), bytes, 0o600).await.map_err(|it| disk(&it))
    }

    fn volume_users_path(&self) -> PathBuf {
        self.config.dir.join("volumes.json")
    }
}

/// Whether a volume goes with `purged`: it was the last to use it, and no other
/// user has containers.
fn goes(users: &[DeploymentId], purged: &DeploymentId, running: &BTreeSet<DeploymentId>) -> bool {
    let used = |it: &DeploymentId| it != purged && running.contains(it);
    users.last() == Some(purged) && !users.iter().any(used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volume_goes_with_the_deployment_that_used_it_last() {
        check("a", "", true);
        check("b a", "", true);
        check("a b", "", false);
        check("b", "", false);
        check("", "", false);
    }

    #[test]
    fn volume_that_another_deployment_uses_stays() {
        check("b a", "b", false);
        check("b a", "c", true);
        check("a", "a", true);
    }

    /// Whether a volume with these users goes when `a` is purged, while
    /// `running` have containers.
    #[track_caller]
    fn check(users: &str, running: &str, expected: bool) {
        let id = |it: &str| DeploymentId::from_bytes([it.as_bytes()[0]; 16]);
        let users: Vec<DeploymentId> = users.split_whitespace().map(id).collect();
        let running = running.split_whitespace().map(id).collect();
        assert_eq!(goes(&users, &id("a"), &running), expected, "{users:?}");
    }
}
