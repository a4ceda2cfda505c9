//! Stopping and removing containers.

use std::collections::BTreeMap;
use std::time::Duration;

use bollard::query_parameters::{RemoveContainerOptions, StopContainerOptions};
use colony_core::attempt::Failure;
use colony_core::node::Status;
use colony_margo::{ComponentName, DeploymentId, Digest};
use futures_util::future::join_all;

use crate::runtime::Inner;
use crate::survey::Seen;
use crate::trouble::Trouble;

/// What the engine may take for itself when it stops a container.
const MARGIN: Duration = Duration::from_secs(30);
/// How long another one's removal of the same container may take.
const REMOVAL: Duration = Duration::from_secs(30);
const REMOVAL_LOOK: Duration = Duration::from_millis(50);

impl Inner {
    /// Removes what the component has that was not made from `keep`.
    pub(crate) async fn clear(
        &self,
        deployment: &DeploymentId,
        component: &ComponentName,
        keep: Option<Digest>,
    ) -> Result<(), Failure> {
        let unwanted =
            |it: &Seen| it.owner.component == *component && Some(it.owner.fingerprint) != keep;
        self.take_down(deployment, unwanted).await
    }

    /// Removes all containers and networks of the deployment. Volumes stay.
    pub(crate) async fn remove(&self, deployment: &DeploymentId) -> Result<(), Failure> {
        self.take_down(deployment, |_| true).await?;
        let removed = self.networks_remove(deployment).await;
        removed.map_err(|it| it.failed("remove the networks"))
    }

    /// Those that were started last are stopped first.
    async fn take_down(
        &self,
        deployment: &DeploymentId,
        unwanted: impl Fn(&Seen) -> bool,
    ) -> Result<(), Failure> {
        let seen = self.survey(Some(deployment)).await;
        let seen = seen.map_err(|it| it.failed("look at the containers"))?;
        let mut waves: BTreeMap<usize, Vec<Seen>> = BTreeMap::new();
        for it in seen.into_iter().filter(unwanted) {
            waves.entry(it.care.order).or_default().push(it);
        }
        for wave in waves.into_values().rev() {
            let all = join_all(wave.iter().map(|it| self.take_one_down(it))).await;
            all.into_iter().collect::<Result<(), Failure>>()?;
        }
        Ok(())
    }

    async fn take_one_down(&self, seen: &Seen) -> Result<(), Failure> {
        let service = &seen.owner.service;
        if matches!(seen.status, Status::Running | Status::Starting) && !seen.unborn {
            let stopped = self.stop_container(seen).await;
            stopped.map_err(|it| it.failed(&format!("stop `{service}`")))?;
        }
        // Old logs are a help, not a condition.
        self.keep_log(seen).await;
        let removed = self.remove_container(&seen.id).await;
        removed.map_err(|it| it.failed(&format!("remove `{service}`")))
    }

    async fn stop_container(&self, seen: &Seen) -> Result<(), Trouble> {
        let grace = seen.care.grace;
        let seconds = i32::try_from(grace.as_millis().div_ceil(1000)).unwrap_or(i32::MAX);
        let options = StopContainerOptions { t: Some(seconds), ..StopContainerOptions::default() };
        let docker = self.docker.clone().with_timeout(grace.saturating_add(MARGIN));
        match docker.stop_container(&seen.id, Some(options)).await.map_err(Trouble::from) {
            Err(trouble) if !trouble.is_gone() => Err(trouble),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Removes a container with its nameless volumes; one that is gone is fine.
    pub(crate) async fn remove_container(&self, id: &str) -> Result<(), Trouble> {
        let options =
            RemoveContainerOptions { v: true, force: true, ..RemoveContainerOptions::default() };
        match self.docker.remove_container(id, Some(options)).await.map_err(Trouble::from) {
            Ok(()) => Ok(()),
            Err(trouble) if trouble.is_gone() => Ok(()),
            Err(trouble) if trouble.is_conflict() => self.await_gone(id, trouble).await,
            Err(trouble) => Err(trouble),
        }
    }

    /// Somebody else removes it already.
    async fn await_gone(&self, id: &str, trouble: Trouble) -> Result<(), Trouble> {
        let gone = async {
            while self.engine.inspect(id).await?.is_some() {
                tokio::time::sleep(REMOVAL_LOOK).await;
            }
            Ok(())
        };
        tokio::time::timeout(REMOVAL, gone).await.unwrap_or(Err(trouble))
    }
}
