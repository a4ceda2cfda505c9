//! Runs the health check of a container once.
//!
//! Docker executes the command of the check. Podman keeps two processes for
//! five minutes for every command that is executed through its API, so that
//! checks would pile up; there the check is part of the container and podman is
//! called to run it. Both engines run checks only when this node requests it.

use std::time::Duration;

use async_trait::async_trait;
use bollard::exec::{StartExecOptions, StartExecResults};
use bollard::models::{ExecConfig, HealthConfig};
use futures_util::StreamExt;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::containers::api::{Answer, Probe, Verdict};
use crate::containers::engine_error::EngineError;
use crate::containers::health::check::Check;
use crate::containers::health::complaint::{OUTPUT_LIMIT, complaint, late, shortened};
use crate::docker::client::DockerClient;

/// The interval at which an engine would run the check by itself: ten years.
const NEVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// A check that has not ended. It is not started again before it has: no engine
/// can end it, and checks would pile up.
#[derive(Debug, Default)]
enum Hanging {
    #[default]
    Nothing,
    Executed(String),
    Asked(JoinHandle<Answer<Verdict>>),
}

/// The health check settings of the engine for a container to be created.
pub(super) fn config(is_podman: bool, check: Option<&Check>) -> HealthConfig {
    let nanos = |it: Duration| i64::try_from(it.as_nanos()).unwrap_or(i64::MAX);
    match check.filter(|_| is_podman) {
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

/// The check of one container.
#[derive(Debug)]
pub(super) struct DockerProbe {
    client: DockerClient,
    id: String,
    check: Check,
    hanging: Hanging,
}

#[async_trait]
impl Probe for DockerProbe {
    async fn ask(&mut self) -> Answer<Verdict> {
        match &self.hanging {
            Hanging::Nothing => {}
            Hanging::Executed(exec) => {
                if self.client.docker.inspect_exec(exec).await?.running == Some(true) {
                    return Ok(Err(late(&self.check)));
                }
            }
            Hanging::Asked(task) if !task.is_finished() => return Ok(Err(late(&self.check))),
            Hanging::Asked(_) => {}
        }
        self.hanging = Hanging::Nothing;
        match self.client.is_podman() {
            true => self.ask_podman().await,
            false => self.execute().await,
        }
    }
}

impl DockerProbe {
    pub(super) fn new(client: &DockerClient, id: &str, check: &Check) -> DockerProbe {
        let hanging = Hanging::default();
        DockerProbe { client: client.clone(), id: id.to_owned(), check: check.clone(), hanging }
    }

    async fn ask_podman(&mut self) -> Answer<Verdict> {
        let (engine, name) = (self.client.api.clone(), self.id.clone());
        let mut task = tokio::spawn(async move { engine.health(&name).await });
        let answer = match timeout(self.check.timeout, &mut task).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => Err(EngineError::Unexpected(error.to_string())),
            Err(_) => {
                self.hanging = Hanging::Asked(task);
                return Ok(Err(late(&self.check)));
            }
        };
        match answer {
            // The container was created without a check.
            Err(EngineError::Rejected { status: 409, .. }) => self.execute().await,
            other => other.map(|it| it.map_err(|said| complaint(&said, 1))),
        }
    }

    async fn execute(&mut self) -> Answer<Verdict> {
        let config = ExecConfig {
            cmd: Some(self.check.command()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..ExecConfig::default()
        };
        let exec = self.client.docker.create_exec(&self.id, config).await?.id;
        match timeout(self.check.timeout, self.executed(&exec)).await {
            Ok(answer) => answer,
            Err(_) => {
                self.hanging = Hanging::Executed(exec);
                Ok(Err(late(&self.check)))
            }
        }
    }

    async fn executed(&self, exec: &str) -> Answer<Verdict> {
        let started = match self.client.docker.start_exec(exec, None::<StartExecOptions>).await {
            Ok(it) => it,
            Err(error) => return not_executed(error.into()),
        };
        let output = match started {
            StartExecResults::Attached { output, .. } => words(output).await,
            StartExecResults::Detached => String::new(),
        };
        let end = self.client.docker.inspect_exec(exec).await?;
        match end.exit_code {
            Some(0) => Ok(Ok(())),
            Some(code) => Ok(Err(complaint(&output, code))),
            None => Err(EngineError::Unexpected("a check ended without an exit code".to_owned())),
        }
    }
}

/// A program that cannot be executed is a check that fails.
fn not_executed(trouble: EngineError) -> Answer<Verdict> {
    match &trouble {
        EngineError::Rejected { status: 400 | 500, message } if message.contains("exec") => {
            Ok(Err(shortened(message)))
        }
        EngineError::Rejected { .. }
        | EngineError::Unavailable(_)
        | EngineError::Timeout
        | EngineError::Unexpected(_)
        | EngineError::Unreadable(_) => Err(trouble),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn podman_alone_is_told_of_the_check() {
        let check = Check::with_defaults(vec!["CMD".to_owned(), "/check".to_owned()]);
        let test = |is_podman, check| config(is_podman, check).test.unwrap_or_default().join(" ");
        assert_eq!(test(true, Some(&check)), "CMD /check");
        assert_eq!(test(true, None), "NONE");
        assert_eq!(test(false, Some(&check)), "NONE");
    }
}
