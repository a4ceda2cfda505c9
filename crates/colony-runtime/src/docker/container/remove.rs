//! Stops and removes containers, and hands over to their successors.

use std::collections::BTreeMap;
use std::time::Duration;

use bollard::query_parameters::{RemoveContainerOptions, StopContainerOptions};
use colony_core::attempt::Failure;
use colony_core::margo::{ComponentName, DeploymentId, Digest};
use colony_core::node::Status;
use futures_util::future::join_all;
use tracing::debug;

use crate::docker::container::work::State;
use crate::docker::engine::DockerEngine;
use crate::docker::engine_error::EngineError;
use crate::docker::label::StartCondition;
use crate::docker::survey::ObservedContainer;

/// The engine's own overhead when it stops a container.
const MARGIN: Duration = Duration::from_secs(30);
/// How long the removal of a container by another process may take.
const REMOVAL: Duration = Duration::from_secs(30);
const REMOVAL_LOOK: Duration = Duration::from_millis(50);

impl DockerEngine {
    /// Removes containers of the component that were not made from `keep`.
    pub(crate) async fn clear(
        &self,
        deployment: &DeploymentId,
        component: &ComponentName,
        keep: Option<Digest>,
    ) -> Result<(), Failure> {
        let active = |it: &ObservedContainer| it.owner.component == *component && !it.owner.staged;
        let seen = self.seen(deployment).await?.into_iter().filter(active);
        let (kept, rest): (Vec<ObservedContainer>, Vec<ObservedContainer>) =
            seen.partition(|it| Some(it.owner.fingerprint) == keep);
        let unwanted: Vec<ObservedContainer> =
            rest.into_iter().filter(|it| !it.is_ahead()).collect();
        let next: Vec<ObservedContainer> =
            kept.into_iter().filter(ObservedContainer::is_ahead).collect();
        if !unwanted.is_empty() && !next.is_empty() {
            self.hand_over(&unwanted, &next).await?;
        }
        self.take_down(unwanted).await
    }

    /// Starts the containers created ahead as soon as the others have stopped,
    /// before the others are removed, which takes time.
    async fn hand_over(
        &self,
        from: &[ObservedContainer],
        to: &[ObservedContainer],
    ) -> Result<(), Failure> {
        for wave in waves(from.to_vec()).rev() {
            let all = join_all(wave.iter().map(|it| self.stop(it))).await;
            all.into_iter().collect::<Result<(), Failure>>()?;
        }
        // Containers that wait for more are left to the start that follows,
        // which also reports one that does not start.
        let ready = to.iter().filter(|it| it.care.waits == StartCondition::Swap).cloned();
        for wave in waves(ready.collect()) {
            join_all(wave.iter().map(|it| self.start_ahead(it))).await;
        }
        Ok(())
    }

    async fn start_ahead(&self, seen: &ObservedContainer) {
        let place = seen.place(State::Made);
        if let Err(failure) = self.start_container(&place, &seen.owner.service).await {
            debug!(
                container.id = seen.id,
                "what was made ahead did not start: {}", failure.message
            );
        }
    }

    /// Removes all staged containers of the component, and those created ahead
    /// for the takeover.
    pub(crate) async fn unstage(
        &self,
        deployment: &DeploymentId,
        component: &ComponentName,
    ) -> Result<(), Failure> {
        let beside = |it: &ObservedContainer| it.owner.staged || it.is_ahead();
        let seen = self.seen(deployment).await?.into_iter();
        let seen = seen.filter(|it| it.owner.component == *component && beside(it));
        self.take_down(seen.collect()).await?;
        let removed = self.networks_remove(deployment, true).await;
        removed.map_err(|it| it.failed("remove the networks of what was staged"))
    }

    /// Removes all containers and networks of the deployment. Volumes stay.
    pub(crate) async fn remove(&self, deployment: &DeploymentId) -> Result<(), Failure> {
        let seen = self.seen(deployment).await?;
        self.take_down(seen).await?;
        let removed = self.networks_remove(deployment, false).await;
        removed.map_err(|it| it.failed("remove the networks"))
    }

