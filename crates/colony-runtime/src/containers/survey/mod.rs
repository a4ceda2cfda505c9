//! A survey: which containers of this node the engine has, in which state, and
//! whether something other than colony stopped them.
//!
//! `survey` only reads. `look` also updates the set of health checks to run, and
//! `observe`, which serves the core, also removes leftovers and reads logs.
//!
//! *Ours* are the containers of this node, among those that carry colony's labels
//! (`scope.rs`); the *owner* of a container is the deployment, component and
//! service in its labels.

mod container_fate;
pub(crate) mod interference;

use std::collections::BTreeSet;
use std::time::Duration;

use colony_core::attempt::Failure;
use colony_core::margo::{DeploymentId, Digest};
use colony_core::node::{Container, Health, Status};
use futures_util::StreamExt;
use futures_util::stream::iter;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use crate::containers::api::{ContainerInfo, ListedContainer};
use crate::containers::engine::ContainerEngine;
use crate::containers::engine_error::EngineError;
use crate::containers::label::{self, Care, Owner};
use crate::containers::scope::Ownership;
use crate::containers::survey::container_fate::ContainerFate;

/// How many containers are inspected concurrently.
const CONCURRENT_INSPECTIONS: usize = 8;
/// How many log lines of an unhealthy container are reported.
const LOG_LINES: u32 = 20;
/// The time limit for the logs of all unhealthy containers together.
const LOG_TIME: Duration = Duration::from_secs(5);

/// One container of this node.
#[derive(Debug, Clone)]
pub(crate) struct ObservedContainer {
    pub(crate) id: String,
    pub(crate) owner: Owner,
    pub(crate) care: Care,
    /// Names one start of the container: differs after every start.
    pub(crate) run: String,
    pub(crate) status: Status,
    /// It never ran: its creation was interrupted, or is in progress.
    pub(crate) unborn: bool,
}

impl ContainerEngine {
    /// All containers of this node, or of one deployment.
    pub(crate) async fn survey(
        &self,
        deployment: Option<&DeploymentId>,
    ) -> Result<Vec<ObservedContainer>, EngineError> {
        let listed = self.api.list(&self.scope.filter(deployment)).await?;
        // A deployment that the caller names counts as known.
        let ours = |it: &ListedContainer| self.is_ours(it, deployment.is_some()) && has_owner(it);
        let ours = listed.into_iter().filter(ours);
        let looks = iter(ours.map(|it| async move { self.api.inspect(&it.id).await }));
        let looks: Vec<_> = looks.buffered(CONCURRENT_INSPECTIONS).collect().await;
        let mut seen = Vec::new();
        for look in looks {
            seen.extend(look?.and_then(ObservedContainer::of));
        }
        Ok(seen)
    }

    /// Whether the container belongs to this node. One without an identity in its
    /// labels, from before nodes had one, does if the caller names its deployment.
    fn is_ours(&self, listed: &ListedContainer, known: bool) -> bool {
        let label = |it| listed.labels.get(it);
        let (identity, deployment) = (label(label::IDENTITY), label(label::DEPLOYMENT));
        let unlabeled = known && self.scope.ownership(identity) == Ownership::Unlabeled;
        unlabeled || self.scope.owns(identity, deployment)
    }

    /// All containers of this node. Also updates the set of health checks to
    /// run.
    pub(crate) async fn look(&self) -> Result<Vec<ObservedContainer>, EngineError> {
        let look = self.watched.begin();
        let seen = self.survey(None).await?;
        self.watched.end(look, &seen);
        let mut runs = self.watched.runs();
        runs.extend(seen.iter().map(|it| it.run.clone()));
        self.health.keep(&runs);
        self.settle_redirects(&seen).await;
        Ok(seen)
    }

    /// The containers as the core sees them, with the last log lines of those that
    /// are not well. Containers that never ran are removed.
    pub(crate) async fn observe(&self) -> Result<Vec<Container>, Failure> {
        self.news.look();
        let seen = self.look().await.map_err(|it| it.failed("look at the containers"))?;
        let staged: BTreeSet<Digest> =
            seen.iter().filter(|it| it.owner.staged).map(|it| it.owner.fingerprint).collect();
        let (mut containers, log_deadline) = (Vec::new(), Instant::now() + LOG_TIME);
        for it in seen {
            match it.fate(&staged, self.acting.is_on(&it.owner.deployment)) {
                ContainerFate::Shown => containers.push(self.shown(it, log_deadline).await),
                ContainerFate::Hidden => {}
                ContainerFate::Discarded => self.discard(&it).await,
            }
        }
        Ok(containers)
    }

