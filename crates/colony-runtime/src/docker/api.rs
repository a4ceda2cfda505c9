//! Requests to the engine that bypass the client library.
//!
//! The library parses states into closed enums and fails on the ones only
//! Podman knows (`stopped`), so that one unusual container would hide all
//! others. The data for a look at the engine is therefore read here, with
//! states as text and every field optional that can be absent.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use colony_core::node::Status;
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::config::EngineKind;
use crate::containers::api::{self, ContainerInfo, ImageCheck, Verdict as CheckVerdict};
use crate::containers::engine_error::EngineError;
use crate::url::{escaped, path_escaped};

const ANSWER_LIMIT: usize = 32 << 20;
/// Podman fails to list containers if one is removed meanwhile.
const LIST_TRIES: u32 = 3;
const ANSWER_TIME: Duration = Duration::from_secs(60);

/// The engine's socket.
#[derive(Debug, Clone)]
pub(crate) struct EngineApi {
    pub(crate) socket: PathBuf,
    pub(crate) kind: EngineKind,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Listed {
    pub(crate) id: String,
    pub(crate) labels: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Inspected {
    pub(crate) id: String,
    pub(crate) state: State,
    #[serde(default)]
    pub(crate) config: Configured,
    /// The id of its image.
    #[serde(default)]
    pub(crate) image: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Configured {
    pub(crate) labels: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct State {
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) exit_code: i64,
    #[serde(default)]
    pub(crate) started_at: String,
    pub(crate) health: Option<Checked>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Image {
    pub(crate) id: String,
    #[serde(default)]
    os: String,
    #[serde(default)]
    architecture: String,
    config: Option<ImageConfig>,
    /// The check as Podman's own API returns it.
    healthcheck: Option<ImageCheck>,
}

impl From<Image> for api::Image {
    fn from(it: Image) -> api::Image {
        let config = it.config.and_then(|it| it.healthcheck);
        let (os, architecture) = (it.os, it.architecture);
        api::Image { id: it.id, os, architecture, check: it.healthcheck.or(config) }
    }
}

impl From<Inspected> for ContainerInfo {
    fn from(it: Inspected) -> ContainerInfo {
        let unborn = matches!(it.state.status.as_str(), "created" | "configured" | "initialized");
        ContainerInfo {
            labels: it.config.labels.unwrap_or_default(),
            image: it.image,
            status: it.state.read(),
            unborn,
            started_at: it.state.started_at,
            id: it.id,
        }
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

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ImageConfig {
    healthcheck: Option<ImageCheck>,
}

/// Podman's answer after it ran a check.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Verdict {
    pub(crate) status: String,
}

/// An engine's record of the checks it ran.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Checked {
    log: Option<Vec<Printed>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Printed {
    #[serde(default)]
    output: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Info {
    #[serde(rename = "NCPU")]
    pub(crate) cpus: u32,
    pub(crate) mem_total: u64,
    pub(crate) architecture: String,
    pub(crate) operating_system: String,
    #[serde(rename = "OSType")]
    pub(crate) os_type: String,
    pub(crate) docker_root_dir: String,
    pub(crate) logging_driver: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Version {
    #[serde(default)]
    pub(crate) version: String,
    pub(crate) components: Option<Vec<Part>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Part {
    #[serde(default)]
    pub(crate) name: String,
}

impl EngineApi {
    /// Containers with all these labels, in any state.
    pub(crate) async fn list(&self, labels: &[String]) -> Result<Vec<Listed>, EngineError> {
        let filters = serde_json::json!({ "label": labels }).to_string();
        let path = format!("/containers/json?all=true&filters={}", escaped(&filters));
        for _ in 0..LIST_TRIES {
            match self.get(&path).await {
                Err(trouble) if is_vanished(&trouble) => {}
                other => return other,
            }
        }
        self.get(&path).await
    }

    /// `None` if there is no such container.
    pub(crate) async fn inspect(&self, id: &str) -> Result<Option<Inspected>, EngineError> {
        gone_is_none(self.get(&format!("/containers/{}/json", escaped(id))).await)
    }

    /// `None` if there is no such image.
    pub(crate) async fn image(&self, name: &str) -> Result<Option<Image>, EngineError> {
        // Podman keeps an image's health check out of the common API.
        let root = if self.kind == EngineKind::Podman { "/v4.0.0/libpod" } else { "" };
        gone_is_none(self.get(&format!("{root}/images/{}/json", path_escaped(name))).await)
    }

    /// Lets podman run a container's health check: whether it passed, or its
    /// output.
    pub(crate) async fn health(&self, id: &str) -> Result<CheckVerdict, EngineError> {
        let path = format!("/v4.0.0/libpod/containers/{}/healthcheck", escaped(id));
        let (status, bytes) = self.exchange(&path).await?;
        if !status.is_success() {
            return Err(EngineError::refused(status.as_u16(), &bytes));
        }
        let verdict: Verdict = serde_json::from_slice(&bytes)
            .map_err(|it| EngineError::Unexpected(format!("{path}: {it}")))?;
        if verdict.status == "healthy" {
            return Ok(Ok(()));
        }
        // Only an inspection of the container returns the output.
        let seen = self.inspect(id).await?;
        let log = seen.and_then(|it| it.state.health).and_then(|it| it.log).unwrap_or_default();
        Ok(Err(log.into_iter().next_back().map(|it| it.output).unwrap_or_default()))
    }

    pub(crate) async fn info(&self) -> Result<Info, EngineError> {
        self.get("/info").await
    }

    pub(crate) async fn version(&self) -> Result<Version, EngineError> {
        self.get("/version").await
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, EngineError> {
        let answer = tokio::time::timeout(ANSWER_TIME, self.exchange(path)).await;
        understood(path, answer.map_err(|_| EngineError::Timeout)??)
    }

    async fn exchange(&self, path: &str) -> Result<(http::StatusCode, Bytes), EngineError> {
        let stream = tokio::net::UnixStream::connect(&self.socket).await;
        let stream = stream.map_err(|it| EngineError::Unavailable(it.to_string()))?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) =
            handshake.map_err(|it| EngineError::Unavailable(it.to_string()))?;
        let request = http::Request::get(path).header(http::header::HOST, "engine");
        let request = request.body(Empty::<Bytes>::new());
        let request = request.map_err(|it| EngineError::Unexpected(it.to_string()))?;
        let answer = async {
            let answer = sender.send_request(request).await;
            let answer = answer.map_err(|it| EngineError::Unavailable(it.to_string()))?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), ANSWER_LIMIT).collect().await;
            let body = body.map_err(|it| EngineError::Unexpected(it.to_string()))?;
            Ok((status, body.to_bytes()))
        };
        // The connection has no task of its own: it lives as long as the answer.
        tokio::pin!(answer);
        tokio::select! {
            biased;
            answer = &mut answer => answer,
            _ = connection => answer.await,
        }
    }
}

impl Version {
    pub(crate) fn kind(&self) -> EngineKind {
        let parts = self.components.iter().flatten();
        match parts.into_iter().any(|it| it.name.contains("Podman")) {
            true => EngineKind::Podman,
            false => EngineKind::Docker,
        }
    }
}

pub(crate) fn understood<T: DeserializeOwned>(
    path: &str,
    (status, bytes): (http::StatusCode, Bytes),
) -> Result<T, EngineError> {
    if !status.is_success() {
        return Err(EngineError::refused(status.as_u16(), &bytes));
    }
    serde_json::from_slice(&bytes).map_err(|it| EngineError::Unexpected(format!("{path}: {it}")))
}

fn is_vanished(trouble: &EngineError) -> bool {
    match trouble {
        EngineError::Rejected { message, .. } => message.contains("no such container"),
        EngineError::Unavailable(_)
        | EngineError::Timeout
        | EngineError::Unexpected(_)
        | EngineError::Unreadable(_) => false,
    }
}

pub(super) fn gone_is_none<T>(answer: Result<T, EngineError>) -> Result<Option<T>, EngineError> {
    match answer {
        Ok(it) => Ok(Some(it)),
        Err(trouble) if trouble.is_gone() => Ok(None),
        Err(trouble) => Err(trouble),
    }
}

#[cfg(test)]
mod tests {
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
        let (status, started_at) = (status.to_owned(), String::new());
        let seen = ContainerInfo::from(Inspected {
            id: "1".to_owned(),
            state: State { status: status.clone(), exit_code: 3, started_at, health: None },
            config: Configured::default(),
            image: String::new(),
        });
        assert_eq!((seen.status, seen.unborn), (expected, unborn), "{status}");
    }
}
