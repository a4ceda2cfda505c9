//! A manifest as it is sent, and the rules that make it a valid one.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::{
    BUNDLE_MEDIA_TYPE, BundleRef, DeploymentRef, ManifestError, ManifestVersion, StateManifest,
};
use crate::extension::Extensions;
use crate::value::digest::Digest;

const MAX_DEPLOYMENTS: usize = 10_000;

/// A manifest as sent, before its rules are checked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wire {
    manifest_version: u64,
    #[serde(deserialize_with = "Option::deserialize")]
    bundle: Option<WireBundle>,
    deployments: Vec<WireDeployment>,
    /// Extensions, and fields of later versions.
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireBundle {
    media_type: String,
    digest: String,
    size_bytes: Option<u64>,
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireDeployment {
    deployment_id: String,
    digest: String,
    size_bytes: Option<u64>,
    url: String,
}

impl Wire {
    pub(super) fn check(self) -> Result<StateManifest, ManifestError> {
        let found = self.deployments.len();
        if found > MAX_DEPLOYMENTS {
            return Err(ManifestError::TooMany { found, limit: MAX_DEPLOYMENTS });
        }
        match (&self.bundle, found) {
            (None, 1..) => return Err(ManifestError::BundleMissing),
            (Some(_), 0) => return Err(ManifestError::BundleUnexpected),
            (None, _) | (Some(_), _) => {}
        }
        let version = ManifestVersion::new(self.manifest_version);
        let manifest_version = version.map_err(ManifestError::Version)?;
        let bundle = self.bundle.map(WireBundle::check).transpose()?;
        let deployments = self.deployments.into_iter().enumerate().map(WireDeployment::check);
        let deployments = deployments.collect::<Result<Vec<_>, _>>()?;
        refuse_doubles(&deployments)?;
        let extensions = extensions(self.more);
        Ok(StateManifest { manifest_version, bundle, deployments, extensions })
    }
}

/// A field with the key of an extension that is not an object is ignored like
/// any unknown field.
fn extensions(more: BTreeMap<String, Value>) -> Extensions {
    let mut extensions = Extensions::new();
    for (key, value) in more {
        if let Value::Object(value) = value {
            extensions.insert(&key, value);
        }
    }
    extensions
}

fn refuse_doubles(deployments: &[DeploymentRef]) -> Result<(), ManifestError> {
    let mut seen = BTreeSet::new();
    match deployments.iter().find(|it| !seen.insert(&it.deployment_id)) {
        Some(double) => Err(ManifestError::Duplicate(double.deployment_id.clone())),
        None => Ok(()),
    }
}

impl WireBundle {
    fn check(self) -> Result<BundleRef, ManifestError> {
        if self.media_type != BUNDLE_MEDIA_TYPE {
            return Err(ManifestError::BundleMediaType(self.media_type));
        }
        let digest = digest(&self.digest, || "bundle".to_owned())?;
        let WireBundle { media_type, url, .. } = self;
        let size_bytes = exact(self.size_bytes);
        Ok(BundleRef { media_type, digest, size_bytes, url })
    }
}

impl WireDeployment {
    fn check((index, wire): (usize, WireDeployment)) -> Result<DeploymentRef, ManifestError> {
        let at = || format!("deployments[{index}]");
        let deployment_id = wire.deployment_id.parse();
        let deployment_id =
            deployment_id.map_err(|source| ManifestError::DeploymentId { at: at(), source })?;
        let digest = digest(&wire.digest, at)?;
        let size_bytes = exact(wire.size_bytes);
        let url = wire.url;
        Ok(DeploymentRef { deployment_id, digest, size_bytes, url })
    }
}

fn digest(text: &str, at: impl Fn() -> String) -> Result<Digest, ManifestError> {
    text.parse().map_err(|source| ManifestError::Digest { at: at(), source })
}

/// A size is advisory: one that canonical JSON cannot represent is left out.
fn exact(size: Option<u64>) -> Option<u64> {
    size.filter(|it| *it < 1 << 53)
}
