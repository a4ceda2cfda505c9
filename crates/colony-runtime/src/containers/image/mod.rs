//! Images: already present, pulled by the engine, or fetched by the node and
//! loaded: through its manager, and from registries that the engine would use
//! with TLS only.

mod outdated;
mod platform;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::margo::{DeploymentId, Digest};
use futures_util::StreamExt;
use futures_util::stream::iter;
use tracing::debug;

use crate::compose::{Project, PullPolicy, Service};
use crate::containers::api::{Image, LoadedImage, Pull};
use crate::containers::engine::ContainerEngine;
use crate::containers::engine_error::EngineError;
use crate::containers::pulls::Shown;
use crate::oci::credentials::Lookup;
use crate::oci::registry::{BlobFeed, Manifest, RegistryLocation, oci_architecture};

/// How long a pull may run without any progress.
const STALL: Duration = Duration::from_secs(120);
/// The free space below which no pull is begun.
const FREE_LEAST: u64 = 64 << 20;
const CONFIG_LIMIT: usize = 4 << 20;
/// Layers that come through the manager are held in memory.
const LAYER_LIMIT: usize = 256 << 20;
const TOGETHER: usize = 2;

impl ContainerEngine {
    /// Makes every image of the project available.
    pub(crate) async fn images(
        &self,
        project: &Project,
        deployment: &DeploymentId,
        purpose: Use,
    ) -> Result<(), Failure> {
        let wanted: BTreeMap<&str, &Service> =
            project.services.values().map(|it| (it.image.as_str(), it)).collect();
        // Gathered first: a future over a borrowing iterator cannot be sent.
        let fetch = |it| self.image(it, purpose, deployment);
        let wanted: Vec<_> = wanted.into_values().map(fetch).collect();
        let all = iter(wanted);
        let all: Vec<Result<Image, Failure>> = all.buffered(TOGETHER).collect().await;
        all.into_iter().collect::<Result<Vec<Image>, Failure>>().map(|_| ())
    }

    /// The image of a service, fetched if it has to be.
    pub(crate) async fn image(
        &self,
        service: &Service,
        purpose: Use,
        deployment: &DeploymentId,
    ) -> Result<Image, Failure> {
        let name = service.image.as_str();
        let found = self.image_at_hand(name).await?;
        let machine = &self.api.facts().architecture;
        match found {
            // Another one may have been pushed under the name of a foreign one.
            Some(image)
                if !purpose.pulls(service) && platform::check(&image, service, machine).is_ok() =>
            {
                self.image_used(name, deployment).await?;
                return Ok(image);
            }
            Some(image) if service.pull_policy == PullPolicy::Never => {
                return platform::check(&image, service, machine).map(|()| image);
            }
            None if service.pull_policy == PullPolicy::Never => {
                let message = format!("the image `{name}` is not here, and may not be fetched");
                return Err(Failure::new(Code::ImageMissing, message));
            }
            Some(_) | None => {}
        }
        let fetched = self.image_fetch(service, found.as_ref(), deployment).await;
        let image = match (fetched, found) {
            (Err(failure), Some(image)) if purpose == Use::Refresh => {
                debug!(image = name, "keeping the image at hand: {}", failure.message);
                image
            }
            (fetched, _) => fetched?,
        };
        platform::check(&image, service, machine).map(|()| image)
    }

    async fn image_fetch(
        &self,
        service: &Service,
        found: Option<&Image>,
        deployment: &DeploymentId,
    ) -> Result<Image, Failure> {
        let name = service.image.as_str();
        self.check_disk()?;
        self.pulled_note(name, found).await?;
        self.image_used(name, deployment).await?;
        let place = RegistryLocation::of_image(Reference::read(name).name);
        let shown = self.pulls.begin(deployment, name);
        match place {
            Some(place) if place.is_builtin() => self.image_load(service, &place, &shown).await?,
            place => self.image_pull(service, place.as_ref(), &shown).await?,
        }
        let gone = || EngineError::Unexpected("it is not there after it was fetched".to_owned());
        self.image_at_hand(name).await?.ok_or_else(|| gone().not_pulled(name))
    }

