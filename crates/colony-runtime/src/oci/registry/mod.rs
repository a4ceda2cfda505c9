//! Reading from OCI registries: the archives of components, and the images
//! that come through the node's manager or from registries without TLS.
//!
//! Owns the transport, the answers to a registry's challenge, and the check
//! of every digest. Images of other registries are left to the engine, which
//! does not fetch the layers that it has.

pub(crate) mod auth;
mod blob_feed;
mod http;
mod manifest;
mod place;
pub(crate) mod push;

use std::sync::Arc;
use std::time::Duration;

use ::http::StatusCode;
use bytes::Bytes;
use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::margo::Digest;

use crate::config::Registries;
use crate::oci::source::Source;
use auth::Challenge;
pub(crate) use blob_feed::{BlobFeed, Parts};
use http::{Answer, Client, HttpError, Sink};
pub(crate) use manifest::{Descriptor, Manifest, oci_architecture};
pub(crate) use place::{HUB, RegistryLocation};

const MANIFEST_LIMIT: usize = 4 << 20;
const ACCEPT: &str = "application/vnd.oci.image.manifest.v1+json, \
    application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, \
    application/vnd.docker.distribution.manifest.list.v2+json";
/// The time limit of one blob.
const BLOB_TIME: Duration = Duration::from_secs(300);

/// Every registry this node can reach.
pub(crate) struct Registry {
    client: Client,
    registries: Registries,
    manager: Option<Arc<dyn Source>>,
}

impl Registry {
    pub(crate) fn new(registries: Registries, manager: Option<Arc<dyn Source>>) -> Registry {
        Registry { client: Client::new(registries.insecure.clone()), registries, manager }
    }

    /// The host is used without TLS.
    pub(crate) fn is_insecure(&self, host: &str) -> bool {
        self.client.is_insecure(host)
    }

    /// The manifest that `reference`, a tag or a digest, stands for.
    pub(crate) async fn manifest(
        &self,
        place: &RegistryLocation,
        reference: &str,
    ) -> Result<Manifest, Failure> {
        Ok(self.published_manifest(place, reference).await?.1)
    }

    /// The same with the bytes that its digest is of.
    pub(crate) async fn published_manifest(
        &self,
        place: &RegistryLocation,
        reference: &str,
    ) -> Result<(Bytes, Manifest), Failure> {
        let what = format!("{place}:{reference}");
        let path = format!("/v2/{}/manifests/{reference}", place.name);
        let bytes = self.fetch(place, &path, ACCEPT, Sink::Memory(MANIFEST_LIMIT), &what).await?;
        if let Ok(expected) = reference.parse::<Digest>() {
            verified(&bytes, &expected, &what)?;
        }
        let manifest = Manifest::read(&bytes).map_err(|it| {
            Failure::new(Code::ArchiveInvalid, format!("the manifest of `{what}` {it}"))
        })?;
        Ok((bytes, manifest))
    }

    /// A blob, verified.
    pub(crate) async fn blob(
        &self,
        place: &RegistryLocation,
        blob: &Descriptor,
        limit: usize,
    ) -> Result<Bytes, Failure> {
        let what = format!("{place}@{}", blob.digest);
        let size = usize::try_from(blob.size).unwrap_or(usize::MAX);
        if size > limit {
            let message = format!("`{what}` has {size} bytes, at most {limit} are taken");
            return Err(Failure::new(Code::ArchiveInvalid, message));
        }
        let path = format!("/v2/{}/blobs/{}", place.name, blob.digest);
        let bytes = self.fetch(place, &path, "*/*", Sink::Memory(size.max(1)), &what).await?;
        verified(&bytes, &blob.digest, &what)?;
        Ok(bytes)
    }

