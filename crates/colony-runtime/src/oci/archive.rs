//! The archives of components, kept by fingerprint.
//!
//! `archives/<fingerprint>/` holds the archive, named by its own digest, and
//! `images.json`, the images it needs. A stored archive is used without a
//! request to the registry, so that a rollback needs no network.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::margo::{Digest, Finding};
use tracing::debug;

use crate::compose::{Archive, Project, keys};
use crate::config::{Config, DocumentPolicy, EngineKind};
use crate::file;
use crate::job::Job;
use crate::oci::registry::{Descriptor, Manifest, Registry, RegistryLocation};

/// The largest archive that is accepted.
const ARCHIVE_LIMIT: usize = 16 << 20;
const SUFFIX: &str = ".tar.gz";
const IMAGES: &str = "images.json";

/// The archives of one node, all of one kind.
pub(crate) struct Archives {
    registry: Arc<Registry>,
    dir: PathBuf,
    layer: Layer,
    /// What the engine cannot do of a file is refused, and what the node does not
    /// allow.
    engine: EngineKind,
    policy: DocumentPolicy,
}

/// The layer of a manifest that holds the archive, or why there is none.
type Layer = fn(&Manifest) -> Result<&Descriptor, String>;

/// A stored archive.
#[derive(Debug)]
pub(crate) struct Stored {
    #[cfg_attr(
        not(feature = "kubernetes"),
        expect(dead_code, reason = "only the program helm reads the file itself")
    )]
    pub(crate) path: PathBuf,
    pub(crate) digest: Digest,
    pub(crate) bytes: Vec<u8>,
}

impl Archives {
    /// Compose archives, kept below the node's folder.
    pub(crate) fn compose(
        registry: Arc<Registry>,
        config: &Config,
        engine: EngineKind,
    ) -> Archives {
        let (dir, policy) = (config.dir.join("archives"), config.policy.clone());
        Archives { registry, dir, layer: Manifest::archive, engine, policy }
    }

    /// Helm charts.
    #[cfg(feature = "kubernetes")]
    pub(crate) fn charts(registry: Arc<Registry>, node: &std::path::Path) -> Archives {
        Archives {
            registry,
            dir: node.join("charts"),
            layer: Manifest::chart,
            engine: EngineKind::Kubernetes,
            policy: DocumentPolicy::default(),
        }
    }

    /// The archive of a job, stored before or fetched.
    pub(crate) async fn stored(&self, job: &Job) -> Result<Stored, Failure> {
        match self.at_hand(&job.fingerprint).await? {
            Some(stored) => Ok(stored),
            None => self.fetch(job).await,
        }
    }

    /// The component's services, from the stored archive or a fetched one.
    pub(crate) async fn project(&self, job: &Job) -> Result<Project, Failure> {
        let stored = self.stored(job).await?;
        let archive =
            Archive::unpack(&stored.bytes).map_err(|it| findings(Code::ArchiveInvalid, &it))?;
        let project = archive.project_on(self.engine, &self.policy, &job.parameters());
        let project = project.map_err(|it| findings(unusable(&it), &it))?;
        self.note_images(&job.fingerprint, &project).await?;
        Ok(project)
    }

    async fn at_hand(&self, fingerprint: &Digest) -> Result<Option<Stored>, Failure> {
        let folder = self.folder(fingerprint);
        for name in file::names(&folder).await.map_err(|it| disk(&it))? {
            let Some(hex) = name.strip_suffix(SUFFIX) else { continue };
            let path = folder.join(&name);
            let Some(bytes) = file::read(&path).await.map_err(|it| disk(&it))? else { continue };
            let digest = Digest::of(&bytes);
            // A corrupt archive is fetched again.
            if digest.hex() == hex {
                return Ok(Some(Stored { path, digest, bytes }));
            }
        }
        Ok(None)
    }