    async fn image_at_hand(&self, name: &str) -> Result<Option<Image>, Failure> {
        let found = self.api.image(name).await;
        found.map_err(|it| it.failed(&format!("look for the image `{name}`")))
    }

    fn check_disk(&self) -> Result<(), Failure> {
        let Some((free, _)) = self.storage() else { return Ok(()) };
        if free >= FREE_LEAST {
            return Ok(());
        }
        let message = format!("{} MiB of disk are free, too little for images", free >> 20);
        Err(Failure::new(Code::DiskFull, message))
    }

    /// Layers unpack to more, so this only finds what cannot fit at all.
    fn check_room(&self, name: &str, bytes: u64) -> Result<(), Failure> {
        let Some((free, _)) = self.storage().filter(|it| it.0 < bytes) else { return Ok(()) };
        let (free, bytes) = (free >> 20, bytes >> 20);
        let message = format!("{free} MiB of disk are free; the image `{name}` has {bytes} MiB");
        Err(Failure::new(Code::DiskFull, message))
    }

    /// Pulls through the engine. `place` is absent if the name of the image has
    /// none; the engine refuses such a name.
    async fn image_pull(
        &self,
        service: &Service,
        place: Option<&RegistryLocation>,
        shown: &Shown<'_>,
    ) -> Result<(), Failure> {
        let (image, platform) = (service.image.as_str(), service.platform.as_deref());
        let lookup = match place {
            Some(place) => self.config.registries.credentials.find(place).await,
            None => Lookup::default(),
        };
        let credential = lookup.credential();
        let pull = Pull { image, platform, credential, plain: false, stall: STALL };
        let refused = |it: EngineError| lookup.explained(it.not_pulled(image));
        let Err(failure) = self.api.pull(&pull, shown).await.map_err(refused) else {
            return Ok(());
        };
        let Some(place) = place.filter(|it| self.is_without_tls(it, &failure)) else {
            return Err(failure);
        };
        // Podman before 4.4 does not count the bytes of such a pull.
        match self.api.abilities().pulls_without_tls {
            true => self.api.pull(&Pull { plain: true, ..pull }, shown).await.map_err(refused),
            false => self.image_load(service, place, shown).await,
        }
    }

    /// The node may use the registry without TLS, and the engine uses it with
    /// TLS only.
    fn is_without_tls(&self, place: &RegistryLocation, failure: &Failure) -> bool {
        // Nothing need listen on the port of HTTPS.
        let has_port = place.host.rsplit_once(':').is_some_and(|it| !it.1.ends_with(']'));
        let refused = !has_port && failure.message.contains("connection refused");
        self.registry.is_insecure(&place.host) && (refused || wants_tls(failure))
    }

    /// Fetches an image by the node's own means and gives it to the engine while it
    /// arrives.
    async fn image_load(
        &self,
        service: &Service,
        place: &RegistryLocation,
        shown: &Shown<'_>,
    ) -> Result<(), Failure> {
        let name = service.image.as_str();
        let manifests = self.image_manifests(service, place).await?;
        let odd = |why: &str| Failure::new(Code::ImageMissing, format!("the image `{name}` {why}"));
        let manifest = manifests.last().map(|it| &it.1);
        let config = manifest.and_then(|it| it.config.as_ref());
        let config = config.ok_or_else(|| odd("has no configuration"))?;
        let config = self.registry.blob(place, config, CONFIG_LIMIT).await?;
        let layers = manifest.map(|it| it.layers.clone()).unwrap_or_default();
        self.check_room(name, layers.iter().map(|it| it.size).sum())?;
        let (inlets, parts): (Vec<_>, Vec<_>) = layers.iter().map(|_| BlobFeed::channel()).unzip();
        let image = LoadedImage {
            name: name.to_owned(),
            manifests,
            config,
            layers: layers.iter().cloned().zip(parts).collect(),
            stall: STALL,
        };
        let load = async {
            self.api.load(image).await.map_err(|it| match it {
                EngineError::Unreadable(why) => odd(&why),
                EngineError::Unavailable(_)
                | EngineError::Timeout
                | EngineError::Rejected { .. }
                | EngineError::Unexpected(_) => it.failed(&format!("load the image `{name}`")),
            })
        };
        let feed = async {
            for (layer, inlet) in layers.iter().zip(inlets) {
                let progress = |done| shown.note(&layer.digest.to_string(), done, layer.size);
                let feed = BlobFeed::new(layer, inlet, &progress);
                self.registry.pass_blob(place, &feed, LAYER_LIMIT).await?;
            }
            Ok(())
        };
        tokio::try_join!(feed, load).map(|_| ())
    }

