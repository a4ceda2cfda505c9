//! Stores an image through containerd's own services: CRI can only pull.
//!
//! All blobs are stored as they were published, so that the image can be named
//! by its digest. Layers are written while they arrive; one that is there
//! already is not fetched.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use colony_core::margo::Digest;
use futures_util::stream::{StreamExt, iter, unfold};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::containerd::client::ContainerdClient;
use crate::containerd::events::NAMESPACE;
use crate::containerd::grpc::{ANSWER, RequestBody, framed, streamed, whole};
use crate::containerd::image::full_name;
use crate::containerd::wire::{
    CreateLeaseRequest, DeleteLeaseRequest, Descriptor, Empty, StoredImage, StoredImageRequest,
    WriteAction, WriteContentRequest,
};
use crate::containers::api::{Answer, Labels, LoadedImage};
use crate::containers::engine_error::EngineError;
use crate::logs::log_line::stamp;
use crate::oci::registry::{Manifest, Parts};

/// How much of a blob one message carries.
const PART: usize = 4 << 20;
/// CRI learns of a stored image by an event.
const NOTICED: Duration = Duration::from_secs(10);
const NOTICED_LOOK: Duration = Duration::from_millis(20);
/// What is written is kept until the image names it, or this long. Every
/// interrupted attempt leaves a lease that ends by itself.
const LEASE: Duration = Duration::from_secs(6 * 3600);

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// A blob to be stored.
struct Blob {
    digest: Digest,
    size: u64,
    content: Content,
    labels: Labels,
}

enum Content {
    Bytes(Bytes),
    /// It arrives.
    Parts(Parts),
}

impl ContainerdClient {
    /// Writes the blobs of an image, and gives it its name.
    pub(in crate::containerd) async fn store_image(&self, image: LoadedImage) -> Answer<()> {
        let LoadedImage { name, manifests, config, layers, stall } = image;
        let target = manifests.first().map(described);
        let target = target.ok_or_else(|| EngineError::Unreadable("has no manifest".to_owned()))?;
        // Images that share a layer may be stored at once, and so may one image.
        let lease = format!("colony-{}", Uuid::new_v4());
        self.lease(&lease).await?;
        let layers = layers.into_iter().map(|(layer, parts)| Blob {
            digest: layer.digest,
            size: layer.size,
            content: Content::Parts(parts),
            labels: Labels::new(),
        });
        let own = [Blob::new(config, Labels::new())].into_iter().chain(layers);
        // What is inside is there before what names it.
        for blob in own.chain(manifest_blobs(manifests)) {
            self.write(blob, &lease, stall).await?;
        }
        let name = full_name(&name);
        self.name_image(&name, target).await?;
        let method = "/containerd.services.leases.v1.Leases/Delete";
        let request = DeleteLeaseRequest { id: lease };
        // An old lease ends by itself.
        let _: Answer<Empty> = self.grpc.call_in(NAMESPACE, method, &request, ANSWER).await;
        self.await_image(&name).await
    }

    async fn lease(&self, id: &str) -> Answer<()> {
        let labels = Labels::from([("containerd.io/gc.expire".to_owned(), lease_end())]);
        let request = CreateLeaseRequest { id: id.to_owned(), labels };
        let method = "/containerd.services.leases.v1.Leases/Create";
        let leased: Answer<Empty> = self.grpc.call_in(NAMESPACE, method, &request, ANSWER).await;
        exists_is_fine(leased.map(drop))
    }

    async fn write(&self, blob: Blob, lease: &str, stall: Duration) -> Answer<()> {
        let headers = [NAMESPACE, ("containerd-lease", lease)];
        let method = "/containerd.services.content.v1.Content/Write";
        // The source of a layer may stall too, and says so itself.
        let (late, stall) = (|_| EngineError::Timeout, stall * 2);
        let opened = self.grpc.open(method, &headers, blob.body());
        let mut answers = match timeout(stall, opened).await.map_err(late)? {
            Ok(answers) => answers,
            other => return exists_is_fine(other.map(drop)),
        };
        loop {
            match timeout(stall, answers.next::<Empty>()).await.map_err(late)? {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(trouble) => return exists_is_fine(Err(trouble)),
            }
        }
    }

