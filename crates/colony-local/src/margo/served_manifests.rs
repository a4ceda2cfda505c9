//! Manifests that nodes received and whose documents they may still fetch.
//!
//! A node reads its manifest first and the documents after it; in between the
//! site may have moved on. The documents of a manifest are kept until the node
//! reports that it holds the one in force. Idle nodes cost nothing.

use std::collections::{BTreeMap, VecDeque};

use colony_core::id::NodeName;
use colony_core::margo::{DeploymentId, Digest};
use colony_core::site::NodeManifest;
use parking_lot::Mutex;

/// The most manifests that are kept for one node.
const KEPT: usize = 3;

#[derive(Debug, Default)]
pub(super) struct ServedManifests(Mutex<BTreeMap<NodeName, ServedManifest>>);

#[derive(Debug, Default)]
struct ServedManifest {
    /// The version whose ETag is known: one version has one content.
    etag: Option<(u64, Digest)>,
    manifests: VecDeque<NodeManifest>,
}

impl ServedManifests {
    /// The ETag of this version, if it was computed before.
    pub(super) fn etag(&self, node: &NodeName, version: u64) -> Option<Digest> {
        let known = self.0.lock().get(node)?.etag?;
        (known.0 == version).then_some(known.1)
    }

    /// Keeps a manifest that is about to be sent to the node.
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
        *shown = ServedManifest { etag: Some((version, etag)), manifests: VecDeque::new() };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_shown_to_a_node_is_kept_for_that_node_alone() {
        let (shelf, node, other) = (ServedManifests::default(), name("a"), name("b"));
        (1..=4).for_each(|version| shelf.show(&node, manifest(version)));
        shelf.show(&node, manifest(4));

        let kept = |version| {
            let (id, digest) = (DeploymentId::from_bytes([1; 16]), of(version, "document"));
            let bundle = shelf.bundle(&node, &of(version, "bundle")).is_some();
            assert_eq!(shelf.document(&node, &id, &digest).is_some(), bundle, "{version}");
            assert_eq!(shelf.document(&node, &DeploymentId::from_bytes([2; 16]), &digest), None);
            assert_eq!(shelf.document(&other, &id, &digest), None, "{version}");
            bundle
        };
        assert_eq!([1, 2, 3, 4].map(kept), [false, true, true, true], "the last three");
        assert_eq!(shelf.etag(&node, 4), Some(of(4, "etag")));
        assert_eq!((shelf.etag(&node, 3), shelf.etag(&other, 4)), (None, None));

        shelf.clear(&node, 4, of(4, "etag"));
        assert_eq!([3, 4].map(kept), [false, false], "the node holds them");
        assert_eq!(shelf.etag(&node, 4), Some(of(4, "etag")));
    }

    fn manifest(version: u64) -> NodeManifest {
        let document = format!("{version} document").into_bytes();
        NodeManifest {
            version,
            bytes: Vec::new(),
            etag: of(version, "etag"),
            documents: vec![(DeploymentId::from_bytes([1; 16]), Digest::of(&document), document)],
            bundle: Some(format!("{version} bundle").into_bytes()),
        }
    }

    fn of(version: u64, what: &str) -> Digest {
        Digest::of(format!("{version} {what}").as_bytes())
    }

    fn name(text: &str) -> NodeName {
        text.parse().expect("a name")
    }
}