    /// Passes a blob on while it arrives. What comes from the manager is held
    /// in memory, so it has a limit.
    pub(crate) async fn pass_blob(
        &self,
        place: &RegistryLocation,
        feed: &BlobFeed<'_>,
        limit: usize,
    ) -> Result<(), Failure> {
        let what = format!("{place}@{}", feed.digest());
        if place.is_builtin() && feed.size() > limit as u64 {
            let message = format!("`{what}` has {} bytes, at most {limit} are taken", feed.size());
            return Err(Failure::new(Code::ArchiveInvalid, message));
        }
        let path = format!("/v2/{}/blobs/{}", place.name, feed.digest());
        self.fetch(place, &path, "*/*", Sink::Feed(feed), &what).await.map(drop)
    }

    async fn fetch(
        &self,
        place: &RegistryLocation,
        path: &str,
        accept: &str,
        sink: Sink<'_>,
        what: &str,
    ) -> Result<Bytes, Failure> {
        let answer = match place.is_builtin() {
            true => self.ask_manager(path, accept, sink).await,
            false => self.ask(place, path, accept, sink).await,
        };
        let answer = answer.map_err(|it| it.failed(what))?;
        if answer.status == StatusCode::OK {
            return Ok(answer.bytes);
        }
        let refused = refusal(answer.status, what);
        if place.is_builtin() || refused.code != Code::RegistryDenied {
            return Err(refused);
        }
        Err(self.registries.credentials.find(place).await.explained(refused))
    }

    async fn ask_manager(
        &self,
        path: &str,
        accept: &str,
        sink: Sink<'_>,
    ) -> Result<Answer, HttpError> {
        let limit = match sink {
            Sink::Memory(limit) => limit,
            Sink::Feed(feed) => usize::try_from(feed.size()).unwrap_or(usize::MAX).max(1),
        };
        let none = || HttpError::Unreachable("this node has no manager to read through".to_owned());
        let source = self.manager.as_ref().ok_or_else(none)?;
        let asked = tokio::time::timeout(BLOB_TIME, source.fetch(path, accept, limit)).await;
        let fetched = asked.map_err(|_| HttpError::Slow)?.map_err(HttpError::Unreachable)?;
        let status = StatusCode::from_u16(fetched.status);
        let status = status.map_err(|it| HttpError::Odd(it.to_string()))?;
        if let (Sink::Feed(feed), StatusCode::OK) = (sink, status) {
            feed.pass(http_body_util::Full::new(fetched.bytes.clone())).await?;
        }
        Ok(Answer { status, headers: ::http::HeaderMap::new(), bytes: fetched.bytes })
    }

    /// Sends the request without a credential, as most registries need none,
    /// and once more with what the challenge demands.
    async fn ask(
        &self,
        place: &RegistryLocation,
        path: &str,
        accept: &str,
        sink: Sink<'_>,
    ) -> Result<Answer, HttpError> {
        let url = self.client.url(&place.host, path)?;
        let get = |authorization| self.client.get(&url, accept, authorization, sink);
        let first = timed(sink, get(None)).await?;
        if first.status != StatusCode::UNAUTHORIZED {
            return Ok(first);
        }
        let Some(challenge) = Challenge::read(&first.headers) else { return Ok(first) };
        let lookup = self.registries.credentials.find(place).await;
        match challenge.answer(&self.client, lookup.credential()).await? {
            Some(authorization) => timed(sink, get(Some(authorization))).await,
            None => Ok(first),
        }
    }
}

/// What is passed on has no limit as long as it arrives.
async fn timed(
    sink: Sink<'_>,
    answer: impl Future<Output = Result<Answer, HttpError>>,
) -> Result<Answer, HttpError> {
    match sink {
        Sink::Memory(_) => {
            tokio::time::timeout(BLOB_TIME, answer).await.unwrap_or(Err(HttpError::Slow))
        }
        Sink::Feed(_) => answer.await,
    }
}

fn verified(bytes: &[u8], expected: &Digest, what: &str) -> Result<(), Failure> {
    let found = Digest::of(bytes);
    if found == *expected {
        return Ok(());
    }
    // A retry may bring the right bytes, and no author can fix it.
    let message = format!("`{what}` came with the digest {found}, not {expected}");
    Err(Failure::new(Code::RegistryUnavailable, message))
}

