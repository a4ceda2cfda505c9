//! Listening to the engine, and asking containers how they are.
//!
//! Both end with `run`: every health check is a task of its set. Which checks
//! run follows from what is there, so a restart of this process, of the engine
//! and of a container are one path.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bollard::exec::{StartExecOptions, StartExecResults};
use bollard::models::{EventMessage, ExecConfig};
use bollard::query_parameters::EventsOptions;
use colony_core::node::Status;
use futures_util::StreamExt;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

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
/// What is read of a check's words, and shown.
const OUTPUT_LIMIT: usize = 4 << 10;
const OUTPUT_SHOWN: usize = 200;

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
    let mut hanging = None;
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

    /// Runs the check once. `Err` means that it could not be run. A check that
    /// does not end is not asked a second time before it has: no engine offers
    /// to end it, and they would pile up.
    async fn ask(
        &self,
        id: &str,
        check: &Check,
        hanging: &mut Option<String>,
    ) -> Result<Result<(), String>, Trouble> {
        if let Some(exec) = hanging {
            if self.docker.inspect_exec(exec).await?.running == Some(true) {
                return Ok(Err(late(check)));
            }
            *hanging = None;
        }
        let config = ExecConfig {
            cmd: Some(check.command()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..ExecConfig::default()
        };
        let exec = self.docker.create_exec(id, config).await?.id;
        match timeout(check.timeout, self.executed(&exec)).await {
            Ok(answer) => answer,
            Err(_) => {
                *hanging = Some(exec);
                Ok(Err(late(check)))
            }
        }
    }

    async fn executed(&self, exec: &str) -> Result<Result<(), String>, Trouble> {
        let started = match self.docker.start_exec(exec, None::<StartExecOptions>).await {
            Ok(it) => it,
            Err(error) => return not_executed(error.into()),
        };
        let output = match started {
            StartExecResults::Attached { output, .. } => words(output).await,
            StartExecResults::Detached => String::new(),
        };
        let end = self.docker.inspect_exec(exec).await?;
        match end.exit_code {
            Some(0) => Ok(Ok(())),
            Some(code) => Ok(Err(complaint(&output, code))),
            None => Err(Trouble::Odd("a check ended without an exit code".to_owned())),
        }
    }
}

/// A program that cannot be executed is a check that fails.
fn not_executed(trouble: Trouble) -> Result<Result<(), String>, Trouble> {
    match &trouble {
        Trouble::Refused { status: 400 | 500, message } if message.contains("exec") => {
            Ok(Err(shortened(message)))
        }
        Trouble::Refused { .. } | Trouble::Down(_) | Trouble::Slow | Trouble::Odd(_) => {
            Err(trouble)
        }
    }
}

async fn words<S, E>(mut output: S) -> String
where
    S: futures_util::Stream<Item = Result<bollard::container::LogOutput, E>> + Unpin,
{
    let mut text = Vec::new();
    while let Some(Ok(part)) = output.next().await {
        let room = OUTPUT_LIMIT.saturating_sub(text.len());
        let part = part.into_bytes();
        text.extend_from_slice(&part[..part.len().min(room)]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn complaint(output: &str, code: i64) -> String {
    let line = output.lines().map(str::trim).rfind(|it| !it.is_empty());
    line.map_or_else(|| format!("exit code {code}"), shortened)
}

fn shortened(line: &str) -> String {
    line.trim().chars().take(OUTPUT_SHOWN).collect()
}

fn late(check: &Check) -> String {
    format!("no answer within {:?}", check.timeout)
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

    #[test]
    fn a_check_complains_with_its_last_line() {
        assert_eq!(complaint("one\nGET / 500\n\n", 1), "GET / 500");
        assert_eq!(complaint("", 7), "exit code 7");
        assert_eq!(complaint(&"x".repeat(999), 1).len(), OUTPUT_SHOWN);
    }
}
