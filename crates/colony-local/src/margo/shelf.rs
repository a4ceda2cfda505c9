//! What nodes were shown and may still fetch.
//!
//! A node reads its manifest first and the documents after it; in between the
//! site may have moved on. What a manifest listed stays here until the node
//! says that it holds the one in force. Idle nodes cost nothing.

use std::collections::{BTreeMap, VecDeque};

use colony_core::id::NodeName;
use colony_core::site::NodeManifest;
use colony_margo::{DeploymentId, Digest};
use parking_lot::Mutex;

/// The most manifests that are kept for one node.
const KEPT: usize = 3;

#[derive(Debug, Default)]
pub(super) struct Shelf(Mutex<BTreeMap<NodeName, Shown>>);

#[derive(Debug, Default)]
struct Shown {
    /// The version whose ETag is known: one version has one content.
    etag: Option<(u64, Digest)>,
    manifests: VecDeque<NodeManifest>,
}

impl Shelf {
    /// The ETag of this version, if it was computed before.
    pub(super) fn etag(&self, node: &NodeName, version: u64) -> Option<Digest> {
        let known = self.0.lock().get(node)?.etag?;
        (known.0 == version).then_some(known.1)
    }

    /// The node is about to be answered with this manifest.
    pub(super) fn show(&self, node: &NodeName, manifest: NodeManifest) {
        let mut shown = self.0.lock();
        let shown = shown.entry(node.clone()).or_default();
        shown.etag = Some((manifest.version, manifest.etag));
        shown.manifests.retain(|it| it.version != manifest.version);
        shown.manifests.push_back(manifest);
        if shown.manifests.len() > KEPT {
            shown.manifests.pop_front();
        }
    }

    /// The node holds the manifest in force with all its documents.
    pub(super) fn clear(&self, node: &NodeName, version: u64, etag: Digest) {
        let mut shown = self.0.lock();
        let shown = shown.entry(node.clone()).or_default();
        *shown = Shown { etag: Some((version, etag)), manifests: VecDeque::new() };
    }

    pub(super) fn document(
        &self,
        node: &NodeName,
        id: &DeploymentId,
        digest: &Digest,
    ) -> Option<Vec<u8>> {
        let shown = self.0.lock();
        shown.get(node)?.manifests.iter().find_map(|it| document(it, id, digest))
    }

    pub(super) fn bundle(&self, node: &NodeName, digest: &Digest) -> Option<Vec<u8>> {
        let shown = self.0.lock();
        shown.get(node)?.manifests.iter().find_map(|it| bundle(it, digest))
    }
}

pub(super) fn document(
    manifest: &NodeManifest,
    id: &DeploymentId,
    digest: &Digest,
) -> Option<Vec<u8>> {
    let found = manifest.documents.iter().find(|it| it.0 == *id && it.1 == *digest)?;
    Some(found.2.clone())
}

pub(super) fn bundle(manifest: &NodeManifest, digest: &Digest) -> Option<Vec<u8>> {
    manifest.bundle.as_ref().filter(|it| Digest::of(it) == *digest).cloned()
}
