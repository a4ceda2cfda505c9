//! Access to private parsers, for the fuzzers alone.

use std::collections::BTreeMap;

use bytes::Bytes;
use colony_core::attempt::Failure;
use colony_core::margo::{DeviceId, Digest};
use serde::de::DeserializeOwned;

use crate::containers::api::{ContainerInfo, Image as AnyImage};
use crate::containers::engine_error::EngineError;
use crate::containers::health::check::Check;
use crate::containers::image::Reference;
use crate::containers::label::{self, Care, Owner};
use crate::containers::survey::ObservedContainer;
use crate::docker::api::{self, Image, Info, Inspected, Listed, Verdict, Version};
use crate::docker::image::load::{self, Piece};
use crate::oci::registry::auth::{self, Challenge};
use crate::oci::registry::{Manifest, RegistryLocation};

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

/// An image's name, and its tag or digest.
pub fn reference(text: &str) -> (&str, &str) {
    let Reference { name, version } = Reference::read(text);
    (name, version)
}

/// A registry's host and a name there.
pub fn place(text: &str) -> Option<(String, String)> {
    RegistryLocation::read(text).map(|it| (it.host, it.name))
}

/// Realm, service and scope of a registry's challenge; all `None` for basic.
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

/// The name on an engine that consists of these parts.
pub fn name(node: &DeviceId, parts: &[&str]) -> String {
    label::name(node, parts)
}

/// An image as an engine loads it.
pub fn image(config: &[u8], layers: &[Vec<u8>]) -> Result<Vec<u8>, String> {
    let layer = |it: &Vec<u8>| (it.len() as u64, Piece::Bytes(Bytes::copy_from_slice(it)));
    let pieces = load::pieces("colony.test/fuzz:1", config, layers.iter().map(layer).collect())?;
    let bytes = pieces.into_iter().filter_map(|it| match it {
        Piece::Bytes(bytes) => Some(bytes),
        Piece::Layer(_) => None,
    });
    Ok(bytes.flatten().collect())
}

/// The parsed answer of an engine, or the failures it is shown as.
pub type Reading = Result<String, Vec<Failure>>;

/// An engine's answer, read as a list of containers, as a container, an image,
/// a check, the machine and the program.
pub fn engine(status: u16, body: &[u8]) -> [Reading; 6] {
    [
        reading(status, body, |it: Vec<Listed>| {
            it.iter().all(|it| it.labels.is_some()).to_string()
        }),
        reading(status, body, |it: Inspected| {
            format!("{:?}", ObservedContainer::of(ContainerInfo::from(it)).map(|it| it.status))
        }),
        reading(status, body, |it: Image| {
            Check::of(None, AnyImage::from(it).check.as_ref()).is_some().to_string()
        }),
        reading(status, body, |it: Verdict| (it.status == "healthy").to_string()),
        reading(status, body, |it: Info| it.os_type.is_empty().to_string()),
        reading(status, body, |it: Version| it.kind().to_string()),
    ]
}

/// How a refusal of the engine is shown, of a container and of an image.
pub fn refused(status: u16, body: &[u8]) -> Vec<Failure> {
    failures(&EngineError::refused(status, body))
}

fn reading<T: DeserializeOwned>(
    status: u16,
    body: &[u8],
    told: impl FnOnce(T) -> String,
) -> Reading {
    let status = http::StatusCode::from_u16(status).unwrap_or_default();
    let answer = (status, Bytes::copy_from_slice(body));
    api::understood("/x", answer).map(told).map_err(|it| failures(&it))
}

fn failures(trouble: &EngineError) -> Vec<Failure> {
    vec![trouble.failed("look at a container"), trouble.not_pulled("registry.test/a:1")]
}
