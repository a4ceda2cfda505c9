//! Listening to the engine, and asking containers how they are.
//!
//! Both end with `run`: every health check is a task of its set. Which checks
//! run follows from what is there, so a restart of this process, of the engine
//! and of a container are one path.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bollard::models::EventMessage;
use bollard::query_parameters::EventsOptions;
use colony_core::node::Status;
use futures_util::StreamExt;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::ask::Hanging;
use crate::check::{Check, Pulse};
use crate::label;
use crate::runtime::Inner;
use crate::survey::Seen;
use crate::trouble::Trouble;

/// How long to wait for an engine that is away.
const AWAY: Duration = Duration::from_millis(100);
const AWAY_LONGEST: Duration = Duration::from_secs(5);
/// Even if nothing is heard, a look now and then.
const PATROL: Duration = Duration::from_secs(30);

type Probes = (JoinSet<()>, BTreeMap<String, AbortHandle>);

pub(crate) async fn run(inner: &Arc<Inner>, stop: CancellationToken) {
    let mut probes: Probes = (JoinSet::new(), BTreeMap::new());
    tokio::select! {
        () = stop.cancelled() => {}
        () = inner.listen() => {}
        () = tend(inner, &mut probes) => {}
    }
    probes.0.shutdown().await;
}

/// Has one check running for every container that runs and has one.
async fn tend(inner: &Arc<Inner>, probes: &mut Probes) {
    loop {
        match inner.survey(None).await {
            Ok(seen) => adjust(inner, probes, &seen),
            Err(trouble) => debug!("could not look at the containers: {trouble}"),
        }
        while probes.0.try_join_next().is_some() {}
        let _ = timeout(PATROL, inner.kick.notified()).await;
    }
}

fn adjust(inner: &Arc<Inner>, (tasks, known): &mut Probes, seen: &[Seen]) {
    let running = seen.iter().filter(|it| it.status == Status::Running);
    let checked: BTreeMap<&str, (&Seen, &Check)> =
        running.filter_map(|it| Some((it.run.as_str(), (it, it.care.check.as_ref()?)))).collect();
    known.retain(|run, task| {
        let kept = checked.contains_key(run.as_str());
        if !kept {
            task.abort();
        }
        kept
    });
    let runs: BTreeSet<String> = seen.iter().map(|it| it.run.clone()).collect();
    inner.health.keep(&runs);
    for (run, (seen, check)) in checked {
        if !known.contains_key(run) {
            let probe = probe(Arc::clone(inner), seen.id.clone(), run.to_owned(), check.clone());
            known.insert(run.to_owned(), tasks.spawn(probe));
        }
    }
}

/// Asks one run of a container again and again.
async fn probe(inner: Arc<Inner>, id: String, run: String, check: Check) {
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

impl Inner {
    /// Hears all the engine has to say about containers of this node.
    async fn listen(&self) {
        let mut pause = AWAY;
        loop {
            if self.listen_once().await {
                pause = AWAY;
            }
            // Whatever was missed in between is seen by a look.
            self.stir();
            sleep(pause).await;
            pause = (pause * 2).min(AWAY_LONGEST);
            self.stir();
        }
    }

    /// Returns whether anything was heard before the engine fell silent.
    async fn listen_once(&self) -> bool {
        let filters = HashMap::from([
            ("type".to_owned(), vec!["container".to_owned()]),
            ("label".to_owned(), label::filter(&self.config.node, None)),
        ]);
        let options = EventsOptions { filters: Some(filters), ..EventsOptions::default() };
        let mut events = Box::pin(self.docker.events(Some(options)));
        let mut heard = false;
        while let Some(event) = events.next().await {
            match event {
                Ok(event) if is_news(&event) => self.stir(),
                Ok(_) => {}
                Err(error) => {
                    let trouble = Trouble::from(error);
                    warn!("the engine's events ended: {trouble}");
                    return heard;
                }
            }
            heard = true;
        }
        heard
    }

    /// There is something to look at.
    pub(crate) fn stir(&self) {
        self.news.tell();
        self.kick.notify_one();
    }
}

/// Our own checks make events too, and must not wake us.
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