    /// The manifest that the name stands for, and that of the image if it is
    /// another one.
    async fn image_manifests(
        &self,
        service: &Service,
        place: &RegistryLocation,
    ) -> Result<Vec<(Bytes, Manifest)>, Failure> {
        let name = service.image.as_str();
        let version = Reference::read(name).version;
        let mut all = vec![self.registry.published_manifest(place, version).await?];
        let list = &all[0].1;
        if list.manifests.is_empty() {
            return Ok(all);
        }
        let own = oci_architecture(&self.api.facts().architecture);
        let wanted = service.platform.as_deref().unwrap_or(own);
        let one = list.image_for(wanted).ok_or_else(|| {
            let message = format!("the image `{name}` is not made for `{wanted}`");
            Failure::new(Code::ImageMissing, message)
        })?;
        let digest = one.digest.to_string();
        all.push(self.registry.published_manifest(place, &digest).await?);
        Ok(all)
    }
}

/// The failure shows that the engine uses the registry only with TLS.
fn wants_tls(failure: &Failure) -> bool {
    let message = failure.message.to_lowercase();
    ["http response to https client", "x509", "tls:"].iter().any(|it| message.contains(it))
}

/// The purpose for which an image is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Prepare,
    /// A container made from it failed: the tag may refer to another image by
    /// now.
    Refresh,
    /// It was prepared; fetched only if it was removed since.
    Start,
}

impl Use {
    /// An image is pulled although one of its name is present.
    fn pulls(self, service: &Service) -> bool {
        let pinned = service.image.contains('@');
        match self {
            Use::Prepare => service.pull_policy == PullPolicy::Always,
            Use::Refresh => !pinned && service.pull_policy != PullPolicy::Never,
            Use::Start => false,
        }
    }
}

/// `name[:tag][@digest]`, split into the name and the version.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    pub(crate) name: &'a str,
    /// A digest, a tag, or `latest`.
    pub(crate) version: &'a str,
}

impl Reference<'_> {
    pub(crate) fn read(text: &str) -> Reference<'_> {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        // A colon before the last slash is that of a port.
        let (name, tag) = match rest.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
            Some(_) | None => (rest, None),
        };
        Reference { name, version: digest.or(tag).unwrap_or("latest") }
    }
}

/// The names of the images that these fingerprints need.
pub(crate) async fn needed(
    inner: &ContainerEngine,
    fingerprints: &BTreeSet<Digest>,
) -> BTreeSet<String> {
    let mut images = BTreeSet::new();
    for fingerprint in fingerprints {
        images.extend(inner.archives.images_of(fingerprint).await);
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_cut() {
        check("busybox", "busybox", "latest");
        check("busybox:1", "busybox", "1");
        check("127.0.0.1:5000/a/b", "127.0.0.1:5000/a/b", "latest");
        check("127.0.0.1:5000/a:1.2", "127.0.0.1:5000/a", "1.2");
        check("r.example/a:1@sha256:ff", "r.example/a", "sha256:ff");
        check("r.example/a@sha256:ff", "r.example/a", "sha256:ff");
    }

    #[track_caller]
    fn check(text: &str, name: &str, version: &str) {
        assert_eq!(Reference::read(text), Reference { name, version }, "{text}");
    }
}
