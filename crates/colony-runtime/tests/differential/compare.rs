//! Compares what an engine says about containers, field by field.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value, json};

/// Containers by service and number.
pub(crate) type Containers = BTreeMap<(String, u32), Value>;

/// A field with two values.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) path: String,
    pub(crate) ours: Value,
    pub(crate) theirs: Value,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: colony {}, Compose {}", self.path, self.ours, self.theirs)
    }
}

/// The differences of all containers. Paths begin below a container.
pub(crate) fn all(ours: &Containers, theirs: &Containers) -> Vec<Difference> {
    let mut found = Vec::new();
    let (have, want) = (ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    if have != want {
        found.push(Difference {
            path: "containers".to_owned(),
            ours: json!(have),
            theirs: json!(want),
        });
    }
    for (place, container) in ours {
        if let Some(other) = theirs.get(place) {
            found.extend(difference(container, other));
        }
    }
    found
}

pub(crate) fn difference(ours: &Value, theirs: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    descend("", ours, theirs, &mut found);
    found
}

fn descend(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<Difference>) {
    if ours == theirs || (is_nothing(ours) && is_nothing(theirs)) {
        return;
    }
    let (Value::Object(a), Value::Object(b)) = (ours, theirs) else {
        let (ours, theirs) = (ours.clone(), theirs.clone());
        return found.push(Difference { path: path.to_owned(), ours, theirs });
    };
    for key in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
        let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let value = |it: &Map<String, Value>| it.get(key).cloned().unwrap_or_default();
        descend(&below, &value(a), &value(b), found);
    }
}

/// Engines print what is not set in several ways.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(it) => !it,
        Value::Number(it) => it.as_i64() == Some(0),
        Value::String(it) => it.is_empty(),
        Value::Array(it) => it.is_empty(),
        Value::Object(it) => it.is_empty(),
    }
}

/// The fields that a file decides, with names of the project in place of those
/// on the engine, and without the container's own id.
pub(crate) fn plain(container: Value, names: &BTreeMap<String, String>) -> Value {
    let id = container["Id"].as_str().unwrap()[..12].to_owned();
    let networks =
        container["NetworkSettings"]["Networks"].as_object().cloned().unwrap_or_default();
    let networks: Map<String, Value> = networks
        .into_iter()
        .map(|(name, it)| {
            let fields = ["Aliases", "IPAMConfig", "Links", "DriverOpts"];
            (name, fields.into_iter().map(|field| (field.to_owned(), it[field].clone())).collect())
        })
        .collect();
    let mounts = container["Mounts"].as_array().cloned().unwrap_or_default();
    let mounts: Map<String, Value> = mounts
        .into_iter()
        .map(|it| (it["Destination"].as_str().unwrap().to_owned(), mount(it)))
        .collect();
    let mut plain = json!({
        "Image": container["Image"],
        "Config": container["Config"],
        "HostConfig": container["HostConfig"],
        "Networks": networks,
        "Mounts": mounts,
    });
    rename(&mut plain, names, &id);
    let image = plain["Config"]["Env"].as_array().cloned().unwrap_or_default();
    let env = image.iter().filter_map(|it| it.as_str()?.split_once('='));
    plain["Config"]["Env"] = env.map(|(key, value)| (key.to_owned(), json!(value))).collect();
    plain
}

fn mount(mut mount: Value) -> Value {
    // A volume without a name has a name of the engine.
    if mount["Name"].as_str().is_some_and(|it| it.len() == 64) {
        mount["Name"] = json!("nameless");
    }
    if mount["Type"] == "volume" {
        mount["Source"] = Value::Null;
    }
    mount
}

fn rename(value: &mut Value, names: &BTreeMap<String, String>, id: &str) {
    match value {
        Value::String(text) => {
            if let Some(name) = names.get(text) {
                *text = name.clone();
            }
            if text == id {
                *text = "id".to_owned();
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|it| rename(it, names, id));
        }
        Value::Object(entries) => {
            let all = std::mem::take(entries);
            for (key, mut value) in all {
                rename(&mut value, names, id);
                if matches!(
                    key.as_str(),
                    "Aliases" | "CapAdd" | "CapDrop" | "ExtraHosts" | "Ulimits"
                ) && let Value::Array(items) = &mut value
                {
                    items.sort_by_key(Value::to_string);
                }
                entries.insert(names.get(&key).cloned().unwrap_or(key), value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
