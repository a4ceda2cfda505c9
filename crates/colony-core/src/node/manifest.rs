//! Taking over a state manifest: whole, or not at all.
//!
//! A lower version is refused, whoever sends it. The same one is nothing new:
//! a crash between the manager's answer and our storing it reads it twice.
//! A manifest whose `ETag` is not the digest of its body is taken all the same
//! (test servers send such), a document with another digest never.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use colony_margo::manifest::ManifestError;
use colony_margo::{DeploymentId, Digest, ManifestVersion, StateManifest};

use super::Node;
use super::held::Held;
use super::policy::DEPLOYMENT_LIMIT;
use super::row::{Accepted, Phase, Retry};
use crate::time::Mono;

/// What has to be fetched before a manifest can be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    pub version: ManifestVersion,
    /// The archive with all documents, if there are any.
    pub bundle: Option<Digest>,
    /// The documents that are not held yet.
    pub missing: BTreeMap<DeploymentId, Digest>,
    /// The `ETag` is not the digest of the body: worth a warning.
    pub etag_differs: bool,
}

/// Why a manifest was refused. The state before it stays.
#[derive(Debug, thiserror::Error)]
pub enum Rejection {
    #[error("manifest cannot be read")]
    Invalid(#[source] ManifestError),
    #[error("manifest has version {offered}, but {stored} was accepted already")]
    Rollback { stored: ManifestVersion, offered: ManifestVersion },
    #[error("manifest lists {found} deployments, at most {DEPLOYMENT_LIMIT} are taken")]
    TooMany { found: usize },
    #[error("document {digest} of deployment `{deployment}` is missing")]
    Missing { deployment: DeploymentId, digest: Digest },
    #[error("document of deployment `{deployment}` has digest {found}, the manifest says {digest}")]
    Mismatch { deployment: DeploymentId, digest: Digest, found: Digest },
}

/// Rejections are compared by what they say.
impl PartialEq for Rejection {
    fn eq(&self, other: &Rejection) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Node {
    /// Says what a manifest needs; `None` if it is the one accepted last.
    pub fn check(&self, bytes: &[u8], etag: Option<&str>) -> Result<Option<Fetch>, Rejection> {
        let Some(manifest) = self.read(bytes, etag)? else { return Ok(None) };
        let listed = manifest.deployments.iter();
        let missing = listed.filter(|it| self.held(&it.digest).is_none());
        Ok(Some(Fetch {
            version: manifest.manifest_version,
            bundle: manifest.bundle.as_ref().map(|it| it.digest),
            missing: missing.map(|it| (it.deployment_id.clone(), it.digest)).collect(),
            etag_differs: etag.is_some_and(|it| !names(it, &Digest::of(bytes))),
        }))
    }

    fn read(&self, bytes: &[u8], etag: Option<&str>) -> Result<Option<StateManifest>, Rejection> {
        let manifest = StateManifest::parse(bytes).map_err(Rejection::Invalid)?;
        let offered = manifest.manifest_version;
        if let Some(stored) = &self.meta.accepted {
            let same = stored.digest == Digest::of(bytes)
                || (etag.is_some() && etag == stored.etag.as_deref());
            if stored.version == offered && same {
                return Ok(None);
            }
            if offered <= stored.version {
                return Err(Rejection::Rollback { stored: stored.version, offered });
            }
        }
        match manifest.deployments.len() {
            found if found > DEPLOYMENT_LIMIT => Err(Rejection::TooMany { found }),
            _ => Ok(Some(manifest)),
        }
    }

    /// A document that was verified earlier.
    fn held(&self, digest: &Digest) -> Option<&[u8]> {
        let held = self.deployments.values().find(|it| it.record.wire == *digest)?;
        Some(held.record.text.as_bytes()).filter(|it| !it.is_empty())
    }

    /// Takes a manifest over, with all its documents.
    pub(super) fn accept(
        &mut self,
        bytes: &[u8],
        etag: Option<String>,
        documents: &BTreeMap<Digest, Vec<u8>>,
        now: Mono,
    ) -> Result<(), Rejection> {
        let Some(manifest) = self.read(bytes, etag.as_deref())? else { return Ok(()) };
        let changes = self.gather(&manifest, documents)?;
        let version = manifest.manifest_version;
        for (id, (wire, text)) in changes {
            self.want(id, wire, &text, now);
        }
        let listed: BTreeSet<&DeploymentId> =
            manifest.deployments.iter().map(|it| &it.deployment_id).collect();
        for held in self.deployments.values_mut() {
            if !listed.contains(&held.record.id) {
                unwant(held, version);
            }
        }
        self.meta.accepted = Some(Accepted { version, etag, digest: Digest::of(bytes) });
        Ok(())
    }

    /// The documents that change something, each with the right digest.
    fn gather(
        &self,
        manifest: &StateManifest,
        documents: &BTreeMap<Digest, Vec<u8>>,
    ) -> Result<BTreeMap<DeploymentId, (Digest, Vec<u8>)>, Rejection> {
        let mut changes = BTreeMap::new();
        for entry in &manifest.deployments {
            let (id, digest) = (&entry.deployment_id, entry.digest);
            let text = self.document(id, digest, documents)?;
            if !self.has(id, digest) {
                changes.insert(id.clone(), (digest, text.into_owned()));
            }
        }
        Ok(changes)
    }

    fn document<'a>(
        &'a self,
        id: &DeploymentId,
        digest: Digest,
        documents: &'a BTreeMap<Digest, Vec<u8>>,
    ) -> Result<Cow<'a, [u8]>, Rejection> {
        if let Some(text) = self.held(&digest) {
            return Ok(Cow::Borrowed(text));
        }
        let deployment = id.clone();
        let Some(text) = documents.get(&digest) else {
            return Err(Rejection::Missing { deployment, digest });
        };
        match Digest::of(text) {
            found if found != digest => Err(Rejection::Mismatch { deployment, digest, found }),
            _ => Ok(Cow::Borrowed(text)),
        }
    }

    /// It is wanted already, with this very document.
    fn has(&self, id: &DeploymentId, digest: Digest) -> bool {
        let record = self.deployments.get(id).map(|it| &it.record);
        record.is_some_and(|it| it.wire == digest && it.phase.is_wanted())
    }

    fn want(&mut self, id: DeploymentId, wire: Digest, text: &[u8], now: Mono) {
        match self.deployments.get_mut(&id) {
            Some(held) => held.supersede(wire, text, &self.id, now),
            None => {
                let held = Held::new(id.clone(), wire, text, &self.id);
                self.deployments.insert(id, held);
            }
        }
    }
}

fn unwant(held: &mut Held, version: ManifestVersion) {
    if held.record.phase.is_wanted() {
        held.begin();
        held.record.phase = Phase::Removing { version, failure: None, retry: Retry::default() };
        held.record.previous = None;
        held.previous = None;
        held.forget_services();
    }
}

/// Whether an `ETag` header is this digest, quoted or not.
fn names(etag: &str, digest: &Digest) -> bool {
    etag.trim().trim_start_matches("W/").trim_matches('"') == digest.to_string()
}
