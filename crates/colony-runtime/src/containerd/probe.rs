//! A health check that containerd executes in the container.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::timeout;

use crate::containerd::client::ContainerdClient;
use crate::containerd::wire::{ExecRequest, ExecResponse};
use crate::containers::api::{Answer, Probe, Verdict};
use crate::containers::engine_error::EngineError;
use crate::containers::health::check::Check;
use crate::containers::health::complaint::{OUTPUT_LIMIT, complaint, late, shortened};

/// How long the engine may take beyond the check's own time, to end it.
const MARGIN: Duration = Duration::from_secs(10);

/// The check of one pod.
#[derive(Debug)]
pub(super) struct ExecProbe {
    client: ContainerdClient,
    pod: String,
    /// Looked for once: a pod has the same container all its life.
    container: Option<String>,
    check: Check,
}

impl ExecProbe {
    pub(super) fn new(client: &ContainerdClient, pod: &str, check: &Check) -> ExecProbe {
        let (client, check) = (client.clone(), check.clone());
        ExecProbe { client, pod: pod.to_owned(), container: None, check }
    }

    async fn container(&mut self) -> Answer<String> {
        if let Some(container) = &self.container {
            return Ok(container.clone());
        }
        let gone =
            || EngineError::Rejected { status: 404, message: "no such container".to_owned() };
        let found = self.client.container_of(&self.pod).await?.ok_or_else(gone)?.id;
        self.container = Some(found.clone());
        Ok(found)
    }
}

#[async_trait]
impl Probe for ExecProbe {
    /// The engine ends a check that takes too long: checks do not pile up.
    async fn ask(&mut self) -> Answer<Verdict> {
        let seconds = self.check.timeout.as_millis().div_ceil(1000);
        let request = ExecRequest {
            container_id: self.container().await?,
            cmd: self.check.command(),
            timeout: i64::try_from(seconds).unwrap_or(i64::MAX),
        };
        let time = self.check.timeout.saturating_add(MARGIN);
        let method = "/runtime.v1.RuntimeService/ExecSync";
        let call = self.client.grpc.call::<ExecResponse>(method, &request, time);
        let Ok(answer) = timeout(self.check.timeout, call).await else {
            return Ok(Err(late(&self.check)));
        };
        match answer {
            Ok(end) if end.exit_code == 0 => Ok(Ok(())),
            Ok(end) => Ok(Err(complaint(&words(&end), end.exit_code.into()))),
            Err(EngineError::Timeout) => Ok(Err(late(&self.check))),
            // A program that cannot be executed is a check that fails.
            Err(EngineError::Rejected { message, .. }) if message.contains("exec failed") => {
                Ok(Err(shortened(&message)))
            }
            Err(trouble) => Err(trouble),
        }
    }
}

fn words(end: &ExecResponse) -> String {
    let bytes: Vec<u8> = [&end.stdout[..], &end.stderr[..]].concat();
    let shown = &bytes[..bytes.len().min(OUTPUT_LIMIT)];
    String::from_utf8_lossy(shown).into_owned()
}
