//! Doors to private readers, for the fuzzers alone.

use std::collections::BTreeMap;

use colony_margo::{DeviceId, Digest};

use crate::image::Reference;
use crate::label::{self, Care, Owner};
use crate::load;
use crate::registry::auth::{self, Challenge};
use crate::registry::{Manifest, Place};

/// The blob a manifest names, and its size.
pub type Blob = (Digest, u64);

/// The archive of a component, and the image for an architecture.
pub fn manifest(
    bytes: &[u8],
    architecture: &str,
) -> Result<(Result<Blob, String>, Option<Blob>), String> {
    let manifest = Manifest::read(bytes)?;
    let archive = manifest.archive().map(|it| (it.digest, it.size));
    let image = manifest.image_for(architecture).map(|it| (it.digest, it.size));
    Ok((archive, image))
}

/// An image's name, and the tag or digest that is asked for.
pub fn reference(text: &str) -> (&str, &str) {
    let Reference { name, version } = Reference::read(text);
    (name, version)
}

/// A registry's host and a name there.
pub fn place(text: &str) -> Option<(String, String)> {
    Place::read(text).map(|it| (it.host, it.name))
}

/// Realm, service and scope of a registry's challenge; none of a basic one.
pub fn challenge(header: &str) -> Option<[Option<String>; 3]> {
    Some(match Challenge::parse(header)? {
        Challenge::Basic => [None, None, None],
        Challenge::Bearer { realm, service, scope } => [Some(realm), service, scope],
    })
}

/// The header made of a token server's answer.
pub fn bearer(answer: &[u8]) -> Option<String> {
    auth::bearer(answer)
}

/// The labels of a container, read and written again.
pub fn labels(
    node: &DeviceId,
    labels: &BTreeMap<String, String>,
) -> Option<BTreeMap<String, String>> {
    let owner = Owner::read(labels)?;
    Some(owner.labels(node, &Care::read(labels)).into_iter().collect())
}

/// The name of a thing of these parts on an engine.
pub fn name(node: &DeviceId, parts: &[&str]) -> String {
    label::name(node, parts)
}

/// An image as an engine loads it.
pub fn image(config: &[u8], layers: &[Vec<u8>]) -> Result<Vec<u8>, String> {
    load::packed("colony.test/fuzz:1", config, layers)
}