fn refusal(status: StatusCode, what: &str) -> Failure {
    let (code, why) = match status {
        StatusCode::NOT_FOUND => (Code::ImageMissing, "it does not exist there".to_owned()),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            (Code::RegistryDenied, format!("the registry refuses ({status})"))
        }
        status => (Code::RegistryUnavailable, format!("the registry answers {status}")),
    };
    Failure::new(code, format!("could not fetch `{what}`: {why}"))
}

impl HttpError {
    fn failed(&self, what: &str) -> Failure {
        let code = match self {
            HttpError::Slow => Code::PullTimeout,
            HttpError::TooLarge(_) => Code::ArchiveInvalid,
            HttpError::Unreachable(_) | HttpError::Odd(_) => Code::RegistryUnavailable,
        };
        Failure::new(code, format!("could not fetch `{what}`: {self}"))
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("registries", &self.registries).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::source::Fetched;

    #[tokio::test]
    async fn a_blob_is_taken_with_its_digest_and_size_alone() {
        check_blob(200, b"right", 5, "right").await;
        check_blob(200, b"wrong", 5, "came with the digest").await;
        check_blob(200, b"", 5, "came with the digest").await;
        check_blob(200, b"right", 6, "has 6 bytes, at most 5 are taken").await;
        check_blob(404, b"right", 5, "it does not exist there").await;
        check_blob(401, b"right", 5, "the registry refuses").await;
        check_blob(403, b"right", 5, "the registry refuses").await;
        check_blob(500, b"right", 5, "the registry answers 500").await;
    }

    #[tokio::test]
    async fn a_manifest_named_by_its_digest_is_verified() {
        let digest = Digest::of(b"{}").to_string();
        let read = async |said: &'static [u8], reference: &str| {
            registry(200, said).manifest(&place(), reference).await
        };
        assert_eq!(read(b"{}", &digest).await, Ok(Manifest::default()));
        assert_eq!(read(b"{}", "1.0").await, Ok(Manifest::default()));
        assert_eq!(read(b"{ }", "1.0").await, Ok(Manifest::default()));
        let failure = read(b"{ }", &digest).await.expect_err("it is another one");
        assert_eq!(failure.code, Code::RegistryUnavailable, "{}", failure.message);
    }

    #[test]
    fn only_hosts_that_were_named_are_insecure() {
        let insecure = std::collections::BTreeSet::from(["hub:5000".to_owned()]);
        let registries = Registries { insecure, ..Registries::default() };
        let registry = Registry::new(registries, None);
        assert!(registry.is_insecure("hub:5000"));
        assert!(!registry.is_insecure("hub"));
    }

    /// Fetches a blob whose digest is that of `right`, of five bytes at most.
    async fn check_blob(status: u16, said: &'static [u8], size: u64, expected: &str) {
        let (media_type, platform) = (String::new(), None);
        let blob = Descriptor { media_type, digest: Digest::of(b"right"), size, platform };
        let found = registry(status, said).blob(&place(), &blob, 5).await;
        let found = found.map_or_else(|it| it.message, |it| String::from_utf8_lossy(&it).into());
        assert!(found.contains(expected), "{found}");
    }

    fn registry(status: u16, bytes: &'static [u8]) -> Registry {
        Registry::new(Registries::default(), Some(Arc::new(Fixed { status, bytes })))
    }

    fn place() -> RegistryLocation {
        RegistryLocation::read("colony.builtin/hello").expect("a place")
    }

    /// Gives every request the same answer.
    struct Fixed {
        status: u16,
        bytes: &'static [u8],
    }

    #[async_trait::async_trait]
    impl Source for Fixed {
        async fn fetch(&self, _: &str, _: &str, _: usize) -> Result<Fetched, String> {
            let (status, bytes) = (self.status, Bytes::from_static(self.bytes));
            Ok(Fetched { status, content_type: String::new(), bytes })
        }
    }
}
