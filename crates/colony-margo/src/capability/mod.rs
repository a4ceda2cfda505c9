//! The capabilities that a device reports.
//!
//! Amounts are those reserved for Margo, not the whole machine. A device that
//! hosts no workloads reports only its identity. The properties are also kept
//! as written, because eligibility rules refer to them, including unknown ones.

mod read;

use std::collections::BTreeMap;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::Json;
use crate::extension::Extensions;
use crate::finding::{Finding, Parsed};
use crate::value::device::DeviceId;
use crate::value::quantity::{Cores, Quantity};
use crate::yaml::{self, Limits};

/// The report of one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    properties: Properties,
    labels: BTreeMap<String, Json>,
    extensions: Extensions,
    written: Json,
}

/// The identity of a device and, if it hosts workloads, its resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Properties {
    pub id: DeviceId,
    pub vendor: String,
    pub model_number: String,
    pub serial_number: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<Cpu>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peripherals: Option<Vec<Peripheral>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interfaces: Option<Vec<Interface>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otel_collector: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supported_runtimes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supported_deployment_types: Vec<String>,
}

/// One processor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cpu {
    pub cores: Cores,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
}

/// A peripheral attached to the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Peripheral {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manufacturer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A network or bus interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Interface {
    #[serde(rename = "type")]
    pub kind: String,
}

impl Properties {
    /// The properties of a device that hosts no workloads.
    pub fn non_hosting(id: DeviceId, vendor: &str, model: &str, serial: &str) -> Properties {
        Properties {
            id,
            vendor: vendor.to_owned(),
            model_number: model.to_owned(),
            serial_number: serial.to_owned(),
            cpus: Vec::new(),
            memory: None,
            storage: None,
            peripherals: None,
            interfaces: None,
            otel_collector: None,
            supported_runtimes: Vec::new(),
            supported_deployment_types: Vec::new(),
        }
    }
}

yaml::deserialize_by_read!(Capabilities);

impl Capabilities {
    /// The report of a device about itself.
    pub fn new(properties: Properties) -> Capabilities {
        let written = serde_json::to_value(&properties).unwrap_or_default();
        let (labels, extensions) = (BTreeMap::new(), Extensions::new());
        Capabilities { properties, labels, extensions, written }
    }

    /// Sets a label; a value of another than the allowed types is refused.
    pub fn set_label(&mut self, key: &str, value: Json) -> bool {
        let valid = is_label(&value);
        if valid {
            self.labels.insert(key.to_owned(), value);
        }
        valid
    }

    /// Parses the JSON a device sent.
    pub fn parse(bytes: &[u8]) -> Result<Parsed<Capabilities>, Vec<Finding>> {
        let limits = Limits { bytes: 256 * 1024, depth: 16, nodes: 10_000, ..Limits::default() };
        yaml::read_json(bytes, &limits, Capabilities::read)
    }

    /// The properties, typed.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// The id of the device.
    pub fn id(&self) -> &DeviceId {
        &self.properties.id
    }

    /// Whether the device supports profiles of this type.
    pub fn supports(&self, profile_type: &str) -> bool {
        self.properties.supported_deployment_types.iter().any(|it| it == profile_type)
    }

    /// The labels: texts, numbers, booleans, lists of texts or of numbers.
    pub fn labels(&self) -> &BTreeMap<String, Json> {
        &self.labels
    }

    /// The extensions.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.extensions
    }

    /// The properties as they were written.
    pub fn as_json(&self) -> &Json {
        &self.written
    }
}

impl Serialize for Capabilities {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("properties", &self.written)?;
        if !self.labels.is_empty() {
            map.serialize_entry("labels", &self.labels)?;
        }
        for (key, value) in self.extensions.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.architecture {
            Some(architecture) => write!(f, "{} {architecture} cores", self.cores),
            None => write!(f, "{} cores", self.cores),
        }
    }
}

fn is_label(value: &Json) -> bool {
    match value {
        Json::String(_) | Json::Number(_) | Json::Bool(_) => true,
        Json::Array(items) => {
            items.iter().all(Json::is_string) || items.iter().all(Json::is_number)
        }
        Json::Null | Json::Object(_) => false,
    }
}
