//! Images: looked for and pulled through CRI, stored through containerd's own
//! services, which CRI has no call for.

use std::collections::BTreeSet;
use std::io::Read;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use colony_core::margo::Digest;
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, interval, sleep};

use crate::config::Credential;
use crate::containerd::client::{ContainerdClient, there};
use crate::containerd::events::NAMESPACE;
use crate::containerd::grpc::{ANSWER, Grpc, framed};
use crate::containerd::wire::{
    AuthConfig, CreateLeaseRequest, DeleteImageRequest, DeleteLeaseRequest, Descriptor, Empty,
    Image as CriImage, ImageFsResponse, ImageRequest, ImageSpec, ImageStatusResponse,
    PullImageRequest, ReadContentRequest, ReadContentResponse, StatusesRequest, StatusesResponse,
    StoredImage, StoredImageRequest, WriteAction, WriteContentRequest,
};
use crate::containers::api::{Answer, Image, ImageCheck, Labels, LoadedImage, Pull};
use crate::containers::engine_error::EngineError;
use crate::containers::image::UNPACKED_LIMIT;
use crate::containers::pulls::Shown;
use crate::logs::log_line::stamp;
use crate::oci::registry::oci_architecture;

/// The longest time of one pull: progress is looked at meanwhile.
const PULL: Duration = Duration::from_secs(6 * 3600);
const PROGRESS: Duration = Duration::from_millis(500);
/// The largest configuration of an image that is read.
const CONFIG_LIMIT: usize = 4 << 20;
/// How much of a blob one message carries.
const PART: usize = 4 << 20;
/// CRI learns of a stored image by an event.
const NOTICED: Duration = Duration::from_secs(10);
const NOTICED_LOOK: Duration = Duration::from_millis(20);
/// What is written is kept until the image names it, or this long.
const LEASE: Duration = Duration::from_secs(3600);

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// The part of an image's configuration that CRI does not show.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Configuration {
    os: String,
    architecture: String,
    config: Option<Configured>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Configured {
    healthcheck: Option<ImageCheck>,
}

/// A blob to be stored.
struct Blob {
    media_type: &'static str,
    digest: Digest,
    bytes: Vec<u8>,
    labels: Labels,
}

impl ContainerdClient {
    async fn images<T: prost::Message + Default>(
        &self,
        method: &str,
        request: &impl prost::Message,
        time: Duration,
    ) -> Answer<T> {
        self.grpc.call(&format!("/runtime.v1.ImageService/{method}"), request, time).await
    }

    pub(super) async fn find_image(&self, name: &str) -> Answer<Option<Image>> {
        let Some(found) = self.image_status(name).await? else { return Ok(None) };
        let configuration = self.configuration(&found.id).await?;
        if configuration.check_platform().is_err() {
            // Another one may have been pushed under its name.
            return Ok(None);
        }
        let check = configuration.config.and_then(|it| it.healthcheck);
        Ok(Some(Image { id: found.id, check }))
    }

