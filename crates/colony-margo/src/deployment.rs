//! The desired state of one application on one device.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::capability::Capabilities;
use crate::component::{self, Component};
use crate::constraint::DeviceConstraints;
use crate::extension::Extensions;
use crate::finding::{Finding, Parsed, Severity};
use crate::parameter::{self, Parameter};
use crate::value::device::DeviceTarget;
use crate::value::name::{ApplicationId, ComponentName, DeploymentId};
use crate::yaml::{self, Cursor, Limits};

/// The application to run on a device. The id stays when the content changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApplicationDeployment {
    pub id: DeploymentId,
    pub metadata: Metadata,
    pub spec: Spec,
}

/// The name of the deployment and its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    pub name: String,
    pub namespace: String,
    pub device_id: DeviceTarget,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// The content of the deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    pub application_id: ApplicationId,
    #[serde(rename = "deploymentProfile")]
    pub profile: Profile,
    pub parameters: BTreeMap<String, Parameter>,
    #[serde(flatten)]
    pub extensions: Extensions,
}

/// The one profile of the application that is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// `helm`, `compose` or `custom`.
    #[serde(rename = "type")]
    pub kind: String,
    /// In the order of installation.
    pub components: Vec<Component>,
    #[serde(rename = "deviceConstraints", skip_serializing_if = "Option::is_none")]
    pub constraints: Option<DeviceConstraints>,
    #[serde(flatten)]
    pub extensions: Extensions,
}

impl Profile {
    /// The checks that every device performs before it runs the profile: its
    /// type, and the eligibility rules. Capacity is checked by the manager.
    pub fn accepted_by(&self, device: &Capabilities) -> Result<(), String> {
        if !device.supports(&self.kind) {
            return Err(format!("profiles of type `{}` are not supported", self.kind));
        }
        let eligible = self.constraints.as_ref().map_or(Ok(()), |it| it.eligible(device));
        eligible.map_err(|mismatches| {
            let all: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
            all.join("; ")
        })
    }
}

yaml::deserialize_by_read!(ApplicationDeployment);

impl ApplicationDeployment {
    /// Parses a deployment, or returns everything that is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Parsed<ApplicationDeployment>, Vec<Finding>> {
        yaml::read(bytes, &Limits::default(), ApplicationDeployment::read)
    }

    /// Reads a deployment. The result may be used only if no error was found.
    pub fn read(cursor: &Cursor<'_>) -> Option<ApplicationDeployment> {
        cursor.unknown_keys(&["id", "metadata", "spec"]);
        let id = cursor.required("id").and_then(|it| it.text());
        let metadata = cursor.required("metadata").and_then(|it| Metadata::read(&it));
        let spec = cursor.required("spec").and_then(|it| Spec::read(&it));
        Some(ApplicationDeployment { id: id?, metadata: metadata?, spec: spec? })
    }

    /// Writes the deployment. Equal deployments give equal bytes.
    pub fn to_yaml(&self) -> String {
        yaml::emit(&serde_json::to_value(self).unwrap_or_default())
    }

    /// The component of this name.
    pub fn component(&self, name: &ComponentName) -> Option<&Component> {
        self.spec.profile.components.iter().find(|it| it.name == *name)
    }
}

impl Metadata {
    fn read(cursor: &Cursor<'_>) -> Option<Metadata> {
        cursor.unknown_keys(&["name", "namespace", "deviceId", "labels"]);
        let name = cursor.required("name").and_then(|it| it.some_string());
        let namespace = cursor.required("namespace").and_then(|it| it.some_string());
        let device_id = cursor.required("deviceId").and_then(|it| it.text());
        let labels = cursor.field("labels").map(|it| read_labels(&it)).unwrap_or_default();
        Some(Metadata { name: name?, namespace: namespace?, device_id: device_id?, labels })
    }
}

fn read_labels(cursor: &Cursor<'_>) -> BTreeMap<String, String> {
    let entries = cursor.entries().unwrap_or_default();
    let label = |it: yaml::Entry<'_>| Some((it.key.to_owned(), it.value.string()?));
    entries.into_iter().filter_map(label).collect()
}

impl Spec {
    fn read(cursor: &Cursor<'_>) -> Option<Spec> {
        cursor.unknown_keys(&["applicationId", "deploymentProfile", "parameters"]);
        let application_id = cursor.required("applicationId").and_then(|it| it.text());
        let profile = cursor.required("deploymentProfile").and_then(|it| Profile::read(&it));
        let exists = |name: &ComponentName| {
            // If the profile is broken, the parameters are not checked against
            // it.
            profile.as_ref().is_none_or(|it| it.components.iter().any(|it| it.name == *name))
        };
        // Other orchestrators send the targets of all profiles.
        let parameters = cursor
            .field("parameters")
            .map(|it| parameter::read_all(&it, Severity::Warning, exists));
        let parameters = parameters.unwrap_or(Some(BTreeMap::new()));
        let extensions = cursor.extensions();
        let application_id = application_id?;
        Some(Spec { application_id, profile: profile?, parameters: parameters?, extensions })
    }
}

impl Profile {
    fn read(cursor: &Cursor<'_>) -> Option<Profile> {
        cursor.unknown_keys(&["type", "components", "deviceConstraints"]);
        let kind = cursor.required("type").and_then(|it| it.one_of(&crate::PROFILE_TYPES));
        let components = cursor.required("components").and_then(|it| component::read_all(&it));
        let constraints = cursor.field("deviceConstraints");
        let constraints = constraints.and_then(|it| DeviceConstraints::read(&it));
        let extensions = cursor.extensions();
        Some(Profile { kind: kind?.to_owned(), components: components?, constraints, extensions })
    }
}
