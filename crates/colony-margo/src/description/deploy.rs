//! Makes a deployment from a description and the order of an operator.
//!
//! Extensions of the profile and its components are copied, those at the root
//! of the description are not. Parameters are narrowed to the components of the
//! profile; a parameter without a value is left out.

use std::collections::BTreeMap;

use super::{ApplicationDescription, Profile, ValueError};
use crate::Json;
use crate::deployment::{self, ApplicationDeployment};
use crate::extension::Extensions;
use crate::parameter::{Parameter, Target};
use crate::value::device::DeviceTarget;
use crate::value::name::DeploymentId;

/// The order of an operator: profile, values and target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub id: DeploymentId,
    pub name: String,
    pub namespace: String,
    pub device_id: DeviceTarget,
    pub labels: BTreeMap<String, String>,
    /// The id of the profile.
    pub profile: String,
    /// Values by parameter, where they differ from the defaults.
    pub values: BTreeMap<String, Json>,
    /// Extensions of the deployment's `spec`.
    pub extensions: Extensions,
}

/// Why no deployment could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeployError {
    #[error("profile `{profile}` does not exist; expected one of {}", known.join(", "))]
    UnknownProfile { profile: String, known: Vec<String> },
    #[error(transparent)]
    Value(#[from] ValueError),
}

impl ApplicationDescription {
    /// Makes the ordered deployment, or returns all errors.
    pub fn deploy(&self, order: &Order) -> Result<ApplicationDeployment, Vec<DeployError>> {
        let Some(profile) = self.profile(&order.profile) else {
            return Err(vec![self.unknown_profile(&order.profile)]);
        };
        let (parameters, mut errors) = self.fill(profile, &order.values);
        let unknown = order.values.keys().filter(|it| !self.parameters.contains_key(*it));
        errors.extend(unknown.map(|it| ValueError::unknown(it, self.parameters.keys())));
        if !errors.is_empty() {
            return Err(errors.into_iter().map(DeployError::Value).collect());
        }
        Ok(ApplicationDeployment {
            id: order.id.clone(),
            metadata: order.metadata(),
            spec: deployment::Spec {
                application_id: self.id.clone(),
                profile: profile.forwarded(),
                parameters,
                extensions: order.extensions.clone(),
            },
        })
    }

    /// The immutable parameters whose value changed.
    pub fn changed_immutables<'a>(
        &'a self,
        before: &BTreeMap<String, Json>,
        after: &BTreeMap<String, Json>,
    ) -> Vec<&'a str> {
        let immutable = self.parameters.keys().filter(|it| self.is_immutable(it));
        let changed = immutable.filter(|it| {
            let default = self.parameters[*it].value.as_ref();
            before.get(*it).or(default) != after.get(*it).or(default)
        });
        changed.map(String::as_str).collect()
    }

    fn unknown_profile(&self, profile: &str) -> DeployError {
        let known = self.profiles.iter().map(|it| format!("`{}`", it.id)).collect();
        DeployError::UnknownProfile { profile: profile.to_owned(), known }
    }

    /// The parameters of a profile with their values, and the errors.
    fn fill(
        &self,
        profile: &Profile,
        values: &BTreeMap<String, Json>,
    ) -> (BTreeMap<String, Parameter>, Vec<ValueError>) {
        let (mut filled, mut errors) = (BTreeMap::new(), Vec::new());
        for (name, parameter) in &self.parameters {
            let targets = parameter.targets_in(|it| profile.has(it));
            if targets.is_empty() {
                continue;
            }
            match self.fill_one(name, values.get(name).or(parameter.value.as_ref()), targets) {
                Ok(Some(parameter)) => _ = filled.insert(name.clone(), parameter),
                Ok(None) => {}
                Err(error) => errors.push(error),
            }
        }
        (filled, errors)
    }

    fn fill_one(
        &self,
        name: &str,
        value: Option<&Json>,
        targets: Vec<Target>,
    ) -> Result<Option<Parameter>, ValueError> {
        self.validate(name, value.unwrap_or(&Json::Null))?;
        let value = value.filter(|it| !it.is_null()).cloned();
        Ok(value.map(|value| Parameter { value: Some(value), targets }))
    }
}

impl Order {
    fn metadata(&self) -> deployment::Metadata {
        deployment::Metadata {
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            device_id: self.device_id.clone(),
            labels: self.labels.clone(),
        }
    }
}

impl Profile {
    fn forwarded(&self) -> deployment::Profile {
        deployment::Profile {
            kind: self.kind.clone(),
            components: self.components.clone(),
            constraints: self.constraints.clone(),
            extensions: self.extensions.clone(),
        }
    }
}
