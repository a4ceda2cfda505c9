//! Texts for a trace.

use std::collections::BTreeMap;

use colony_core::event::VERSION_BITS;
use colony_core::id::{DeploymentId, GitRevision};
use colony_core::margo::DeploymentStatus;
use colony_core::site::{Have, NodeManifest, ReportRequests};

/// A manifest version: the incarnation, and the count within it.
pub fn version(version: u64) -> String {
    format!("v{}.{}", version >> VERSION_BITS, version % (1 << VERSION_BITS))
}

/// The number of a commit, counted from the first.
pub(crate) fn commit(revision: &GitRevision) -> &str {
    revision.as_str().trim_start_matches('0')
}

/// The manifest that a node has.
pub fn have(have: Option<Have>) -> String {
    have.map_or("nothing".to_owned(), |it| version(it.version))
}

/// The version in a document.
pub fn revision(text: &str) -> Option<&str> {
    let rest = text.split("revision: ").nth(1).or_else(|| text.split("\"revision\":\"").nth(1))?;
    rest.split(['\n', '"']).find(|it| !it.is_empty())
}

/// The versions a manifest lists.
fn listed(manifest: &NodeManifest) -> BTreeMap<DeploymentId, String> {
    let one = |it: &(DeploymentId, colony_core::margo::Digest, Vec<u8>)| {
        let text = String::from_utf8_lossy(&it.2);
        Some((it.0.clone(), revision(&text)?.to_owned()))
    };
    manifest.documents.iter().filter_map(one).collect()
}

pub(crate) fn answer(manifest: Option<&NodeManifest>, asks: Option<&ReportRequests>) -> String {
    let manifest = manifest.map(|it| {
        let listed = listed(it).into_values().collect::<Vec<_>>().join(", ");
        let listed = if listed.is_empty() { "nothing" } else { &listed };
        format!("manifest {} lists {listed}", version(it.version))
    });
    let asks = asks.filter(|it| !it.deployments.is_empty());
    let asks = asks.map(|_| "say again what you know".to_owned());
    manifest.into_iter().chain(asks).collect::<Vec<_>>().join("; ")
}

pub fn status(status: &DeploymentStatus) -> String {
    let number = status.colony.as_ref().and_then(|it| it.report).unwrap_or(0);
    let adopted = version(status.adopted_manifest_version.get());
    let error = status.status.error.as_ref().map(|it| format!(" {}", it.code)).unwrap_or_default();
    format!("{}{error} of {adopted} (report {number})", status.status.state)
}