    /// One that cannot be read says nothing.
    async fn configuration(&self, id: &str) -> Answer<Configuration> {
        let bytes = there(self.blob(id).await)?.unwrap_or_default();
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn blob(&self, digest: &str) -> Answer<Vec<u8>> {
        let read = async {
            let body = framed([&ReadContentRequest { digest: digest.to_owned() }]);
            let method = "/containerd.services.content.v1.Content/Read";
            let mut parts = self.grpc.open(method, &[NAMESPACE], body).await?;
            let mut bytes = Vec::new();
            while let Some(part) = parts.next::<ReadContentResponse>().await? {
                bytes.extend_from_slice(&part.data);
                if bytes.len() > CONFIG_LIMIT {
                    return Err(EngineError::Unexpected(format!("{digest} is too large")));
                }
            }
            Ok(bytes)
        };
        tokio::time::timeout(ANSWER, read).await.unwrap_or(Err(EngineError::Timeout))
    }

    pub(super) async fn pull_image(&self, pull: &Pull<'_>, shown: &Shown<'_>) -> Answer<()> {
        let request =
            PullImageRequest { image: Some(spec(pull.image)), auth: pull.credential.map(auth) };
        let pulled = self.images::<Empty>("PullImage", &request, PULL);
        tokio::pin!(pulled);
        let (mut look, mut last) = (interval(PROGRESS), (Vec::new(), Instant::now()));
        loop {
            tokio::select! {
                biased;
                answer = &mut pulled => {
                    answer?;
                    return self.check_pulled(pull.image).await;
                }
                _ = look.tick() => {
                    let now = self.ingests(shown).await.unwrap_or_default();
                    if now != last.0 {
                        last = (now, Instant::now());
                    }
                    if last.1.elapsed() > pull.stall {
                        return Err(EngineError::Timeout);
                    }
                }
            }
        }
    }

    async fn check_pulled(&self, name: &str) -> Answer<()> {
        match self.image_status(name).await? {
            Some(image) => self.configuration(&image.id).await?.check_platform(),
            None => Ok(()),
        }
    }

    /// What is being fetched, with the bytes done. Of several pulls at a time
    /// each shows the sum.
    async fn ingests(&self, shown: &Shown<'_>) -> Answer<Vec<(String, i64)>> {
        let method = "/containerd.services.content.v1.Content/ListStatuses";
        let request = StatusesRequest { filters: Vec::new() };
        let answer: StatusesResponse =
            self.grpc.call_in(NAMESPACE, method, &request, ANSWER).await?;
        for it in &answer.statuses {
            if let (Ok(done), Ok(total)) = (u64::try_from(it.offset), u64::try_from(it.total)) {
                shown.note(&it.reference, done, total);
            }
        }
        Ok(answer.statuses.into_iter().map(|it| (it.reference, it.offset)).collect())
    }

    /// CRI removes all names of an image, and does so even if a container uses
    /// it: then the image stays. If it has another name, only this one goes.
    pub(super) async fn drop_image(&self, name: &str, keep: &BTreeSet<String>) -> Answer<()> {
        let Some(found) = self.image_status(name).await? else { return Ok(()) };
        if self.containers().await?.iter().any(|it| it.image_ref == found.id) {
            let message = "a container uses the image".to_owned();
            return Err(EngineError::Rejected { status: 409, message });
        }
        let full = full_name(name);
        let is_only_name = found.repo_tags.iter().all(|it| *it == full);
        if is_only_name && !self.is_any(&found.id, keep).await? {
            return self.images::<Empty>("RemoveImage", &request(name), ANSWER).await.map(drop);
        }
        let request = DeleteImageRequest { name: full };
        let method = "/containerd.services.images.v1.Images/Delete";
        let deleted = self.grpc.call_in::<Empty>(NAMESPACE, method, &request, ANSWER).await;
        there(deleted).map(drop)
    }

    async fn is_any(&self, id: &str, names: &BTreeSet<String>) -> Answer<bool> {
        for name in names {
            if self.image_status(name).await?.is_some_and(|it| it.id == id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn image_status(&self, name: &str) -> Answer<Option<CriImage>> {
        let answer: ImageStatusResponse =
            self.images("ImageStatus", &request(name), ANSWER).await?;
        Ok(answer.image)
    }

    /// Where images are kept; empty if the engine does not say.
    pub(super) async fn image_folder(grpc: &Grpc) -> String {
        let method = "/runtime.v1.ImageService/ImageFsInfo";
        let answer = grpc.call::<ImageFsResponse>(method, &Empty {}, ANSWER).await;
        let systems = answer.map(|it| it.image_filesystems).unwrap_or_default();
        let folder = systems.into_iter().find_map(|it| it.fs_id);
        folder.map(|it| it.mountpoint).unwrap_or_default()
    }

    /// Writes the blobs of an image, and gives it its name.
    pub(super) async fn store_image(&self, image: LoadedImage) -> Answer<()> {
        let blobs = blobs(&image)?;
        let lease = format!("colony-{}", blobs[0].digest.short());
        let labels = Labels::from([("containerd.io/gc.expire".to_owned(), lease_end())]);
        let request = CreateLeaseRequest { id: lease.clone(), labels };
        let method = "/containerd.services.leases.v1.Leases/Create";
        let leased: Answer<Empty> = self.grpc.call_in(NAMESPACE, method, &request, ANSWER).await;
        exists_is_fine(leased.map(drop))?;
        for blob in &blobs {
            let written = tokio::time::timeout(image.stall, self.write(blob, &lease));
            written.await.unwrap_or(Err(EngineError::Timeout))?;
        }
        self.name_image(&image.name, &blobs[0]).await?;
        let method = "/containerd.services.leases.v1.Leases/Delete";
        let request = DeleteLeaseRequest { id: lease };
        // An old lease ends by itself.
        let _: Answer<Empty> = self.grpc.call_in(NAMESPACE, method, &request, ANSWER).await;
        self.await_image(&image.name).await
    }

    async fn write(&self, blob: &Blob, lease: &str) -> Answer<()> {
        let headers = [NAMESPACE, ("containerd-lease", lease)];
        let method = "/containerd.services.content.v1.Content/Write";
        let mut answers = match self.grpc.open(method, &headers, blob.messages()).await {
            Ok(answers) => answers,
            other => return exists_is_fine(other.map(drop)),
        };
        loop {
            match answers.next::<Empty>().await {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(trouble) => return exists_is_fine(Err(trouble)),
            }
        }
    }

    async fn name_image(&self, name: &str, manifest: &Blob) -> Answer<()> {
        let target = Descriptor {
            media_type: manifest.media_type.to_owned(),
            digest: manifest.digest.to_string(),
            size: i64::try_from(manifest.bytes.len()).unwrap_or(i64::MAX),
        };
        let image = StoredImage { name: name.to_owned(), target: Some(target) };
        let request = StoredImageRequest { image: Some(image) };
        let method = |it: &str| format!("/containerd.services.images.v1.Images/{it}");
        let made: Answer<Empty> =
            self.grpc.call_in(NAMESPACE, &method("Create"), &request, ANSWER).await;
        match made {
            Err(EngineError::Rejected { status: 409, .. }) => self
                .grpc
                .call_in::<Empty>(NAMESPACE, &method("Update"), &request, ANSWER)
                .await
                .map(drop),
            other => other.map(drop),
        }
    }

    async fn await_image(&self, name: &str) -> Answer<()> {
        let noticed = async {
            loop {
                if self.image_status(name).await?.is_some() {
                    return Ok(());
                }
                sleep(NOTICED_LOOK).await;
            }
        };
        tokio::time::timeout(NOTICED, noticed).await.unwrap_or(Err(EngineError::Timeout))
    }
}

impl Configuration {
    /// containerd checks the platform of an image only if it can choose between
    /// several.
    fn check_platform(&self) -> Answer<()> {
        let machine = oci_architecture(std::env::consts::ARCH);
        let fits = |it: &str, wanted: &str| it.is_empty() || it == wanted;
        if fits(&self.os, "linux") && fits(&self.architecture, machine) {
            return Ok(());
        }
        let (os, architecture) = (&self.os, &self.architecture);
        let message = format!("the image is for {os}/{architecture}, not for linux/{machine}");
        Err(EngineError::Unreadable(message))
    }
}

impl Blob {
    fn new(media_type: &'static str, bytes: Vec<u8>) -> Blob {
        Blob { media_type, digest: Digest::of(&bytes), bytes, labels: Labels::new() }
    }

    fn descriptor(&self) -> serde_json::Value {
        let digest = self.digest.to_string();
        json!({ "mediaType": self.media_type, "digest": digest, "size": self.bytes.len() })
    }

    /// The messages that write it: its parts, and the end with its digest.
    fn messages(&self) -> Bytes {
        let size = i64::try_from(self.bytes.len()).unwrap_or(i64::MAX);
        let (reference, expected) = (format!("colony-{}", self.digest), self.digest.to_string());
        let message = |action: WriteAction, offset: usize, data: &[u8]| WriteContentRequest {
            action: action.into(),
            reference: reference.clone(),
            total: size,
            expected: expected.clone(),
            offset: i64::try_from(offset).unwrap_or(i64::MAX),
            data: data.to_vec(),
            labels: self.labels.clone(),
        };
        let parts = self.bytes.chunks(PART).enumerate();
        let mut all: Vec<WriteContentRequest> =
            parts.map(|(it, part)| message(WriteAction::Write, it * PART, part)).collect();
        all.push(message(WriteAction::Commit, self.bytes.len(), &[]));
        framed(&all)
    }
}

/// The manifest first, then what it names. Layers are stored unpacked from gzip,
/// as the image's configuration describes them.
fn blobs(image: &LoadedImage) -> Answer<Vec<Blob>> {
    let mut parts = vec![Blob::new(CONFIG, image.config.to_vec())];
    for layer in &image.layers {
        parts.push(Blob::new(LAYER, unpacked(layer)?));
    }
    let layers: Vec<_> = parts[1..].iter().map(Blob::descriptor).collect();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": parts[0].descriptor(),
        "layers": layers,
    });
    let mut manifest = Blob::new(MANIFEST, manifest.to_string().into_bytes());
    // The garbage collector follows these.
    manifest.labels = parts
        .iter()
        .enumerate()
        .map(|(number, it)| {
            (format!("containerd.io/gc.ref.content.{number}"), it.digest.to_string())
        })
        .collect();
    Ok(std::iter::once(manifest).chain(parts).collect())
}

fn unpacked(layer: &[u8]) -> Answer<Vec<u8>> {
    if !layer.starts_with(&[0x1f, 0x8b]) {
        return Ok(layer.to_vec());
    }
    let (mut bytes, limit) = (Vec::new(), UNPACKED_LIMIT);
    let read = GzDecoder::new(layer).take(limit + 1).read_to_end(&mut bytes);
    let broken = |why: String| EngineError::Unreadable(format!("has a broken layer: {why}"));
    read.map_err(|it| broken(it.to_string()))?;
    match bytes.len() as u64 > limit {
        true => Err(broken("it is too large".to_owned())),
        false => Ok(bytes),
    }
}

#[expect(clippy::disallowed_methods, reason = "leases of containerd end at a time of day")]
fn lease_end() -> String {
    let end = SystemTime::now() + LEASE;
    let end = end.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    stamp(u64::try_from(end).unwrap_or(u64::MAX))
}

fn request(name: &str) -> ImageRequest {
    ImageRequest { image: Some(spec(name)) }
}

fn spec(name: &str) -> ImageSpec {
    ImageSpec { image: name.to_owned() }
}

fn auth(credential: &Credential) -> AuthConfig {
    match credential {
        Credential::Password { user, password } => AuthConfig {
            username: user.clone(),
            password: password.clone(),
            ..AuthConfig::default()
        },
        Credential::IdentityToken(token) => {
            AuthConfig { identity_token: token.clone(), ..AuthConfig::default() }
        }
    }
}

/// The name as engines keep it: with its registry and its tag.
fn full_name(name: &str) -> String {
    let (first, rest) = name.split_once('/').unwrap_or(("", name));
    let is_host = first.contains(['.', ':']) || first == "localhost";
    let full = match (first, is_host) {
        ("", _) => format!("docker.io/library/{name}"),
        (_, true) => name.to_owned(),
        (_, false) => format!("docker.io/{name}"),
    };
    match rest.contains([':', '@']) {
        true => full,
        false => format!("{full}:latest"),
    }
}

fn exists_is_fine(answer: Answer<()>) -> Answer<()> {
    match answer {
        Err(EngineError::Rejected { status: 409, .. }) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed() {
        check("busybox", "docker.io/library/busybox:latest");
        check("busybox:1", "docker.io/library/busybox:1");
        check("team/app", "docker.io/team/app:latest");
        check("localhost/app:1", "localhost/app:1");
        check("r.example:5000/a/b", "r.example:5000/a/b:latest");
        check("r.example/a@sha256:0", "r.example/a@sha256:0");
    }

    #[test]
    fn an_image_is_for_this_machine_or_says_nothing() {
        let read = |text: &str| serde_json::from_str::<Configuration>(text).unwrap();
        let own = oci_architecture(std::env::consts::ARCH);
        let image = |it: &str| format!(r#"{{"os": "linux", "architecture": "{it}"}}"#);
        assert_eq!(read(&image(own)).check_platform(), Ok(()));
        assert_eq!(read("{}").check_platform(), Ok(()));
        let foreign = read(&image("s390x")).check_platform().unwrap_err();
        assert_eq!(
            foreign.to_string(),
            format!("the image is for linux/s390x, not for linux/{own}")
        );
    }

    #[track_caller]
    fn check(name: &str, expected: &str) {
        assert_eq!(full_name(name), expected);
    }
}
