//! Receives engine events and runs health checks, until `run` returns.
//!
//! The checks follow from the running containers, so restarts of this process,
//! the engine or a container need no special handling.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use colony_core::margo::DeploymentId;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::containers::api::Event;
use crate::containers::engine::ContainerEngine;
use crate::containers::health::check::CheckHistory;
use crate::containers::health::watched::Target;
use crate::containers::label;
use crate::containers::scope::Ownership;

/// First delay before events are requested again.
const RECONNECT_DELAY: Duration = Duration::from_millis(100);
const RECONNECT_DELAY_MAX: Duration = Duration::from_secs(5);
/// Time after which a subscription is assumed to be in effect.
const SUBSCRIPTION_DELAY: Duration = Duration::from_secs(1);
/// Time without an inspection after which the containers are inspected.
const SURVEY_INTERVAL: Duration = Duration::from_secs(30);
/// Delay of a health check after the engine did not answer.
const PROBE_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The tasks of the health checks.
#[derive(Default)]
struct CheckTasks {
    tasks: JoinSet<()>,
    by_run: BTreeMap<String, AbortHandle>,
}

pub(crate) async fn run(engine: &Arc<ContainerEngine>, stop: CancellationToken) {
    let mut checks = CheckTasks::default();
    tokio::select! {
        () = stop.cancelled() => {}
        () = engine.receive_events() => {}
        () = maintain_checks(engine, &mut checks) => {}
    }
    checks.tasks.shutdown().await;
}

/// Keeps one check running for every running container that has one. Every
/// inspection of the containers updates this set; after `SURVEY_INTERVAL` without
/// one, this task inspects the containers.
async fn maintain_checks(engine: &Arc<ContainerEngine>, checks: &mut CheckTasks) {
    inspect_containers(engine).await;
    loop {
        update_checks(engine, checks, engine.watched.targets());
        while checks.tasks.try_join_next().is_some() {}
        if timeout(SURVEY_INTERVAL, engine.watched.changed()).await.is_err() {
            inspect_containers(engine).await;
        }
    }
}

async fn inspect_containers(engine: &ContainerEngine) {
    if let Err(error) = engine.look().await {
        debug!("could not inspect the containers: {error}");
    }
}

fn update_checks(
    engine: &Arc<ContainerEngine>,
    checks: &mut CheckTasks,
    wanted: BTreeMap<String, Target>,
) {
    let CheckTasks { tasks, by_run } = checks;
    by_run.retain(|run, task| {
        let kept = wanted.contains_key(run);
        if !kept {
            task.abort();
        }
        kept
    });
    for (run, target) in wanted {
        let start = |run: &String| tasks.spawn(run_check(Arc::clone(engine), target, run.clone()));
        by_run.entry(run).or_insert_with_key(start);
    }
}

/// Runs the check of one run of a container repeatedly.
async fn run_check(engine: Arc<ContainerEngine>, target: Target, run: String) {
    let Target { id, check, .. } = target;
    let began = Instant::now();
    let mut history = CheckHistory::new(check.clone());
    let mut probe = engine.api.probe(&id, &check);
    loop {
        let pause = match probe.ask().await {
            Ok(answer) => {
                let (health, pause) = history.next(began.elapsed(), answer);
                if engine.health.set(&run, health.clone()) {
                    debug!(container.run = run, ?health, "health changed");
                    engine.news.notify();
                }
                pause
            }
            // Without an answer of the engine, the container's health is unknown.
            Err(error) => {
                debug!(container.run = run, "could not run the health check: {error}");
                PROBE_RETRY_DELAY
            }
        };
        sleep(pause).await;
    }
}

impl ContainerEngine {
    /// Receives all events of the engine about containers of this node.
    async fn receive_events(&self) {
        let mut pause = RECONNECT_DELAY;
        loop {
            if self.receive_events_once().await {
                pause = RECONNECT_DELAY;
            }
            // An inspection covers the events that were missed in between.
            self.news.notify();
            sleep(pause).await;
            pause = (pause * 2).min(RECONNECT_DELAY_MAX);
            self.news.notify();
        }
    }

    /// Returns whether any event arrived before the engine fell silent.
    async fn receive_events_once(&self) -> bool {
        let any = AtomicBool::new(false);
        let on_event = |event: Event| {
            any.store(true, Ordering::Relaxed);
            if is_relevant(&event) && self.concerns(&event) {
                self.handle_event(&event);
            }
        };
        let filter = self.scope.filter(None);
        let ended = tokio::select! {
            ended = self.api.events(&filter, &on_event) => ended,
            never = self.notify_when_subscribed() => match never {},
        };
        if let Err(error) = ended {
            warn!("the engine's events ended: {error}");
        }
        any.into_inner()
    }

    /// No engine says when a subscription takes effect, containerd not even
    /// with an answer. A later inspection covers the events before that.
    async fn notify_when_subscribed(&self) -> Infallible {
        sleep(SUBSCRIPTION_DELAY).await;
        self.news.notify();
        pending().await
    }

    fn concerns(&self, event: &Event) -> bool {
        self.scope.ownership(event.labels.get(label::IDENTITY)) != Ownership::Foreign
    }

    /// Events of a deployment while an action of this node is in progress for
    /// it are caused by the action, or covered by the inspection after its end.
    fn handle_event(&self, event: &Event) {
        let deployment = event.labels.get(label::DEPLOYMENT).and_then(|it| it.parse().ok());
        let own = deployment.is_some_and(|it: DeploymentId| self.acting.is_on(&it));
        self.interference.note(&event.id, &event.action, event.signal.as_deref(), own);
        match own {
            true => self.news.notify_followers(),
            false => self.news.notify(),
        }
    }
}

/// Checks of this node cause events too, which must not wake it.
fn is_relevant(event: &Event) -> bool {
    !["exec", "health_status", "top", "archive", "attach", "resize", "mount", "unmount"]
        .iter()
        .any(|it| event.action.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_checks_are_not_relevant() {
        for (action, expected) in [
            ("start", true),
            ("die", true),
            ("destroy", true),
            ("exec_create: /bin/sh -c x", false),
            ("exec_die", false),
            ("health_status: healthy", false),
        ] {
            let event = Event { action: action.to_owned(), ..Event::default() };
            assert_eq!(is_relevant(&event), expected, "{action}");
        }
    }
}
