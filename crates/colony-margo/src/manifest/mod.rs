//! The state manifest: which deployments a client should have, by digest.
//!
//! The version only increases. The specification allows values up to 2^64-1,
//! but canonical JSON represents integers exactly only below 2^53. A larger
//! version could not be distinguished from its neighbour, so none is made and
//! none is accepted.

mod wire;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::bundle;
use crate::canonical;
use crate::extension::Extensions;
use crate::value::digest::{Digest, DigestError};
use crate::value::name::DeploymentId;
use crate::value::text::Invalid;

/// The media type of a manifest.
pub const MEDIA_TYPE: &str = "application/vnd.margo.manifest.v1+json";
/// The media type of a bundle.
pub const BUNDLE_MEDIA_TYPE: &str = "application/vnd.margo.bundle.v1+tar+gzip";

const MAX_BYTES: usize = 4 << 20;

/// The version of a manifest, from 1 up to below 2^53.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ManifestVersion(u64);

/// Why a number is not a manifest version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    #[error("manifest version is 0; the first one is 1")]
    Zero,
    #[error("manifest version {0} is not below 2^53, where JSON numbers are exact")]
    TooLarge(u64),
}

/// The deployments of one client and the bundle that holds them all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StateManifest {
    pub manifest_version: ManifestVersion,
    /// Absent exactly when there are no deployments.
    pub bundle: Option<BundleRef>,
    pub deployments: Vec<DeploymentRef>,
    /// What a vendor adds; unknown ones are ignored.
    #[serde(flatten)]
    pub extensions: Extensions,
}

/// The URL of the bundle and its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BundleRef {
    pub media_type: String,
    pub digest: Digest,
    /// Advisory, never checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    pub url: String,
}

/// The URL of a deployment and its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentRef {
    pub deployment_id: DeploymentId,
    pub digest: Digest,
    /// Advisory, never checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    pub url: String,
}

/// Why a manifest was refused as a whole.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("manifest has {found} bytes; at most {limit} are read")]
    TooLarge { found: usize, limit: usize },
    #[error("manifest lists {found} deployments; at most {limit} are read")]
    TooMany { found: usize, limit: usize },
    #[error("manifest is not JSON of the right form")]
    Json(#[source] serde_json::Error),
    #[error("manifest has an invalid version")]
    Version(#[source] VersionError),
    #[error("{at} has an invalid digest")]
    Digest {
        at: String,
        #[source]
        source: DigestError,
    },
    #[error("{at} has an invalid deployment id")]
    DeploymentId {
        at: String,
        #[source]
        source: Invalid,
    },
    #[error("manifest lists deployment `{0}` twice")]
    Duplicate(DeploymentId),
    #[error("manifest has deployments but no bundle")]
    BundleMissing,
    #[error("manifest has a bundle but no deployments")]
    BundleUnexpected,
    #[error("bundle has the media type `{0}`; expected `{BUNDLE_MEDIA_TYPE}`")]
    BundleMediaType(String),
}

impl ManifestVersion {
    /// The version of the first manifest.
    pub const FIRST: ManifestVersion = ManifestVersion(1);
    const END: u64 = 1 << 53;

    /// A version, if the number can be one.
    pub fn new(number: u64) -> Result<ManifestVersion, VersionError> {
        match number {
            0 => Err(VersionError::Zero),
            ManifestVersion::END.. => Err(VersionError::TooLarge(number)),
            _ => Ok(ManifestVersion(number)),
        }
    }

    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }

    /// The version after this one.
    pub fn next(self) -> Result<ManifestVersion, VersionError> {
        ManifestVersion::new(self.0 + 1)
    }
}

impl fmt::Display for ManifestVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl<'de> Deserialize<'de> for ManifestVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ManifestVersion, D::Error> {
        let number = u64::deserialize(deserializer)?;
        ManifestVersion::new(number).map_err(serde::de::Error::custom)
    }
}

impl StateManifest {
    /// Makes the manifest of the deployment documents, and their bundle if
    /// there are any. Of two documents with the same id, the last one counts.
    pub fn new(
        version: ManifestVersion,
        documents: &[(DeploymentId, Vec<u8>)],
    ) -> (StateManifest, Option<Vec<u8>>) {
        let documents: BTreeMap<&DeploymentId, &[u8]> =
            documents.iter().map(|(id, bytes)| (id, bytes.as_slice())).collect();
        let bundle = (!documents.is_empty())
            .then(|| bundle::pack(documents.iter().map(|(id, bytes)| (*id, *bytes))));
        let deployments = documents.iter().map(|(id, bytes)| DeploymentRef::new(id, bytes));
        let manifest = StateManifest {
            manifest_version: version,
            bundle: bundle.as_deref().map(BundleRef::new),
            deployments: deployments.collect(),
            extensions: Extensions::new(),
        };
        (manifest, bundle)
    }

    /// The bytes to send: canonical JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        canonical::to_vec(&serde_json::to_value(self).unwrap_or_default())
    }

    /// The digest of the bytes to send, which is the ETag.
    pub fn etag(&self) -> Digest {
        Digest::of(&self.to_bytes())
    }

    /// Parses a manifest. Unknown fields are ignored.
    pub fn parse(bytes: &[u8]) -> Result<StateManifest, ManifestError> {
        if bytes.len() > MAX_BYTES {
            return Err(ManifestError::TooLarge { found: bytes.len(), limit: MAX_BYTES });
        }
        serde_json::from_slice::<wire::Wire>(bytes).map_err(ManifestError::Json)?.check()
    }
}

impl<'de> Deserialize<'de> for StateManifest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StateManifest, D::Error> {
        let wire = wire::Wire::deserialize(deserializer)?;
        wire.check().map_err(serde::de::Error::custom)
    }
}

impl BundleRef {
    fn new(bytes: &[u8]) -> BundleRef {
        let digest = Digest::of(bytes);
        let url = format!("/api/v1/bundles/{digest}");
        let size_bytes = Some(bytes.len() as u64);
        BundleRef { media_type: BUNDLE_MEDIA_TYPE.to_owned(), digest, size_bytes, url }
    }
}

impl DeploymentRef {
    fn new(id: &DeploymentId, bytes: &[u8]) -> DeploymentRef {
        let digest = Digest::of(bytes);
        let url = format!("/api/v1/deployments/{id}/{digest}");
        let size_bytes = Some(bytes.len() as u64);
        DeploymentRef { deployment_id: id.clone(), digest, size_bytes, url }
    }
}
