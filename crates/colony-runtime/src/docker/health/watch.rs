//! Listens to the engine, and runs health checks.
//!
//! Both end with `run`: every health check is a task of its set. The set of
//! checks follows from the running containers, so restarts of this process, of
//! the engine and of a container take the same path.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bollard::models::EventMessage;
use bollard::query_parameters::EventsOptions;
use colony_core::margo::DeploymentId;
use futures_util::StreamExt;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::docker::engine::DockerEngine;
use crate::docker::engine_error::EngineError;
use crate::docker::health::ask::Hanging;
use crate::docker::health::check::Pulse;
use crate::docker::health::watched::Target;
use crate::docker::label;
use crate::docker::scope::Whose;

/// How long to wait for an engine that does not answer.
const AWAY: Duration = Duration::from_millis(100);
const AWAY_LONGEST: Duration = Duration::from_secs(5);
/// The interval of looks without an event.
const PATROL: Duration = Duration::from_secs(30);

type Probes = (JoinSet<()>, BTreeMap<String, AbortHandle>);

pub(crate) async fn run(inner: &Arc<DockerEngine>, stop: CancellationToken) {
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
async fn tend(inner: &Arc<DockerEngine>, probes: &mut Probes) {
    patrol(inner).await;
    loop {
        adjust(inner, probes, inner.watched.targets());
        while probes.0.try_join_next().is_some() {}
        if timeout(PATROL, inner.watched.changed()).await.is_err() {
            patrol(inner).await;
        }
    }
}

async fn patrol(inner: &DockerEngine) {
    if let Err(trouble) = inner.look().await {
        debug!("could not look at the containers: {trouble}");
    }
}

fn adjust(
    inner: &Arc<DockerEngine>,
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
async fn probe(inner: Arc<DockerEngine>, target: Target, run: String) {
    let Target { id, check, .. } = target;
    let began = Instant::now();
    let mut pulse = Pulse::new(check.clone());
    let mut hanging = Hanging::default();
    loop {
        let pause = match inner.ask(&id, &check, &mut hanging).await {
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

impl DockerEngine {
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
        let filters = HashMap::from([
            ("type".to_owned(), vec!["container".to_owned()]),
            ("label".to_owned(), self.scope.filter(None)),
        ]);
        let options = EventsOptions { filters: Some(filters), ..EventsOptions::default() };
        let mut events = Box::pin(self.docker.events(Some(options)));
        let mut heard = false;
        while let Some(event) = events.next().await {
            match event {
                Ok(event) if is_news(&event) && self.concerns(&event) => self.heard(&event),
                Ok(_) => {}
                Err(error) => {
                    let trouble = EngineError::from(error);
                    warn!("the engine's events ended: {trouble}");
                    return heard;
                }
            }
            heard = true;
        }
        heard
    }

    fn concerns(&self, event: &EventMessage) -> bool {
        self.scope.whose(attribute(event, label::IDENTITY)) != Whose::Others
    }

    /// Events of a deployment while an action of this node is in progress for
    /// it are caused by the action, or covered by the look after its end.
    fn heard(&self, event: &EventMessage) {
        let own = deployment(event).is_some_and(|it| self.acting.is_on(&it));
        let id = event.actor.as_ref().and_then(|it| it.id.as_deref());
        if let Some((id, action)) = id.zip(event.action.as_deref()) {
            let signal = attribute(event, "signal").map(String::as_str);
            self.interference.note(id, action, signal, own);
        }
        match own {
            true => self.news.whisper(),
            false => self.news.tell(),
        }
    }
}

/// Events of engines carry the labels of the container.
fn deployment(event: &EventMessage) -> Option<DeploymentId> {
    attribute(event, label::DEPLOYMENT)?.parse().ok()
}

fn attribute<'a>(event: &'a EventMessage, name: &str) -> Option<&'a String> {
    event.actor.as_ref()?.attributes.as_ref()?.get(name)
}

/// Checks of this node cause events too, which must not wake it.
fn is_news(event: &EventMessage) -> bool {
    let action = event.action.as_deref().unwrap_or_default();
    !["exec", "health_status", "top", "archive", "attach", "resize", "mount", "unmount"]
        .iter()
        .any(|it| action.starts_with(it))
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
            let event = EventMessage { action: Some(action.to_owned()), ..EventMessage::default() };
            assert_eq!(is_news(&event), expected, "{action}");
        }
    }
}
