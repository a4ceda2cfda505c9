//! Listens to the engine, and runs health checks.
//!
//! Both end with `run`: every health check is a task of its set. The set of
//! checks follows from the running containers, so restarts of this process, of
//! the engine and of a container take the same path.

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
use crate::containers::health::check::Pulse;
use crate::containers::health::watched::Target;
use crate::containers::label;
use crate::containers::scope::Whose;

/// How long to wait for an engine that does not answer.
const AWAY: Duration = Duration::from_millis(100);
const AWAY_LONGEST: Duration = Duration::from_secs(5);
/// By when an engine that was asked for its events sends them.
const SUBSCRIBED: Duration = Duration::from_secs(1);
/// The interval of looks without an event.
const PATROL: Duration = Duration::from_secs(30);

type Probes = (JoinSet<()>, BTreeMap<String, AbortHandle>);

pub(crate) async fn run(inner: &Arc<ContainerEngine>, stop: CancellationToken) {
    let mut probes: Probes = (JoinSet::new(), BTreeMap::new());
    tokio::select! {
        () = stop.cancelled() => {}
        () = inner.listen() => {}
        () = tend(inner, &mut probes) => {}
    }
    probes.0.shutdown().await;
}

/// Keeps one check running for every running container that has one. Every look
/// at the engine updates this set; after `PATROL` without a change, this looks.
async fn tend(inner: &Arc<ContainerEngine>, probes: &mut Probes) {
    patrol(inner).await;
    loop {
        adjust(inner, probes, inner.watched.targets());
        while probes.0.try_join_next().is_some() {}
        if timeout(PATROL, inner.watched.changed()).await.is_err() {
            patrol(inner).await;
        }
    }
}

async fn patrol(inner: &ContainerEngine) {
    if let Err(trouble) = inner.look().await {
        debug!("could not look at the containers: {trouble}");
    }
}

fn adjust(
    inner: &Arc<ContainerEngine>,
    (tasks, known): &mut Probes,
    wanted: BTreeMap<String, Target>,
) {
    known.retain(|run, task| {
        let kept = wanted.contains_key(run);
        if !kept {
            task.abort();
        }
        kept
    });
    for (run, target) in wanted {
        let probe = |run: &String| tasks.spawn(probe(Arc::clone(inner), target, run.clone()));
        known.entry(run).or_insert_with_key(probe);
    }
}

/// Runs the check of one run of a container repeatedly.
async fn probe(inner: Arc<ContainerEngine>, target: Target, run: String) {
    let Target { id, check, .. } = target;
    let began = Instant::now();
    let mut pulse = Pulse::new(check.clone());
    let mut probe = inner.api.probe(&id, &check);
    loop {
        let pause = match probe.ask().await {
            Ok(answer) => {
                let (health, pause) = pulse.next(began.elapsed(), answer);
                if inner.health.set(&run, health.clone()) {
                    debug!(container.run = run, ?health, "health changed");
                    inner.news.tell();
                }
                pause
            }
            // That the engine has no answer says nothing about the container.
            Err(trouble) => {
                debug!(container.run = run, "could not run the health check: {trouble}");
                AWAY * 10
            }
        };
        sleep(pause).await;
    }
}

impl ContainerEngine {
    /// Receives all events of the engine about containers of this node.
    async fn listen(&self) {
        let mut pause = AWAY;
        loop {
            if self.listen_once().await {
                pause = AWAY;
            }
            // A look covers the events that were missed in between.
            self.news.tell();
            sleep(pause).await;
            pause = (pause * 2).min(AWAY_LONGEST);
            self.news.tell();
        }
    }

    /// Returns whether any event arrived before the engine fell silent.
    async fn listen_once(&self) -> bool {
        let heard = AtomicBool::new(false);
        let hear = |event: Event| {
            heard.store(true, Ordering::Relaxed);
            if is_news(&event) && self.concerns(&event) {
                self.heard(&event);
            }
        };
        let filter = self.scope.filter(None);
        let ended = tokio::select! {
            ended = self.api.events(&filter, &hear) => ended,
            never = self.cover_subscription() => match never {},
        };
        if let Err(trouble) = ended {
            warn!("the engine's events ended: {trouble}");
        }
        heard.into_inner()
    }

    /// No engine says when a subscription takes effect, containerd not even
    /// with an answer. A later look covers the events before that.
    async fn cover_subscription(&self) -> Infallible {
        sleep(SUBSCRIBED).await;
        self.news.tell();
        pending().await
    }

    fn concerns(&self, event: &Event) -> bool {
        self.scope.whose(event.labels.get(label::IDENTITY)) != Whose::Others
    }

    /// Events of a deployment while an action of this node is in progress for
    /// it are caused by the action, or covered by the look after its end.
    fn heard(&self, event: &Event) {
        let deployment = event.labels.get(label::DEPLOYMENT).and_then(|it| it.parse().ok());
        let own = deployment.is_some_and(|it: DeploymentId| self.acting.is_on(&it));
        self.interference.note(&event.id, &event.action, event.signal.as_deref(), own);
        match own {
            true => self.news.whisper(),
            false => self.news.tell(),
        }
    }
}

/// Checks of this node cause events too, which must not wake it.
fn is_news(event: &Event) -> bool {
    !["exec", "health_status", "top", "archive", "attach", "resize", "mount", "unmount"]
        .iter()
        .any(|it| event.action.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_checks_are_no_news() {
        for (action, expected) in [
            ("start", true),
            ("die", true),
            ("destroy", true),
            ("exec_create: /bin/sh -c x", false),
            ("exec_die", false),
            ("health_status: healthy", false),
        ] {
            let event = Event { action: action.to_owned(), ..Event::default() };
            assert_eq!(is_news(&event), expected, "{action}");
        }
    }
}
