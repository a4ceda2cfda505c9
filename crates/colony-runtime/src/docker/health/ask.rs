//! Runs the health check of a container once.
//!
//! Docker executes the command of the check. Podman keeps two processes for
//! five minutes for every command that is executed through its API, so that
//! checks would pile up; there the check is part of the container and podman is
//! called to run it. Both engines run checks only when this node requests it.

use std::time::Duration;

use bollard::exec::{StartExecOptions, StartExecResults};
use bollard::models::{ExecConfig, HealthConfig};
use futures_util::StreamExt;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::config::EngineKind;
use crate::docker::engine::DockerEngine;
use crate::docker::engine_error::EngineError;
use crate::docker::health::check::Check;

/// How much of a check's output is read, and shown.
const OUTPUT_LIMIT: usize = 4 << 10;
const OUTPUT_SHOWN: usize = 200;
/// The interval at which an engine would run the check by itself: ten years.
const NEVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Whether the check passed, or its output.
type Answer = Result<(), String>;

/// A check that has not ended. It is not started again before it has: no engine
/// can end it, and checks would pile up.
#[derive(Debug, Default)]
pub(crate) enum Hanging {
    #[default]
    Nothing,
    Executed(String),
    Asked(JoinHandle<Result<Answer, EngineError>>),
}

/// The health check settings of the engine for a container to be created.
pub(crate) fn config(kind: EngineKind, check: Option<&Check>) -> HealthConfig {
    let nanos = |it: Duration| i64::try_from(it.as_nanos()).unwrap_or(i64::MAX);
    match check.filter(|_| kind == EngineKind::Podman) {
        None => HealthConfig { test: Some(vec!["NONE".to_owned()]), ..HealthConfig::default() },
        Some(check) => HealthConfig {
            test: Some(check.podman_words()),
            interval: Some(nanos(NEVER)),
            timeout: Some(nanos(check.timeout)),
            retries: Some(1),
            ..HealthConfig::default()
        },
    }
}

impl DockerEngine {
    /// Runs the check once. `Err` means that it could not be run.
    pub(crate) async fn ask(
        &self,
        id: &str,
        check: &Check,
        hanging: &mut Hanging,
    ) -> Result<Answer, EngineError> {
        match hanging {
            Hanging::Nothing => {}
            Hanging::Executed(exec) => {
                if self.docker.inspect_exec(exec).await?.running == Some(true) {
                    return Ok(Err(late(check)));
                }
            }
            Hanging::Asked(task) if !task.is_finished() => return Ok(Err(late(check))),
            Hanging::Asked(_) => {}
        }
        *hanging = Hanging::Nothing;
        match self.api.kind {
            EngineKind::Podman => self.ask_podman(id, check, hanging).await,
            EngineKind::Docker | EngineKind::Kubernetes => self.execute(id, check, hanging).await,
        }
    }

    async fn ask_podman(
        &self,
        id: &str,
        check: &Check,
        hanging: &mut Hanging,
    ) -> Result<Answer, EngineError> {
        let (engine, name) = (self.api.clone(), id.to_owned());
        let mut task = tokio::spawn(async move { engine.health(&name).await });
        let answer = match timeout(check.timeout, &mut task).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => Err(EngineError::Unexpected(error.to_string())),
            Err(_) => {
                *hanging = Hanging::Asked(task);
                return Ok(Err(late(check)));
            }
        };
        match answer {
            // The container was created without a check.
            Err(EngineError::Rejected { status: 409, .. }) => {
                self.execute(id, check, hanging).await
            }
            other => other.map(|it| it.map_err(|said| complaint(&said, 1))),
        }
    }

    async fn execute(
        &self,
        id: &str,
        check: &Check,
        hanging: &mut Hanging,
    ) -> Result<Answer, EngineError> {
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
                *hanging = Hanging::Executed(exec);
                Ok(Err(late(check)))
            }
        }
    }

    async fn executed(&self, exec: &str) -> Result<Answer, EngineError> {
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
            None => Err(EngineError::Unexpected("a check ended without an exit code".to_owned())),
        }
    }
}

/// A program that cannot be executed is a check that fails.
fn not_executed(trouble: EngineError) -> Result<Answer, EngineError> {
    match &trouble {
        EngineError::Rejected { status: 400 | 500, message } if message.contains("exec") => {
            Ok(Err(shortened(message)))
        }
        EngineError::Rejected { .. }
        | EngineError::Unavailable(_)
        | EngineError::Timeout
        | EngineError::Unexpected(_) => Err(trouble),
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

/// The cause cannot be seen from outside, so the message names both.
fn late(check: &Check) -> String {
    let timeout = check.timeout.as_secs_f64();
    format!(
        "the check did not answer within {timeout} s; the node may be overloaded, or the check is \
         too slow"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_without_an_answer_may_be_the_fault_of_the_node() {
        for (millis, expected) in [(30_000, "30 s"), (500, "0.5 s")] {
            let mut check = Check::with_defaults(Vec::new());
            check.timeout = Duration::from_millis(millis);
            let expected = format!(
                "the check did not answer within {expected}; the node may be overloaded, or the \
                 check is too slow"
            );
            assert_eq!(late(&check), expected);
        }
    }

    #[test]
    fn a_check_complains_with_its_last_line() {
        assert_eq!(complaint("one\nGET / 500\n\n", 1), "GET / 500");
        assert_eq!(complaint("", 7), "exit code 7");
        assert_eq!(complaint(&"x".repeat(999), 1).len(), OUTPUT_SHOWN);
    }

    #[test]
    fn podman_alone_is_told_of_the_check() {
        let check = Check::with_defaults(vec!["CMD".to_owned(), "/check".to_owned()]);
        let test = |kind, check| config(kind, check).test.unwrap_or_default().join(" ");
        assert_eq!(test(EngineKind::Podman, Some(&check)), "CMD /check");
        assert_eq!(test(EngineKind::Podman, None), "NONE");
        assert_eq!(test(EngineKind::Docker, Some(&check)), "NONE");
    }
}
