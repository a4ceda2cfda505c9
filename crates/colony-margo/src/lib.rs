//! The Margo documents of version 1.0.0-rc.3: their types, rules and digests.
//!
//! Pure: bytes in, values and findings out. There is no file, network, clock or
//! random source here. Everything specific to one version of the specification
//! stays in this crate, because every preview so far changed the wire format.
//!
//! A document written by a person (YAML) is read completely, and all its
//! problems are returned at once as [`Finding`]s with their positions. A
//! document made by a machine (manifest, status) is read or refused.

pub mod bundle;
pub mod canonical;
pub mod capability;
pub mod component;
pub mod constraint;
pub mod deployment;
pub mod description;
pub mod extension;
pub mod finding;
pub mod manifest;
pub mod parameter;
pub mod problem;
pub mod status;
mod value;
pub mod yaml;

pub use capability::Capabilities;
pub use component::Component;
pub use constraint::DeviceConstraints;
pub use deployment::ApplicationDeployment;
pub use description::ApplicationDescription;
pub use extension::Extensions;
pub use finding::{Finding, Findings, Parsed, Severity};
pub use manifest::{ManifestVersion, StateManifest};
pub use parameter::Parameter;
pub use problem::{Problem, ProblemType};
pub use status::{DeploymentStatus, State};
pub use value::artifact::{Repository, Revision, Timeout};
pub use value::device::{DeviceId, DeviceTarget};
pub use value::digest::Digest;
pub use value::name::{ApplicationId, ComponentName, DeploymentId};
pub use value::quantity::{Cores, Quantity};
pub use value::{artifact, device, digest, name, quantity, text};

/// A JSON value, as found in parameters, labels and extensions.
pub type Json = serde_json::Value;

/// The profile types of the specification. Kept as texts everywhere, because
/// the specification is about to allow other types.
pub const PROFILE_TYPES: [&str; 3] = ["helm", "compose", "custom"];
