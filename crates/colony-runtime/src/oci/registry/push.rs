//! Writing to OCI registries: the archive of a compose component, or an image.
//!
//! The manifest of a component has the artifact type and the one layer that
//! nodes expect. A revision or tag that exists with other content is refused:
//! nodes keep what they have fetched, so its content must never change.

use std::time::Duration;

use bytes::Bytes;
use colony_core::margo::{Digest, Repository, Revision};
use http::{Method, StatusCode, Uri};
use serde_json::json;

use super::auth::Challenge;
use super::http::{Answer, Call, Client, HttpError, Sink};
use super::manifest::{ARCHIVE, COMPONENT};
use super::place::RegistryLocation;
use crate::config::Registries;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const EMPTY_CONFIG: &str = "application/vnd.oci.empty.v1+json";
const OCTETS: &str = "application/octet-stream";
/// The time limit of one request with its answer.
const CALL_TIME: Duration = Duration::from_secs(300);

/// Why a component could not be pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    #[error("`{0}` names no registry and name; expected such as oci://registry.example/name")]
    Repository(String),
    #[error("`{0}` is not the reference of an image; expected such as registry.example/name:1.0")]
    Reference(String),
    #[error("could not push `{what}`: {why}")]
    Unreachable { what: String, why: String },
    #[error("could not push `{what}`: the registry refuses ({status}); {reason}")]
    Denied { what: String, status: u16, reason: String },
    #[error("could not push `{what}`: the registry answers {status} to {doing}")]
    Answer { what: String, doing: &'static str, status: u16 },
    #[error(
        "`{what}` exists with other content; nodes keep what they have fetched, so raise the revision"
    )]
    Taken { what: String },
}

/// A component in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// Of the manifest.
    pub digest: Digest,
    /// It existed already, with the same content.
    pub existed: bool,
}

/// Puts the archive of a compose component under its revision.
pub async fn push_component(
    registries: &Registries,
    repository: &Repository,
    revision: &Revision,
    archive: &[u8],
) -> Result<Pushed, PushError> {
    let place = RegistryLocation::read(repository.reference())
        .ok_or_else(|| PushError::Repository(repository.to_string()))?;
    let what = format!("{place}:{revision}");
    let client = Client::new(registries.insecure.clone());
    let push = Push { client, registries, place, what };
    let manifest = manifest(&push.place.name, revision.as_str(), archive);
    push.put(revision.as_str(), manifest, &[b"{}", archive]).await
}

/// Puts an image, whose manifest names these blobs, under a reference with a
/// registry and a tag.
pub async fn push_image(
    registries: &Registries,
    reference: &str,
    manifest: &[u8],
    blobs: &[&[u8]],
) -> Result<Pushed, PushError> {
    let tag_is_good = |it: &str| {
        !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"._-".contains(&it))
    };
    let place = reference.rsplit_once(':').filter(|it| tag_is_good(it.1));
    let place = place.and_then(|(place, tag)| Some((RegistryLocation::read(place)?, tag)));
    let (place, tag) = place.ok_or_else(|| PushError::Reference(reference.to_owned()))?;
    let client = Client::new(registries.insecure.clone());
    let push = Push { client, registries, place, what: reference.to_owned() };
    push.put(tag, manifest.to_vec(), blobs).await
}

struct Push<'a> {
    client: Client,
    registries: &'a Registries,
    place: RegistryLocation,
    what: String,
}

