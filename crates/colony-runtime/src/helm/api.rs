//! Requests to the API of a cluster.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{AsyncBufRead, AsyncReadExt, TryStreamExt};
use http::Response;
use http::header::{ACCEPT, CONTENT_TYPE};
use http_body_util::{BodyDataStream, BodyExt, LengthLimitError, Limited};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use crate::error::Error;
use crate::helm::kube_error::{KubeError, chain};
use crate::url::escaped;

/// How long an answer may take.
pub(super) const ANSWER_TIME: Duration = Duration::from_secs(20);
/// How much of a message is shown.
const SHOWN: usize = 600;
/// How many objects one answer has, and how many of a list are read.
const PAGE: usize = 250;
const OBJECTS: usize = 20_000;
/// The largest answer that is read.
const ANSWER_LIMIT: usize = 32 << 20;
/// How much of a refusal is read.
const REFUSAL_LIMIT: usize = 64 << 10;
/// Asks for labels and annotations only: a release's record may be large.
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const METADATA_OF_ONE: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// The API server of a cluster.
#[derive(Clone)]
pub(super) struct KubeApi {
    client: kube::Client,
    pub(super) address: String,
}

#[derive(Debug, Deserialize)]
struct List<T> {
    #[serde(default)]
    metadata: ListMetadata,
    /// `null` in some answers of an older API server, if there are none.
    items: Option<Vec<T>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ListMetadata {
    /// Where the next page begins; empty at the last one.
    #[serde(rename = "continue")]
    rest: Option<String>,
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

#[derive(Debug, Deserialize)]
struct GroupList {
    groups: Vec<Group>,
}

#[derive(Debug, Deserialize)]
struct Group {
    versions: Vec<GroupVersion>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupVersion {
    group_version: String,
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

    /// The groups of kinds that the API server knows, with their versions.
    pub(super) async fn groups(&self) -> Result<Vec<String>, KubeError> {
        let all: GroupList = self.get("/apis").await?;
        let versions = all.groups.into_iter().flat_map(|it| it.versions);
        Ok(versions.map(|it| it.group_version).chain(["v1".to_owned()]).collect())
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, KubeError> {
        self.ask(http::Request::get(path).body(Vec::new())?).await
    }

    /// The objects below `path` with these labels.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        selector: &str,
    ) -> Result<Vec<T>, KubeError> {
        self.pages(&selected(path, selector), "application/json").await
    }

    /// At most `limit` objects below `path` with these values of fields.
    pub(super) async fn list_by_fields<T: DeserializeOwned>(
        &self,
        path: &str,
        fields: &str,
        limit: usize,
    ) -> Result<Vec<T>, KubeError> {
        let path = format!("{path}?fieldSelector={}&limit={limit}", escaped(fields));
        let list: List<T> = self.get(&path).await?;
        Ok(list.items.unwrap_or_default())
    }

    /// The objects with these labels, without their content.
    pub(super) async fn list_metadata(
        &self,
        path: &str,
        selector: &str,
    ) -> Result<Vec<Named>, KubeError> {
        self.pages(&selected(path, selector), METADATA).await
    }

    /// All pages of a list, so that no answer grows with the cluster.
    async fn pages<T: DeserializeOwned>(
        &self,
        path: &str,
        accept: &'static str,
    ) -> Result<Vec<T>, KubeError> {
        let (mut all, mut rest) = (Vec::new(), String::new());
        while all.len() < OBJECTS {
            let request = http::Request::get(format!("{path}&limit={PAGE}{rest}"));
            let request = request.header(ACCEPT, accept).body(Vec::new())?;
            let list: List<T> = self.ask(request).await?;
            all.extend(list.items.unwrap_or_default());
            match list.metadata.rest.filter(|it| !it.is_empty()) {
                Some(next) => rest = format!("&continue={}", escaped(&next)),
                None => return Ok(all),
            }
        }
        Err(KubeError::TooMany { limit: OBJECTS })
    }

    /// An object without its content.
    pub(super) async fn metadata(&self, path: &str) -> Result<Named, KubeError> {
        let request = http::Request::get(path).header(ACCEPT, METADATA_OF_ONE);
        self.ask(request.body(Vec::new())?).await
    }

    /// A text answer, such as a log, up to `limit` bytes.
    pub(super) async fn text(&self, path: &str, limit: u64) -> Result<String, KubeError> {
        let read = async {
            let response = self.send(http::Request::get(path).body(Vec::new())?).await?;
            let mut part = stream(response).take(limit);
            let mut bytes = Vec::new();
            part.read_to_end(&mut bytes)
                .await
                .map_err(|it| KubeError::Unavailable(it.to_string()))?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        in_time(read).await
    }

    /// A watch of objects: its bytes say when something changed, but not what.
    pub(super) async fn watch(&self, path: &str) -> Result<impl AsyncBufRead + use<>, KubeError> {
        let request = http::Request::get(path).header(ACCEPT, METADATA_OF_ONE);
        let response = in_time(self.send(request.body(Vec::new())?)).await?;
        Ok(stream(response))
    }

    /// Sets an annotation. Succeeds if the object is gone.
    pub(super) async fn annotate(
        &self,
        path: &str,
        key: &str,
        value: &str,
    ) -> Result<(), KubeError> {
        self.patch(path, json!({ "annotations": { key: value } })).await
    }

    /// Sets labels. Succeeds if the object is gone.
    pub(super) async fn label(&self, path: &str, labels: Value) -> Result<(), KubeError> {
        self.patch(path, json!({ "labels": labels })).await
    }

    async fn patch(&self, path: &str, metadata: Value) -> Result<(), KubeError> {
        let patch = json!({ "metadata": metadata });
        let request = http::Request::patch(path)
            .header(CONTENT_TYPE, "application/merge-patch+json")
            .body(patch.to_string().into_bytes())?;
        gone_is_done(self.ask::<IgnoredAny>(request).await)
    }

    /// Deletes an object. Succeeds if it is gone.
    pub(super) async fn delete(&self, path: &str) -> Result<(), KubeError> {
        let request = http::Request::delete(path).body(Vec::new())?;
        gone_is_done(self.ask::<IgnoredAny>(request).await)
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        request: http::Request<Vec<u8>>,
    ) -> Result<T, KubeError> {
        let read = async { body(self.send(request).await?, ANSWER_LIMIT).await };
        Ok(serde_json::from_slice(&in_time(read).await?)?)
    }

    async fn send(&self, request: http::Request<Vec<u8>>) -> Result<Response<Body>, KubeError> {
        let response = self.client.send(request.map(Body::from)).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let bytes = body(response, REFUSAL_LIMIT).await.unwrap_or_default();
        Err(KubeError::refused(status.as_u16(), &bytes))
    }
}

/// The whole of an answer, if it is not larger than `limit`.
async fn body(response: Response<Body>, limit: usize) -> Result<Bytes, KubeError> {
    match Limited::new(response.into_body(), limit).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(KubeError::TooLarge { limit }),
        Err(error) => Err(KubeError::Unavailable(chain(&*error))),
    }
}

fn stream(response: Response<Body>) -> impl AsyncBufRead + Unpin + use<> {
    let parts = BodyDataStream::new(response.into_body());
    Box::pin(parts.map_err(std::io::Error::other).into_async_read())
}

async fn in_time<T>(answer: impl Future<Output = Result<T, KubeError>>) -> Result<T, KubeError> {
    tokio::time::timeout(ANSWER_TIME, answer).await.unwrap_or(Err(KubeError::Timeout))
}

/// A message of the cluster or of Helm on one line, cut to what is shown.
pub(super) fn one_line(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    text.trim().chars().take(SHOWN).collect()
}

fn selected(path: &str, selector: &str) -> String {
    format!("{path}?labelSelector={}", escaped(selector))
}

fn gone_is_done(done: Result<IgnoredAny, KubeError>) -> Result<(), KubeError> {
    match done {
        Err(KubeError::Rejected { status: 404, .. }) => Ok(()),
        other => other.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn list_is_read_in_pages() {
        let pages = [
            (r#"{"metadata": {"continue": "a/b="}, "items": [{"metadata": {"name": "x"}}]}"#, ""),
            (r#"{"metadata": {}, "items": [{"metadata": {"name": "y"}}]}"#, "&continue=a%2Fb%3D"),
        ];
        let all = listed(&pages).await.unwrap();
        let names: Vec<String> = all.into_iter().map(|it| it.metadata.name).collect();
        assert_eq!(names, ["x", "y"]);
    }

    #[tokio::test]
    async fn answer_and_list_have_a_limit() {
        let items = vec![r#"{"metadata": {"name": "x"}}"#; OBJECTS].join(",");
        let endless = format!(r#"{{"metadata": {{"continue": "c"}}, "items": [{items}]}}"#);
        let found = listed(&[(&endless, "")]).await.unwrap_err();
        assert_eq!(found, KubeError::TooMany { limit: OBJECTS });
        let large = format!(r#"{{"items": [], "more": "{}"}}"#, "x".repeat(ANSWER_LIMIT));
        let found = listed(&[(&large, "")]).await.unwrap_err();
        assert_eq!(found, KubeError::TooLarge { limit: ANSWER_LIMIT });
    }

    /// Lists from an API server that answers with these, one after the other,
    /// when they are asked for with these parameters.
    async fn listed(answers: &[(&str, &str)]) -> Result<Vec<Named>, KubeError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let config = kube::Config::new(address.parse().unwrap());
        let api = KubeApi { client: kube::Client::try_from(config).unwrap(), address };
        let serve = async {
            for (body, parameters) in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                let path = format!("GET /things?labelSelector=&limit={PAGE}{parameters} HTTP/1.1");
                assert!(head.starts_with(&path), "{head}");
                let start = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ";
                let answer = format!("{start}{}\r\n\r\n{body}", body.len());
                // The client goes away when it has read enough.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        };
        tokio::join!(api.list_metadata("/things", ""), serve).0
    }
}