    /// Removes a container that never ran. Not by force: it may have been started
    /// since it was seen.
    async fn discard(&self, seen: &ObservedContainer) {
        if let Err(error) = self.remove_unborn(&seen.id).await {
            warn!(container.id = seen.id, "could not remove a container that never ran: {error}");
        }
    }

    async fn shown(&self, seen: ObservedContainer, log_deadline: Instant) -> Container {
        let health = self.health_of(&seen);
        // The log is optional: a failure to read it is ignored.
        let log = match self.is_well(&seen) {
            true => Vec::new(),
            false => {
                let tail = timeout_at(log_deadline, self.tail(&seen.id, LOG_LINES)).await;
                tail.map(Result::unwrap_or_default).unwrap_or_default()
            }
        };
        if matches!(seen.status, Status::Exited { .. }) {
            self.interference.settle(&seen.id).await;
        }
        let status = self.status_of(&seen);
        Container {
            deployment: seen.owner.deployment,
            component: seen.owner.component,
            fingerprint: seen.owner.fingerprint,
            staged: seen.owner.staged,
            service: seen.owner.service,
            run: seen.run,
            status,
            health,
            log,
        }
    }

    /// A staged container that must not run beside the active one counts as running,
    /// so that the core does not repair it. One that was stopped from outside has
    /// not exited by itself.
    fn status_of(&self, seen: &ObservedContainer) -> Status {
        match seen.status {
            _ if seen.must_not_start() => Status::Running,
            Status::Exited { .. } if self.interference.explains(&seen.id) => Status::Stopped,
            it @ (Status::Starting
            | Status::Running
            | Status::Stopped
            | Status::Exited { .. }
            | Status::Dead) => it,
        }
    }

    /// It runs or starts, and its health check does not fail. The core is stricter:
    /// there, a container is well only when it is healthy.
    pub(crate) fn is_well(&self, seen: &ObservedContainer) -> bool {
        let sick = matches!(self.health_of(seen), Health::Unhealthy { .. });
        !sick && matches!(seen.status, Status::Running | Status::Starting)
    }

    pub(crate) fn health_of(&self, seen: &ObservedContainer) -> Health {
        match seen.care.check {
            _ if seen.must_not_start() => Health::Healthy,
            None => Health::None,
            Some(_) => self.health.get(&seen.run).unwrap_or(Health::Starting),
        }
    }
}

fn has_owner(listed: &ListedContainer) -> bool {
    let owner = Owner::read(&listed.labels);
    if owner.is_none() {
        warn!(container.id = listed.id, "a container has our label, but not all of them");
    }
    owner.is_some()
}

impl ObservedContainer {
    pub(crate) fn of(it: ContainerInfo) -> Option<ObservedContainer> {
        let owner = Owner::read(&it.labels)?;
        let short: String = it.id.chars().take(12).collect();
        Some(ObservedContainer {
            owner,
            care: Care::read(&it.labels),
            run: format!("{short}@{}", it.started_at),
            status: it.status,
            unborn: it.unborn,
            id: it.id,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_one_start_of_one_container() {
        let labels = [
            (label::DEPLOYMENT, DeploymentId::from_bytes([1; 16]).to_string()),
            (label::COMPONENT, "c".to_owned()),
            (label::FINGERPRINT, colony_core::margo::Digest::of(b"").to_string()),
            (label::SERVICE, "s".to_owned()),
        ];
        let info = ContainerInfo {
            id: "0123456789abcdef".to_owned(),
            labels: labels.map(|(key, value)| (key.to_owned(), value)).into(),
            image: String::new(),
            status: Status::Running,
            unborn: false,
            started_at: "t".to_owned(),
        };
        assert_eq!(ObservedContainer::of(info).unwrap().run, "0123456789ab@t");
    }
}
