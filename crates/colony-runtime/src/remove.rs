//! Stopping and removing containers, and handing over to those that follow.

use std::collections::BTreeMap;
use std::time::Duration;

use bollard::query_parameters::{RemoveContainerOptions, StopContainerOptions};
use colony_core::attempt::Failure;
use colony_core::node::Status;
use colony_margo::{ComponentName, DeploymentId, Digest};
use futures_util::future::join_all;
use tracing::debug;

use crate::label::Waits;
use crate::runtime::Inner;
use crate::survey::Seen;
use crate::trouble::Trouble;
use crate::work::State;

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
        let active = |it: &Seen| it.owner.component == *component && !it.owner.staged;
        let seen = self.seen(deployment).await?.into_iter().filter(active);
        let (kept, rest): (Vec<Seen>, Vec<Seen>) =
            seen.partition(|it| Some(it.owner.fingerprint) == keep);
        let unwanted: Vec<Seen> = rest.into_iter().filter(|it| !it.is_ahead()).collect();
        let next: Vec<Seen> = kept.into_iter().filter(Seen::is_ahead).collect();
        if !unwanted.is_empty() && !next.is_empty() {
            self.hand_over(&unwanted, &next).await?;
        }
        self.take_down(unwanted).await
    }

    /// Has those that were made ahead started as soon as the others have
    /// stopped, which takes time to remove.
    async fn hand_over(&self, from: &[Seen], to: &[Seen]) -> Result<(), Failure> {
        for wave in waves(from.to_vec()).rev() {
            let all = join_all(wave.iter().map(|it| self.stop(it))).await;
            all.into_iter().collect::<Result<(), Failure>>()?;
        }
        // What has more to wait for is left to the start that follows; so is a
        // word about one that does not start.
        let ready = to.iter().filter(|it| it.care.waits == Waits::Swap).cloned();
        for wave in waves(ready.collect()) {
            join_all(wave.iter().map(|it| self.start_ahead(it))).await;
        }
        Ok(())
    }

    async fn start_ahead(&self, seen: &Seen) {
        let place = seen.place(State::Made);
        if let Err(failure) = self.start_container(&place, &seen.owner.service).await {
            debug!(
                container.id = seen.id,
                "what was made ahead did not start: {}", failure.message
            );
        }
    }

    /// Removes everything staged of the component, and what was made to take
    /// over from it.
    pub(crate) async fn unstage(
        &self,
        deployment: &DeploymentId,
        component: &ComponentName,
    ) -> Result<(), Failure> {
        let beside = |it: &Seen| it.owner.staged || it.is_ahead();
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

    async fn seen(&self, deployment: &DeploymentId) -> Result<Vec<Seen>, Failure> {
        let seen = self.survey(Some(deployment)).await;
        seen.map_err(|it| it.failed("look at the containers"))
    }

    async fn take_down(&self, unwanted: Vec<Seen>) -> Result<(), Failure> {
        // Those that were started last are stopped first.
        for wave in waves(unwanted).rev() {
            let all = join_all(wave.iter().map(|it| self.take_one_down(it))).await;
            all.into_iter().collect::<Result<(), Failure>>()?;
        }
        Ok(())
    }

    async fn take_one_down(&self, seen: &Seen) -> Result<(), Failure> {
        self.stop(seen).await?;
        // Old logs are a help, not a condition.
        self.keep_log(seen).await;
        let removed = self.remove_container(&seen.id).await;
        removed.map_err(|it| it.failed(&format!("remove `{}`", seen.owner.service)))
    }

    /// What has stopped since it was seen is fine.
    async fn stop(&self, seen: &Seen) -> Result<(), Failure> {
        if seen.unborn || !matches!(seen.status, Status::Running | Status::Starting) {
            return Ok(());
        }
        self.watched.forget(&seen.run);
        let stopped = self.stop_container(seen).await;
        stopped.map_err(|it| it.failed(&format!("stop `{}`", seen.owner.service)))
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
        self.remove_with(id, true).await
    }

    /// The same of one that does not run; engines refuse if it does.
    pub(crate) async fn remove_unborn(&self, id: &str) -> Result<(), Trouble> {
        self.remove_with(id, false).await
    }

    async fn remove_with(&self, id: &str, force: bool) -> Result<(), Trouble> {
        let options =
            RemoveContainerOptions { v: true, force, ..RemoveContainerOptions::default() };
        match self.docker.remove_container(id, Some(options)).await.map_err(Trouble::from) {
            Ok(()) => Ok(()),
            Err(trouble) if trouble.is_gone() => Ok(()),
            Err(trouble) if force && trouble.is_conflict() => self.await_gone(id, trouble).await,
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

/// In the order they are started.
fn waves(seen: Vec<Seen>) -> impl DoubleEndedIterator<Item = Vec<Seen>> {
    let mut waves: BTreeMap<usize, Vec<Seen>> = BTreeMap::new();
    for it in seen {
        waves.entry(it.care.order).or_default().push(it);
    }
    waves.into_values()
}