    async fn name_image(&self, name: &str, target: Descriptor) -> Answer<()> {
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
        timeout(NOTICED, noticed).await.unwrap_or(Err(EngineError::Timeout))
    }
}

impl Blob {
    fn new(bytes: Bytes, labels: Labels) -> Blob {
        let (digest, size) = (Digest::of(&bytes), bytes.len() as u64);
        Blob { digest, size, content: Content::Bytes(bytes), labels }
    }

    /// The messages that write it: its parts, and the end with its digest. For
    /// what arrives, the first only asks whether it is there.
    fn body(self) -> RequestBody {
        let total = i64::try_from(self.size).unwrap_or(i64::MAX);
        // Only one writer at a time may use a reference.
        let reference = format!("colony-{}", Uuid::new_v4());
        let expected = self.digest.to_string();
        let labels = self.labels;
        let message = move |action: WriteAction, offset: usize, data: &[u8]| WriteContentRequest {
            action: action.into(),
            reference: reference.clone(),
            total,
            expected: expected.clone(),
            offset: i64::try_from(offset).unwrap_or(i64::MAX),
            data: data.to_vec(),
            labels: labels.clone(),
        };
        match self.content {
            Content::Bytes(bytes) => {
                let parts = bytes.chunks(PART).enumerate();
                let mut all: Vec<WriteContentRequest> =
                    parts.map(|(it, part)| message(WriteAction::Write, it * PART, part)).collect();
                all.push(message(WriteAction::Commit, bytes.len(), &[]));
                whole(framed(&all))
            }
            Content::Parts(parts) => {
                let first = framed([&message(WriteAction::Stat, 0, &[])]);
                let rest = unfold(Some((parts, 0, message)), async |state| {
                    let (mut parts, offset, message) = state?;
                    let Some(part) = parts.recv().await else {
                        return Some((Err(io::Error::other("a layer was cut off")), None));
                    };
                    if part.is_empty() {
                        let end = message(WriteAction::Commit, offset, &[]);
                        return Some((Ok(framed([&end])), None));
                    }
                    let bytes = framed([&message(WriteAction::Write, offset, &part)]);
                    Some((Ok(bytes), Some((parts, offset + part.len(), message))))
                });
                streamed(iter([Ok(first)]).chain(rest))
            }
        }
    }
}

/// The innermost first, each with what the garbage collector follows from it:
/// of a list of images, the one that was chosen.
fn manifest_blobs(manifests: Vec<(Bytes, Manifest)>) -> impl Iterator<Item = Blob> {
    let mut inner: Option<Digest> = None;
    manifests.into_iter().rev().map(move |(bytes, manifest)| {
        let below: Vec<Digest> = match inner {
            Some(digest) => vec![digest],
            None => manifest.config.iter().chain(&manifest.layers).map(|it| it.digest).collect(),
        };
        let label = |(number, digest): (usize, &Digest)| {
            (format!("containerd.io/gc.ref.content.{number}"), digest.to_string())
        };
        let blob = Blob::new(bytes, below.iter().enumerate().map(label).collect());
        inner = Some(blob.digest);
        blob
    })
}

fn described((bytes, manifest): &(Bytes, Manifest)) -> Descriptor {
    let usual = if manifest.manifests.is_empty() { MANIFEST } else { INDEX };
    Descriptor {
        media_type: manifest.media_type.clone().unwrap_or_else(|| usual.to_owned()),
        digest: Digest::of(bytes).to_string(),
        size: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
    }
}

fn exists_is_fine(answer: Answer<()>) -> Answer<()> {
    match answer {
        Err(EngineError::Rejected { status: 409, .. }) => Ok(()),
        other => other,
    }
}

#[expect(clippy::disallowed_methods, reason = "leases of containerd end at a time of day")]
fn lease_end() -> String {
    let end = SystemTime::now() + LEASE;
    let end = end.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    stamp(u64::try_from(end).unwrap_or(u64::MAX))
}
