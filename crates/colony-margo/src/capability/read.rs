//! Reads the report of a device.

use std::collections::BTreeMap;

use super::{Capabilities, Cpu, Interface, Peripheral, Properties, is_label};
use crate::Json;
use crate::constraint::read_cores;
use crate::value::device::DeviceId;
use crate::yaml::Cursor;

const ARCHITECTURES: [&str; 3] = ["amd64", "arm64", "arm"];
const PERIPHERALS: [&str; 5] = ["gpu", "display", "camera", "microphone", "speaker"];
const INTERFACES: [&str; 7] =
    ["ethernet", "wifi", "cellular", "bluetooth", "usb", "canbus", "rs232"];
const RUNTIMES: [&str; 2] = ["oci", "custom"];
const HOSTING: [&str; 8] = [
    "cpus",
    "memory",
    "storage",
    "peripherals",
    "interfaces",
    "otelCollector",
    "supportedRuntimes",
    "supportedDeploymentTypes",
];

impl Capabilities {
    /// Reads a report.
    pub fn read(cursor: &Cursor<'_>) -> Option<Capabilities> {
        cursor.refuse_unknown_keys(&["properties", "labels"]);
        let properties = cursor.required("properties");
        let written = properties.as_ref().map(Cursor::json);
        let properties = properties.and_then(|it| Properties::read(&it));
        let labels = cursor.field("labels").map(|it| read_labels(&it));
        let extensions = cursor.extensions();
        let labels = labels.unwrap_or_default();
        Some(Capabilities { properties: properties?, labels, extensions, written: written? })
    }
}

impl Properties {
    fn read(cursor: &Cursor<'_>) -> Option<Properties> {
        let known = ["id", "vendor", "modelNumber", "serialNumber"].into_iter().chain(HOSTING);
        cursor.unknown_keys(&known.collect::<Vec<_>>());
        let id = cursor.required("id").and_then(|it| it.text());
        let vendor = cursor.required("vendor").and_then(|it| it.string());
        let model_number = cursor.required("modelNumber").and_then(|it| it.string());
        let serial_number = cursor.required("serialNumber").and_then(|it| it.string());
        let hosting = Properties::read_hosting(cursor, id.clone());
        Some(Properties {
            id: id?,
            vendor: vendor?,
            model_number: model_number?,
            serial_number: serial_number?,
            ..hosting?
        })
    }

    fn read_hosting(cursor: &Cursor<'_>, id: Option<DeviceId>) -> Option<Properties> {
        let list = |name: &str| cursor.field(name);
        let types = list("supportedDeploymentTypes");
        let hosting = Properties {
            cpus: list("cpus").and_then(|it| it.each(Cpu::read)).unwrap_or_default(),
            memory: list("memory").and_then(|it| it.text()),
            storage: list("storage").and_then(|it| it.text()),
            peripherals: list("peripherals").and_then(|it| it.each(Peripheral::read)),
            interfaces: list("interfaces").and_then(|it| it.each(Interface::read)),
            otel_collector: list("otelCollector").and_then(|it| it.bool()),
            supported_runtimes: names(list("supportedRuntimes"), &RUNTIMES),
            supported_deployment_types: names(types, &crate::PROFILE_TYPES),
            ..Properties::non_hosting(id?, "", "", "")
        };
        Some(hosting)
    }
}

/// A list of at least one known name.
fn names(cursor: Option<Cursor<'_>>, known: &[&str]) -> Vec<String> {
    let read = |it: &Cursor<'_>| it.one_of(known).map(str::to_owned);
    cursor.and_then(|it| it.some_each(read)).unwrap_or_default()
}

impl Cpu {
    fn read(cursor: &Cursor<'_>) -> Option<Cpu> {
        let cores = cursor.required("cores").and_then(|it| read_cores(&it));
        let architecture = cursor.field("architecture").and_then(|it| it.one_of(&ARCHITECTURES));
        Some(Cpu { cores: cores?, architecture: architecture.map(str::to_owned) })
    }
}

impl Peripheral {
    fn read(cursor: &Cursor<'_>) -> Option<Peripheral> {
        let kind = cursor.required("type").and_then(|it| it.one_of(&PERIPHERALS));
        let manufacturer = cursor.field("manufacturer").and_then(|it| it.string());
        let model = cursor.field("model").and_then(|it| it.string());
        Some(Peripheral { kind: kind?.to_owned(), manufacturer, model })
    }
}

impl Interface {
    fn read(cursor: &Cursor<'_>) -> Option<Interface> {
        let kind = cursor.required("type").and_then(|it| it.one_of(&INTERFACES));
        Some(Interface { kind: kind?.to_owned() })
    }
}

fn read_labels(cursor: &Cursor<'_>) -> BTreeMap<String, Json> {
    let mut labels = BTreeMap::new();
    for entry in cursor.entries().unwrap_or_default() {
        let value = entry.value.json();
        if is_label(&value) {
            labels.insert(entry.key.to_owned(), value);
        } else {
            let expected = "a text, number or boolean, or a list of texts or of numbers";
            entry.value.mismatch::<()>(expected);
        }
    }
    labels
}
