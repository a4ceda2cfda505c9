//! Accepts a state manifest: whole, or not at all.
//!
//! A lower version is refused from any sender. The same manifest changes
//! nothing: it is read twice after a crash between the response of the site
//! orchestrator and our storing it. A manifest whose `ETag` is not the digest
//! of its body is accepted (test servers send such manifests); a document with
//! another digest never is.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use colony_margo::manifest::ManifestError;
use colony_margo::{DeploymentId, Digest, ManifestVersion, StateManifest};

use crate::node::Node;
use crate::node::deployment_entry::DeploymentEntry;
use crate::node::policy::DEPLOYMENT_LIMIT;
use crate::node::row::{Accepted, Phase, Retry};
use crate::purge::Cleanup;
use crate::time::Monotonic;

/// What has to be fetched before a manifest can be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    pub version: ManifestVersion,
    /// The archive with all documents, if there are any.
    pub bundle: Option<Digest>,
    /// The documents that the node does not have yet.
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
    #[error("manifest lists {found} deployments, at most {DEPLOYMENT_LIMIT} are accepted")]
    TooMany { found: usize },
    #[error("manifest has an invalid list of what to remove: {0}")]
    Cleanup(String),
    #[error("document {digest} of deployment `{deployment}` is missing")]
    Missing { deployment: DeploymentId, digest: Digest },
    #[error("document of deployment `{deployment}` has digest {found}, the manifest says {digest}")]
    Mismatch { deployment: DeploymentId, digest: Digest, found: Digest },
}

/// Rejections are compared by their messages.
impl PartialEq for Rejection {
    fn eq(&self, other: &Rejection) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Node {
    /// Returns what a manifest needs; `None` if it is the one accepted last.
    pub fn check(&self, bytes: &[u8], etag: Option<&str>) -> Result<Option<Fetch>, Rejection> {
        let Some(manifest) = self.read(bytes, etag)? else { return Ok(None) };
        let listed = manifest.deployments.iter();
        let missing = listed.filter(|it| self.entry(&it.digest).is_none());
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
    fn entry(&self, digest: &Digest) -> Option<&[u8]> {
        let entry = self.deployments.values().find(|it| it.record.wire == *digest)?;
        Some(entry.record.text.as_bytes()).filter(|it| !it.is_empty())
    }

    /// Accepts a manifest, with all its documents.
    pub(super) fn accept(
        &mut self,
        bytes: &[u8],
        etag: Option<String>,
        documents: &BTreeMap<Digest, Vec<u8>>,
        now: Monotonic,
    ) -> Result<(), Rejection> {
        let Some(manifest) = self.read(bytes, etag.as_deref())? else { return Ok(()) };
        let changes = self.gather(&manifest, documents)?;
        let cleanup = Cleanup::of_manifest(&manifest).map_err(Rejection::Cleanup)?;
        let version = manifest.manifest_version;
        for (id, (wire, text)) in changes {
            self.want(id, wire, &text, now);
        }
        let listed: BTreeSet<&DeploymentId> =
            manifest.deployments.iter().map(|it| &it.deployment_id).collect();
        for entry in self.deployments.values_mut() {
            if !listed.contains(&entry.record.id) {
                unwant(entry, version, &cleanup);
            }
        }
        for id in cleanup.volumes.iter().filter(|it| !listed.contains(it)) {
            // A node that lost its state may still have the volumes.
            self.deployments.entry(id.clone()).or_insert_with(|| {
                let mut entry = DeploymentEntry::new(id.clone(), Digest::of(b""), b"", &self.id);
                entry.record.phase = removing(version, id, &cleanup);
                entry
            });
        }
        self.meta.accepted = Some(Accepted { version, etag, digest: Digest::of(bytes) });
        Ok(())
    }

    /// The documents that change something, each with a verified digest.
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
        if let Some(text) = self.entry(&digest) {
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

    /// The deployment is already wanted with this document.
    fn has(&self, id: &DeploymentId, digest: Digest) -> bool {
        let record = self.deployments.get(id).map(|it| &it.record);
        record.is_some_and(|it| it.wire == digest && it.phase.is_wanted())
    }

    fn want(&mut self, id: DeploymentId, wire: Digest, text: &[u8], now: Monotonic) {
        match self.deployments.get_mut(&id) {
            Some(entry) => entry.supersede(wire, text, &self.id, now),
            None => {
                let entry = DeploymentEntry::new(id.clone(), wire, text, &self.id);
                self.deployments.insert(id, entry);
            }
        }
    }
}

fn unwant(entry: &mut DeploymentEntry, version: ManifestVersion, cleanup: &Cleanup) {
    let id = entry.record.id.clone();
    let purges = cleanup.volumes.contains(&id);
    match &mut entry.record.phase {
        Phase::Removing { version: since, purge, .. } if purges && !*purge => {
            entry.memory.removed = false;
            (*since, *purge) = (version, true);
        }
        Phase::Removing { purge, .. } => *purge = purges,
        Phase::Removed { purged, .. } if *purged || !purges => {}
        Phase::Removed { .. }
        | Phase::Applying { .. }
        | Phase::Installed { .. }
        | Phase::Failed { .. } => {
            entry.begin();
            entry.record.phase = removing(version, &id, cleanup);
            entry.record.previous = None;
            entry.previous = None;
            entry.forget_services();
        }
    }
}

fn removing(version: ManifestVersion, id: &DeploymentId, cleanup: &Cleanup) -> Phase {
    let (purge, images) = (cleanup.volumes.contains(id), cleanup.images.contains(id));
    Phase::Removing { version, failure: None, retry: Retry::default(), purge, images }
}

/// Whether an `ETag` header is this digest, quoted or not.
fn names(etag: &str, digest: &Digest) -> bool {
    etag.trim().trim_start_matches("W/").trim_matches('"') == digest.to_string()
}