    async fn seen(&self, deployment: &DeploymentId) -> Result<Vec<ObservedContainer>, Failure> {
        let seen = self.survey(Some(deployment)).await;
        seen.map_err(|it| it.failed("look at the containers"))
    }

    async fn take_down(&self, unwanted: Vec<ObservedContainer>) -> Result<(), Failure> {
        // The containers that were started last are stopped first.
        for wave in waves(unwanted).rev() {
            let all = join_all(wave.iter().map(|it| self.take_one_down(it))).await;
            all.into_iter().collect::<Result<(), Failure>>()?;
        }
        Ok(())
    }

    async fn take_one_down(&self, seen: &ObservedContainer) -> Result<(), Failure> {
        self.stop(seen).await?;
        // Old logs are optional: a failure to keep them is ignored.
        self.keep_log(seen).await;
        let removed = self.remove_container(&seen.id).await;
        removed.map_err(|it| it.failed(&format!("remove `{}`", seen.owner.service)))
    }

    /// A container that has stopped since it was seen is fine.
    async fn stop(&self, seen: &ObservedContainer) -> Result<(), Failure> {
        if seen.unborn || !matches!(seen.status, Status::Running | Status::Starting) {
            return Ok(());
        }
        self.watched.forget(&seen.run);
        let stopped = self.stop_container(seen).await;
        stopped.map_err(|it| it.failed(&format!("stop `{}`", seen.owner.service)))
    }

    async fn stop_container(&self, seen: &ObservedContainer) -> Result<(), EngineError> {
        let grace = seen.care.grace;
        let seconds = i32::try_from(grace.as_millis().div_ceil(1000)).unwrap_or(i32::MAX);
        let options = StopContainerOptions { t: Some(seconds), ..StopContainerOptions::default() };
        let docker = self.docker.clone().with_timeout(grace.saturating_add(MARGIN));
        match docker.stop_container(&seen.id, Some(options)).await.map_err(EngineError::from) {
            Err(trouble) if !trouble.is_gone() => Err(trouble),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Removes a container with its anonymous volumes; one that is gone is
    /// fine.
    pub(crate) async fn remove_container(&self, id: &str) -> Result<(), EngineError> {
        self.remove_with(id, true).await
    }

    /// The same for one that does not run; engines refuse if it does.
    pub(crate) async fn remove_unborn(&self, id: &str) -> Result<(), EngineError> {
        self.remove_with(id, false).await
    }

    async fn remove_with(&self, id: &str, force: bool) -> Result<(), EngineError> {
        let options =
            RemoveContainerOptions { v: true, force, ..RemoveContainerOptions::default() };
        match self.docker.remove_container(id, Some(options)).await.map_err(EngineError::from) {
            Ok(()) => Ok(()),
            Err(trouble) if trouble.is_gone() => Ok(()),
            Err(trouble) if force && trouble.is_conflict() => self.await_gone(id, trouble).await,
            Err(trouble) => Err(trouble),
        }
    }

    /// Another process already removes it: waits until it is gone.
    async fn await_gone(&self, id: &str, trouble: EngineError) -> Result<(), EngineError> {
        let gone = async {
            while self.api.inspect(id).await?.is_some() {
                tokio::time::sleep(REMOVAL_LOOK).await;
            }
            Ok(())
        };
        tokio::time::timeout(REMOVAL, gone).await.unwrap_or(Err(trouble))
    }
}

/// Groups containers by wave, in start order.
fn waves(seen: Vec<ObservedContainer>) -> impl DoubleEndedIterator<Item = Vec<ObservedContainer>> {
    let mut waves: BTreeMap<usize, Vec<ObservedContainer>> = BTreeMap::new();
    for it in seen {
        waves.entry(it.care.order).or_default().push(it);
    }
    waves.into_values()
}
