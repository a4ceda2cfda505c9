//! Requests to the API of a cluster.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use colony_core::attempt::Failure;
use colony_core::code::Code;
use futures_util::{AsyncBufRead, AsyncReadExt};
use http::header::{ACCEPT, CONTENT_TYPE};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::url::escaped;

/// How long an answer may take.
const ANSWER_TIME: Duration = Duration::from_secs(20);
/// How much of a message is shown.
const SHOWN: usize = 600;
/// Asks for labels and annotations only: a release's record may be large.
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// The API server of a cluster.
#[derive(Clone)]
pub(super) struct KubeApi {
    client: kube::Client,
    pub(super) address: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum KubeError {
    #[error("the API server does not answer: {0}")]
    Unavailable(String),
    #[error("the API server did not answer within {} s", ANSWER_TIME.as_secs())]
    Timeout,
    #[error("{message}")]
    Rejected { status: u16, message: String },
    #[error("the answer of the API server cannot be parsed: {0}")]
    Unexpected(String),
}

#[derive(Debug, Deserialize)]
struct List<T> {
    /// `null` in some answers of an older API server, if there are none.
    items: Option<Vec<T>>,
}

/// What all objects have.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) uid: String,
    pub(super) generation: i64,
    pub(super) creation_timestamp: String,
    pub(super) deletion_timestamp: Option<String>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
}

/// An object of which only the metadata was read.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Named {
    pub(super) metadata: Metadata,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionInfo {
    git_version: String,
}

impl KubeApi {
    /// The cluster of a kubeconfig, or the one found the way `kubectl` does:
    /// `KUBECONFIG`, `~/.kube/config`, or the service account of a pod.
    pub(super) async fn connect(kubeconfig: Option<&Path>) -> Result<KubeApi, Error> {
        let config = match kubeconfig {
            Some(path) => {
                let none = |it: &dyn std::fmt::Display| Error::NoEngine {
                    tried: vec![format!("{} ({it})", path.display())],
                };
                let file = Kubeconfig::read_from(path).map_err(|it| none(&it))?;
                let options = KubeConfigOptions::default();
                kube::Config::from_custom_kubeconfig(file, &options)
                    .await
                    .map_err(|it| none(&it))?
            }
            None => kube::Config::infer()
                .await
                .map_err(|it| Error::NoEngine { tried: vec![format!("kubernetes ({it})")] })?,
        };
        let address = config.cluster_url.to_string();
        let client = kube::Client::try_from(config)
            .map_err(|it| Error::NoEngine { tried: vec![format!("{address} ({it})")] })?;
        Ok(KubeApi { client, address })
    }

    pub(super) async fn version(&self) -> Result<String, KubeError> {
        let info: VersionInfo = self.get("/version").await?;
        Ok(info.git_version.trim_start_matches('v').to_owned())
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, KubeError> {
        let request = http::Request::get(path).body(Vec::new()).map_err(unexpected)?;
        timed(self.client.request(request)).await
    }

    /// The objects below `path` with these labels.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        selector: &str,
    ) -> Result<Vec<T>, KubeError> {
        let list: List<T> = self.get(&selected(path, selector)).await?;
        Ok(list.items.unwrap_or_default())
    }

    /// The same without the content of the objects.
    pub(super) async fn list_metadata(
        &self,
        path: &str,
        selector: &str,
    ) -> Result<Vec<Named>, KubeError> {
        let request = http::Request::get(selected(path, selector)).header(ACCEPT, METADATA);
        let request = request.body(Vec::new()).map_err(unexpected)?;
        let list: List<Named> = timed(self.client.request(request)).await?;
        Ok(list.items.unwrap_or_default())
    }

    /// A text answer, such as a log, up to `limit` bytes.
    pub(super) async fn text(&self, path: &str, limit: u64) -> Result<String, KubeError> {
        let read = async {
            let stream = self.stream(path).await?;
            let mut bytes = Vec::new();
            let mut part = Box::pin(stream.take(limit));
            part.read_to_end(&mut bytes)
                .await
                .map_err(|it| KubeError::Unavailable(it.to_string()))?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        tokio::time::timeout(ANSWER_TIME, read).await.unwrap_or(Err(KubeError::Timeout))
    }

    /// An answer that goes on, such as a watch.
    pub(super) async fn stream(&self, path: &str) -> Result<impl AsyncBufRead + use<>, KubeError> {
        let request = http::Request::get(path).body(Vec::new()).map_err(unexpected)?;
        timed(self.client.request_stream(request)).await
    }

    /// Sets an annotation. Succeeds if the object is gone.
    pub(super) async fn annotate(
        &self,
        path: &str,
        key: &str,
        value: &str,
    ) -> Result<(), KubeError> {
        let patch = serde_json::json!({ "metadata": { "annotations": { key: value } } });
        let request = http::Request::patch(path)
            .header(CONTENT_TYPE, "application/merge-patch+json")
            .body(patch.to_string().into_bytes());
        let done = timed(self.client.request_text(request.map_err(unexpected)?)).await;
        gone_is_done(done.map(drop))
    }

    /// Deletes an object. Succeeds if it is gone.
    pub(super) async fn delete(&self, path: &str) -> Result<(), KubeError> {
        let request = http::Request::delete(path).body(Vec::new()).map_err(unexpected)?;
        gone_is_done(timed(self.client.request_text(request)).await.map(drop))
    }
}

impl KubeError {
    /// The failure of what we were `doing`.
    pub(super) fn failed(&self, doing: &str) -> Failure {
        let code = match self {
            KubeError::Unavailable(_) | KubeError::Timeout => Code::EngineUnavailable,
            KubeError::Rejected { .. } | KubeError::Unexpected(_) => Code::EngineError,
        };
        Failure::new(code, format!("could not {doing}: {}", one_line(&self.to_string())))
    }
}

/// A message of the cluster or of Helm on one line, cut to what is shown.
pub(super) fn one_line(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    text.trim().chars().take(SHOWN).collect()
}

fn selected(path: &str, selector: &str) -> String {
    if selector.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?labelSelector={}", escaped(selector))
    }
}

async fn timed<T>(answer: impl Future<Output = kube::Result<T>>) -> Result<T, KubeError> {
    match tokio::time::timeout(ANSWER_TIME, answer).await {
        Ok(answer) => answer.map_err(KubeError::from),
        Err(_) => Err(KubeError::Timeout),
    }
}

fn gone_is_done(done: Result<(), KubeError>) -> Result<(), KubeError> {
    match done {
        Err(KubeError::Rejected { status: 404, .. }) => Ok(()),
        other => other,
    }
}

fn unexpected(error: http::Error) -> KubeError {
    KubeError::Unexpected(error.to_string())
}

impl From<kube::Error> for KubeError {
    fn from(error: kube::Error) -> KubeError {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the library's other errors are about the connection or its credentials"
        )]
        match error {
            kube::Error::Api(status) => {
                KubeError::Rejected { status: status.code, message: status.message.clone() }
            }
            kube::Error::SerdeError(error) => KubeError::Unexpected(error.to_string()),
            kube::Error::FromUtf8(error) => KubeError::Unexpected(error.to_string()),
            other => KubeError::Unavailable(chain(&other)),
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
        source = error.source();
    }
    text
}
