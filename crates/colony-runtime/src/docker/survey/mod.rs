//! A look at the engine: which containers of this node are there, how they
//! are, and whether something else stopped them.

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

use crate::docker::api::{Inspected, Listed, State};
use crate::docker::engine::DockerEngine;
use crate::docker::engine_error::EngineError;
use crate::docker::label::{self, Care, Owner};
use crate::docker::scope::Whose;
use crate::docker::survey::container_fate::ContainerFate;

/// How many containers are inspected concurrently.
const TOGETHER: usize = 8;
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
    /// Differs after every start.
    pub(crate) run: String,
    pub(crate) status: Status,
    /// It never ran: its creation was interrupted, or is in progress.
    pub(crate) unborn: bool,
}

impl DockerEngine {
    /// All containers of this node, or of one deployment.
    pub(crate) async fn survey(
        &self,
        deployment: Option<&DeploymentId>,
    ) -> Result<Vec<ObservedContainer>, EngineError> {
        let listed = self.api.list(&self.scope.filter(deployment)).await?;
        // A deployment that the caller names counts as known.
        let ours = |it: &Listed| self.is_ours(it, deployment.is_some()) && has_owner(it);
        let ours = listed.into_iter().filter(ours);
        let looks = iter(ours.map(|it| async move { self.api.inspect(&it.id).await }));
        let looks: Vec<_> = looks.buffered(TOGETHER).collect().await;
        let mut seen = Vec::new();
        for look in looks {
            seen.extend(look?.and_then(ObservedContainer::of));
        }
        Ok(seen)
    }

    fn is_ours(&self, listed: &Listed, known: bool) -> bool {
        let label = |it| listed.labels.as_ref().and_then(|labels| labels.get(it));
        let (identity, deployment) = (label(label::IDENTITY), label(label::DEPLOYMENT));
        let unsaid = known && self.scope.whose(identity) == Whose::Unsaid;
        unsaid || self.scope.owns(identity, deployment)
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
        Ok(seen)
    }

    pub(crate) async fn observe(&self) -> Result<Vec<Container>, Failure> {
        self.news.look();
        let seen = self.look().await.map_err(|it| it.failed("look at the containers"))?;
        let staged: BTreeSet<Digest> =
            seen.iter().filter(|it| it.owner.staged).map(|it| it.owner.fingerprint).collect();
        let (mut containers, until) = (Vec::new(), Instant::now() + LOG_TIME);
        for it in seen {
            match it.fate(&staged, self.acting.is_on(&it.owner.deployment)) {
                ContainerFate::Shown => containers.push(self.shown(it, until).await),
                ContainerFate::Hidden => {}
                ContainerFate::Discarded => self.discard(&it).await,
            }
        }
        Ok(containers)
    }

    /// Not by force: it may have been started since it was seen.
    async fn discard(&self, seen: &ObservedContainer) {
        if let Err(trouble) = self.remove_unborn(&seen.id).await {
            warn!(container.id = seen.id, "could not remove a container that never ran: {trouble}");
        }
    }

    async fn shown(&self, seen: ObservedContainer, until: Instant) -> Container {
        let health = self.health_of(&seen);
        // The log is optional: a failure to read it is ignored.
        let log = match self.is_well(&seen) {
            true => Vec::new(),
            false => {
                let tail = timeout_at(until, self.tail(&seen.id, LOG_LINES)).await;
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

fn has_owner(listed: &Listed) -> bool {
    let owner = listed.labels.as_ref().and_then(Owner::read);
    if owner.is_none() {
        warn!(container.id = listed.id, "a container has our label, but not all of them");
    }
    owner.is_some()
}

impl ObservedContainer {
    pub(crate) fn of(it: Inspected) -> Option<ObservedContainer> {
        let labels = it.config.labels?;
        let owner = Owner::read(&labels)?;
        let short: String = it.id.chars().take(12).collect();
        Some(ObservedContainer {
            owner,
            care: Care::read(&labels),
            run: format!("{short}@{}", it.state.started_at),
            status: it.state.read(),
            unborn: matches!(it.state.status.as_str(), "created" | "configured" | "initialized"),
            id: it.id,
        })
    }
}

impl State {
    fn read(&self) -> Status {
        match self.status.as_str() {
            "running" | "stopping" => Status::Running,
            // Removal is always requested, so the container did not end by
            // itself.
            "removing" => Status::Stopped,
            "exited" | "stopped" => Status::Exited { code: self.exit_code },
            // A user paused it, or the engine works on it.
            "created" | "configured" | "initialized" | "paused" | "restarting" => Status::Starting,
            _ => Status::Dead,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn states_of_both_engines_are_known() {
        check("running", Status::Running, false);
        check("exited", Status::Exited { code: 3 }, false);
        check("stopped", Status::Exited { code: 3 }, false);
        check("created", Status::Starting, true);
        check("paused", Status::Starting, false);
        check("dead", Status::Dead, false);
        check("removing", Status::Stopped, false);
        check("what is this", Status::Dead, false);
    }

    #[track_caller]
    fn check(status: &str, expected: Status, unborn: bool) {
        let labels = BTreeMap::from([
            (label::DEPLOYMENT.to_owned(), DeploymentId::from_bytes([1; 16]).to_string()),
            (label::COMPONENT.to_owned(), "c".to_owned()),
            (label::FINGERPRINT.to_owned(), colony_core::margo::Digest::of(b"").to_string()),
            (label::SERVICE.to_owned(), "s".to_owned()),
        ]);
        let started_at = "t".to_owned();
        let state = State { status: status.to_owned(), exit_code: 3, started_at, health: None };
        let config = crate::docker::api::Configured { labels: Some(labels) };
        let seen = ObservedContainer::of(Inspected {
            id: "0123456789abcdef".to_owned(),
            state,
            config,
            image: String::new(),
        });
        let seen = seen.unwrap();
        assert_eq!((seen.status, seen.unborn), (expected, unborn), "{status}");
        assert_eq!(seen.run, "0123456789ab@t");
    }
}
