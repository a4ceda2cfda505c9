//! Stops and removes containers, and hands over to their successors.

use std::collections::BTreeMap;
use std::time::Duration;

use colony_core::attempt::Failure;
use colony_core::margo::{ComponentName, DeploymentId, Digest};
use colony_core::node::{Status, staged as staged_fingerprint};
use futures_util::future::join_all;
use tracing::debug;

use crate::containers::component::work::State;
use crate::containers::engine::ContainerEngine;
use crate::containers::engine_error::EngineError;
use crate::containers::label::StartCondition;
use crate::containers::survey::ObservedContainer;

/// How long the removal of a container by another process may take.
const REMOVAL: Duration = Duration::from_secs(30);
const REMOVAL_LOOK: Duration = Duration::from_millis(50);

impl ContainerEngine {
    /// Removes containers of the component that were not made from `keep`.
    pub(crate) async fn clear(
        &self,
        deployment: &DeploymentId,
        component: &ComponentName,
        keep: Option<Digest>,
    ) -> Result<(), Failure> {
        let active = |it: &ObservedContainer| it.owner.component == *component && !it.owner.staged;
        let (seen, staged) =
            self.seen(deployment).await?.into_iter().partition::<Vec<_>, _>(active);
        let next = keep.map(staged_fingerprint);
        let staged: Vec<ObservedContainer> = staged
            .into_iter()
            .filter(|it| it.owner.component == *component && Some(it.owner.fingerprint) == next)
            .collect();
        let (kept, rest): (Vec<ObservedContainer>, Vec<ObservedContainer>) =
            seen.into_iter().partition(|it| Some(it.owner.fingerprint) == keep);
        let unwanted: Vec<ObservedContainer> =
            rest.into_iter().filter(|it| !it.is_ahead()).collect();
        let next: Vec<ObservedContainer> =
            kept.into_iter().filter(ObservedContainer::is_ahead).collect();
        self.take_over_ports(&unwanted, &staged).await;
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
        let seen: Vec<ObservedContainer> = seen.collect();
        self.return_ports(&seen).await;
        self.take_down(seen.clone()).await?;
        self.remove_redirects(&seen).await;
        let removed = self.networks_remove(deployment, true).await;
        removed.map_err(|it| it.failed("remove the networks of what was staged"))
    }

    /// Removes all containers and networks of the deployment. Volumes stay,
    /// unless they are to be purged.
    pub(crate) async fn remove(
        &self,
        deployment: &DeploymentId,
        purge: bool,
    ) -> Result<(), Failure> {
        let seen = self.seen(deployment).await?;
        self.remove_redirects(&seen).await;
        self.take_down(seen).await?;
        let removed = self.networks_remove(deployment, false).await;
        removed.map_err(|it| it.failed("remove the networks"))?;
        if purge { self.volumes_purge(deployment).await } else { Ok(()) }
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
        let stopped = self.api.stop(&seen.id, seen.care.grace).await;
        stopped.map_err(|it| it.failed(&format!("stop `{}`", seen.owner.service)))
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
        match self.api.remove(id, force).await {
            Ok(()) => Ok(()),
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