    /// Fetches the archive again if its tag refers to another one by now. If
    /// the registry does not answer, the stored archive stays.
    pub(crate) async fn refresh(&self, job: &Job) {
        let revision = job.subject.component.properties.revision.as_str();
        let at_hand = self.digest(&job.fingerprint).await;
        if at_hand.is_none() || revision.parse::<Digest>().is_ok() {
            return;
        }
        match self.fetch(job).await {
            Ok(stored) => self.forget_others(job, &stored.digest).await,
            Err(failure) => debug!("keeping the archive at hand: {}", failure.message),
        }
    }

    /// The digest of the stored archive.
    pub(crate) async fn digest(&self, fingerprint: &Digest) -> Option<String> {
        let names = file::names(&self.folder(fingerprint)).await.ok()?;
        names.iter().find_map(|it| it.strip_suffix(SUFFIX)).map(str::to_owned)
    }

    async fn forget_others(&self, job: &Job, kept: &Digest) {
        let folder = self.folder(&job.fingerprint);
        for name in file::names(&folder).await.unwrap_or_default() {
            let other = name.strip_suffix(SUFFIX).is_some_and(|it| it != kept.hex());
            if other {
                // If this fails, the next refresh replaces the file.
                let _ = tokio::fs::remove_file(folder.join(&name)).await;
            }
        }
    }

    async fn fetch(&self, job: &Job) -> Result<Stored, Failure> {
        let properties = &job.subject.component.properties;
        let (repository, revision) = (&properties.repository, &properties.revision);
        let place = RegistryLocation::read(repository.reference()).ok_or_else(|| {
            Failure::new(Code::InvalidConfig, format!("`{repository}` names no registry and name"))
        })?;
        // A tag has no plus sign; Helm writes versions with an underscore instead.
        let tag = revision.as_str().replace('+', "_");
        let manifest = self.registry.manifest(&place, &tag).await?;
        let layer = (self.layer)(&manifest).map_err(|it| {
            Failure::new(Code::ArchiveInvalid, format!("`{place}:{revision}` {it}"))
        })?;
        let bytes = self.registry.blob(&place, layer, ARCHIVE_LIMIT).await?.to_vec();
        let path = self.folder(&job.fingerprint).join(format!("{}{SUFFIX}", layer.digest.hex()));
        file::replace(&path, bytes.clone(), 0o600).await.map_err(|it| disk(&it))?;
        Ok(Stored { path, digest: layer.digest, bytes })
    }

    /// Records which images the fingerprint needs, before any of them is
    /// fetched.
    async fn note_images(&self, fingerprint: &Digest, project: &Project) -> Result<(), Failure> {
        let images: BTreeSet<&str> =
            project.services.values().map(|it| it.image.as_str()).collect();
        let bytes = serde_json::to_vec(&images).unwrap_or_default();
        let path = self.folder(fingerprint).join(IMAGES);
        if file::read(&path).await.is_ok_and(|it| it.as_ref() == Some(&bytes)) {
            return Ok(());
        }
        file::replace(&path, bytes, 0o600).await.map_err(|it| disk(&it))
    }

    /// The images a fingerprint needs, as far as is known.
    pub(crate) async fn images_of(&self, fingerprint: &Digest) -> BTreeSet<String> {
        let bytes = file::read(&self.folder(fingerprint).join(IMAGES)).await;
        let bytes = bytes.ok().flatten().unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    fn folder(&self, fingerprint: &Digest) -> PathBuf {
        self.dir.join(fingerprint.hex())
    }
}

/// The first findings as one message.
fn findings(code: Code, all: &[Finding]) -> Failure {
    let shown: Vec<String> = all.iter().take(5).map(ToString::to_string).collect();
    let more = all.len().saturating_sub(shown.len());
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    Failure::new(code, format!("{}{more}", shown.join("; ")))
}

/// An unsupported key is not the author's mistake: another device may support
/// it.
fn unusable(all: &[Finding]) -> Code {
    match all.iter().any(keys::is_unsupported) {
        true => Code::UnsupportedKey,
        false => Code::InvalidConfig,
    }
}

/// The failure of an operation on our own files.
pub(crate) fn disk(error: &io::Error) -> Failure {
    let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded].contains(&error.kind());
    let code = if full { Code::DiskFull } else { Code::EngineError };
    Failure::new(code, format!("could not use the node's folder: {error}"))
}
