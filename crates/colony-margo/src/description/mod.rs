//! The description of an application by its supplier.

mod catalog;
mod configuration;
mod deploy;
mod schema;
mod value;

pub use catalog::{ApplicationEntry, Author, Catalog, Metadata, Organization};
pub use configuration::{Configuration, Section, Setting};
pub use deploy::{DeployError, Order};
pub use schema::{DataType, Element, Schema};
pub use value::ValueError;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Json;
use crate::component::{self, Component};
use crate::constraint::DeviceConstraints;
use crate::extension::Extensions;
use crate::finding::{Finding, Parsed, Severity};
use crate::parameter::{self, Parameter};
use crate::value::name::{ApplicationId, ComponentName};
use crate::yaml::{self, Cursor, Limits};

/// An application that can be deployed in one of several ways.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationDescription {
    api_version: &'static str,
    pub id: ApplicationId,
    pub metadata: Metadata,
    #[serde(rename = "deploymentProfiles")]
    pub profiles: Vec<Profile>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Parameter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<Configuration>,
    /// For the orchestrator; never sent to a device.
    #[serde(flatten)]
    pub extensions: Extensions,
}

/// One way to deploy the application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Profile {
    pub id: String,
    /// `helm`, `compose` or `custom`.
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// In the order of installation.
    pub components: Vec<Component>,
    #[serde(rename = "deviceConstraints", skip_serializing_if = "Option::is_none")]
    pub constraints: Option<DeviceConstraints>,
    /// For devices, so it is part of the deployment.
    #[serde(flatten)]
    pub extensions: Extensions,
}

yaml::deserialize_by_read!(ApplicationDescription);

impl ApplicationDescription {
    /// Parses a description, or returns everything that is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Parsed<ApplicationDescription>, Vec<Finding>> {
        yaml::read(bytes, &Limits::default(), ApplicationDescription::read)
    }

    /// Reads a description. The result may be used only if no error was found.
    pub fn read(cursor: &Cursor<'_>) -> Option<ApplicationDescription> {
        cursor.unknown_keys(&[
            "apiVersion",
            "id",
            "metadata",
            "deploymentProfiles",
            "parameters",
            "configuration",
        ]);
        let api_version = cursor.required("apiVersion").and_then(|it| it.one_of(&["v1"]));
        let id = cursor.required("id").and_then(|it| it.text());
        let metadata = cursor.required("metadata").and_then(|it| Metadata::read(&it));
        let profiles = cursor.required("deploymentProfiles").and_then(|it| read_profiles(&it));
        let parameters = read_parameters(cursor, profiles.as_deref());
        let known = parameters.as_ref();
        let configuration =
            cursor.field("configuration").and_then(|it| Configuration::read(&it, known));
        let extensions = cursor.extensions();
        Some(ApplicationDescription {
            api_version: api_version?,
            id: id?,
            metadata: metadata?,
            profiles: profiles?,
            parameters: parameters?,
            configuration,
            extensions,
        })
    }

    /// Writes the description. Equal descriptions give equal bytes.
    pub fn to_yaml(&self) -> String {
        yaml::emit(&serde_json::to_value(self).unwrap_or_default())
    }

    /// The profile of this id.
    pub fn profile(&self, id: &str) -> Option<&Profile> {
        self.profiles.iter().find(|it| it.id == id)
    }

    /// Checks a value for a parameter against every schema that applies.
    pub fn validate(&self, parameter: &str, value: &Json) -> Result<(), ValueError> {
        if !self.parameters.contains_key(parameter) {
            return Err(ValueError::unknown(parameter, self.parameters.keys()));
        }
        self.schemas(parameter).try_for_each(|it| it.check(parameter, value))
    }

    /// Whether the value must not change after the first installation.
    pub fn is_immutable(&self, parameter: &str) -> bool {
        self.settings(parameter).any(|it| it.immutable)
    }

    /// The settings an operator sees for a parameter.
    pub fn settings(&self, parameter: &str) -> impl Iterator<Item = &Setting> {
        let sections = self.configuration.iter().flat_map(|it| &it.sections);
        sections.flat_map(|it| &it.settings).filter(move |it| it.parameter == parameter)
    }

    /// The schemas that a value of a parameter must meet.
    pub fn schemas(&self, parameter: &str) -> impl Iterator<Item = &Schema> {
        let named = |name: &String| self.configuration.as_ref()?.schema(name);
        self.settings(parameter).filter_map(move |it| named(&it.schema))
    }
}

impl Profile {
    fn read(cursor: &Cursor<'_>) -> Option<Profile> {
        cursor.unknown_keys(&["id", "type", "description", "components", "deviceConstraints"]);
        let id = cursor.required("id").and_then(|it| it.some_string());
        let kind = cursor.required("type").and_then(|it| it.one_of(&crate::PROFILE_TYPES));
        let description = cursor.field("description").and_then(|it| it.string());
        let components = cursor.required("components").and_then(|it| component::read_all(&it));
        let constraints = cursor.field("deviceConstraints");
        let constraints = constraints.and_then(|it| DeviceConstraints::read(&it));
        let extensions = cursor.extensions();
        Some(Profile {
            id: id?,
            kind: kind?.to_owned(),
            description,
            components: components?,
            constraints,
            extensions,
        })
    }

    /// Whether the profile has the component.
    pub fn has(&self, component: &ComponentName) -> bool {
        self.components.iter().any(|it| it.name == *component)
    }
}

fn read_profiles(cursor: &Cursor<'_>) -> Option<Vec<Profile>> {
    cursor.unique("id", "profile");
    cursor.some_each(Profile::read)
}

fn read_parameters(
    cursor: &Cursor<'_>,
    profiles: Option<&[Profile]>,
) -> Option<BTreeMap<String, Parameter>> {
    // If a profile is broken, the parameters are not checked against it.
    let exists =
        |name: &ComponentName| profiles.is_none_or(|it| it.iter().any(|profile| profile.has(name)));
    let parameters =
        cursor.field("parameters").map(|it| parameter::read_all(&it, Severity::Error, exists));
    parameters.unwrap_or(Some(BTreeMap::new()))
}