impl Push<'_> {
    async fn put(
        &self,
        revision: &str,
        manifest: Vec<u8>,
        blobs: &[&[u8]],
    ) -> Result<Pushed, PushError> {
        let digest = Digest::of(&manifest);
        match self.present(revision).await? {
            Some(found) if found == digest => return Ok(Pushed { digest, existed: true }),
            Some(_) => return Err(PushError::Taken { what: self.what.clone() }),
            None => {}
        }
        for blob in blobs {
            self.blob(blob).await?;
        }
        let url = self.url(&format!("manifests/{revision}"))?;
        let call = call(Method::PUT, Some(MANIFEST), manifest);
        let answer = self.ask(&url, &call).await?;
        self.expect(answer.status, &[StatusCode::CREATED, StatusCode::OK], "the manifest").await?;
        Ok(Pushed { digest, existed: false })
    }

    /// The digest that the revision refers to, if it exists.
    async fn present(&self, revision: &str) -> Result<Option<Digest>, PushError> {
        let url = self.url(&format!("manifests/{revision}"))?;
        let get =
            |authorization| self.client.get(&url, MANIFEST, authorization, Sink::Memory(4 << 20));
        let mut answer = self.timed(get(None)).await?;
        if answer.status == StatusCode::UNAUTHORIZED
            && let Some(authorization) = self.authorization(&answer).await?
        {
            answer = self.timed(get(Some(authorization))).await?;
        }
        match answer.status {
            StatusCode::OK => Ok(Some(Digest::of(&answer.bytes))),
            StatusCode::NOT_FOUND => Ok(None),
            status => Err(self.refusal(status, "the question for the revision").await),
        }
    }

    async fn blob(&self, bytes: &[u8]) -> Result<(), PushError> {
        let digest = Digest::of(bytes);
        let url = self.url(&format!("blobs/{digest}"))?;
        let known = self.ask(&url, &call(Method::HEAD, None, Vec::new())).await?;
        if known.status == StatusCode::OK {
            return Ok(());
        }
        let url = self.url("blobs/uploads/")?;
        let begun = self.ask(&url, &call(Method::POST, None, Vec::new())).await?;
        self.expect(begun.status, &[StatusCode::ACCEPTED], "the start of an upload").await?;
        let upload = self.client.redirected(&url, &begun.headers);
        let upload = upload.map_err(|it| self.unreachable(&it))?.to_string();
        let mark = if upload.contains('?') { '&' } else { '?' };
        let upload = self.client.absolute(&format!("{upload}{mark}digest={digest}"));
        let upload = upload.map_err(|it| self.unreachable(&it))?;
        let done = self.ask(&upload, &call(Method::PUT, Some(OCTETS), bytes.to_vec())).await?;
        self.expect(done.status, &[StatusCode::CREATED], "the upload").await
    }

    /// Sends the request without a credential first, as most registries of a
    /// plant are open, and once more with what the challenge demands.
    async fn ask(&self, url: &Uri, call: &Call) -> Result<Answer, PushError> {
        let first = self.timed(self.client.send(url, call, None)).await?;
        if first.status != StatusCode::UNAUTHORIZED {
            return Ok(first);
        }
        match self.authorization(&first).await? {
            Some(it) => self.timed(self.client.send(url, call, Some(&it))).await,
            None => Ok(first),
        }
    }

    async fn authorization(&self, refused: &Answer) -> Result<Option<String>, PushError> {
        let Some(challenge) = Challenge::read(&refused.headers) else { return Ok(None) };
        let lookup = self.registries.credentials.find(&self.place).await;
        let answer = challenge.answer(&self.client, lookup.credential()).await;
        answer.map_err(|it| self.unreachable(&it))
    }

    async fn timed(
        &self,
        answer: impl Future<Output = Result<Answer, HttpError>>,
    ) -> Result<Answer, PushError> {
        let answer = tokio::time::timeout(CALL_TIME, answer).await;
        answer.unwrap_or(Err(HttpError::Slow)).map_err(|it| self.unreachable(&it))
    }

    fn url(&self, path: &str) -> Result<Uri, PushError> {
        let url = self.client.url(&self.place.host, &format!("/v2/{}/{path}", self.place.name));
        url.map_err(|it| self.unreachable(&it))
    }

    async fn expect(
        &self,
        status: StatusCode,
        expected: &[StatusCode],
        doing: &'static str,
    ) -> Result<(), PushError> {
        if expected.contains(&status) { Ok(()) } else { Err(self.refusal(status, doing).await) }
    }

    async fn refusal(&self, status: StatusCode, doing: &'static str) -> PushError {
        let (what, code) = (self.what.clone(), status.as_u16());
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let lookup = self.registries.credentials.find(&self.place).await;
                PushError::Denied { what, status: code, reason: lookup.reason().to_owned() }
            }
            _ => PushError::Answer { what, doing, status: code },
        }
    }

    fn unreachable(&self, error: &HttpError) -> PushError {
        PushError::Unreachable { what: self.what.clone(), why: error.to_string() }
    }
}

fn call(method: Method, content_type: Option<&'static str>, body: Vec<u8>) -> Call {
    Call { method, content_type, body: Bytes::from(body) }
}

fn manifest(name: &str, revision: &str, archive: &[u8]) -> Vec<u8> {
    let described = |kind: &str, bytes: &[u8]| json!({"mediaType": kind, "digest": Digest::of(bytes), "size": bytes.len()});
    let mut layer = described(ARCHIVE, archive);
    let title = name.rsplit('/').next().unwrap_or(name);
    layer["annotations"] = json!({
        "org.margo.component.type": "compose",
        "org.margo.component.version": revision,
        "org.opencontainers.image.title": title,
    });
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": COMPONENT,
        "config": described(EMPTY_CONFIG, b"{}"),
        "layers": [layer],
    });
    manifest.to_string().into_bytes()
}

#[cfg(test)]
mod tests;
