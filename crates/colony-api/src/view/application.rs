//! The catalog.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use colony_core::margo::Finding;
use colony_core::time::Timestamp;

/// `GET /api/v1/applications` and `GET /api/v1/applications/{id}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationView {
    pub id: String,
    /// For people.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The newest first.
    pub versions: Vec<String>,
    /// The version that is deployed if none is named: the newest release.
    #[serde(default)]
    pub latest: String,
    pub registry: String,
    #[schema(value_type = u64)]
    pub at: Timestamp,
}

/// `GET /api/v1/applications/{id}/{version}`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationDetail {
    pub id: String,
    pub name: String,
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub registry: String,
    /// The folder of the package in its registry.
    pub path: String,
    /// Of the package's `margo.yaml`.
    pub digest: String,
    pub profiles: Vec<ProfileView>,
    pub parameters: Vec<ParameterView>,
    /// Other versions in the catalog, the newest first.
    pub versions: Vec<String>,
    #[schema(value_type = Vec<crate::schema::Finding>)]
    #[serde(default)]
    pub warnings: Vec<Finding>,
}

/// One way to deploy an application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileView {
    pub id: String,
    /// `compose` or `helm`.
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub components: Vec<String>,
}

/// What an operator may set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParameterView {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Type and limits, as a clause: `integer 1 to 65535`.
    pub allowed: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// May not change after the first installation.
    #[serde(default)]
    pub immutable: bool,
}

/// `GET /api/v1/registries` and `GET /api/v1/registries/{name}`, and the answer of `POST`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryView {
    pub name: String,
    pub url: String,
    /// How many versions of applications it holds.
    pub packages: u64,
    /// Which: the versions of each application, the newest first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub applications: BTreeMap<String, Vec<String>>,
    /// Packages that could not be used when it was read.
    #[serde(default)]
    pub broken: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    #[schema(value_type = Option<u64>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sync: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// What is wrong with the broken ones.
    #[schema(value_type = Vec<crate::schema::Finding>)]
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// `POST /api/v1/applications/lint`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LintView {
    /// No finding is an error.
    pub usable: bool,
    #[schema(value_type = Vec<crate::schema::Finding>)]
    pub findings: Vec<Finding>,
}
