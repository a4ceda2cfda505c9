//! The Margo documents of version 1.0.0-rc.3: their types, rules and digests.
//!
//! Pure: bytes in, values and findings out. There is no file, network, clock
//! or random source here. All that is specific to one version of the
//! specification stays in this crate, because every preview so far changed
//! the wire format.
//!
//! A document written by a person (YAML) is read whole, and everything wrong
//! with it is returned at once as [`Finding`]s with their positions. A
//! document made by a machine (manifest, status) is read or refused.

pub mod artifact;
pub mod bundle;
pub mod canonical;
pub mod capability;
pub mod component;
pub mod constraint;
pub mod deployment;
pub mod description;
pub mod device;
pub mod digest;
pub mod extension;
pub mod finding;
pub mod manifest;
pub mod name;
pub mod parameter;
pub mod problem;
pub mod quantity;
pub mod status;
pub mod text;
pub mod yaml;

pub use artifact::{Repository, Revision, Timeout};
pub use capability::Capabilities;
pub use component::Component;
pub use constraint::DeviceConstraints;
pub use deployment::ApplicationDeployment;
pub use description::ApplicationDescription;
pub use device::{DeviceId, DeviceTarget};
pub use digest::Digest;
pub use extension::Extensions;
pub use finding::{Finding, Findings, Parsed, Severity};
pub use manifest::{ManifestVersion, StateManifest};
pub use name::{ApplicationId, ComponentName, DeploymentId};
pub use parameter::Parameter;
pub use problem::{Problem, ProblemType};
pub use quantity::{Cores, Quantity};
pub use status::{DeploymentStatus, State};

/// A JSON value, as found in parameters, labels and extensions.
pub type Json = serde_json::Value;

/// The profile types of the specification. Kept as texts everywhere, because
/// the specification is about to open this list.
pub const PROFILE_TYPES: [&str; 3] = ["helm", "compose", "custom"];
