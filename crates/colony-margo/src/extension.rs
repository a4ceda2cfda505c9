//! Vendor extensions, `x-<name>-extensions`, kept and forwarded unchanged.
//!
//! Extensions at the root of a description are for the orchestrator and are not
//! forwarded. Those of a profile or a component are for devices.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::Json;
use crate::yaml::{Cursor, Value};

/// The extensions of one object, by their full key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extensions(BTreeMap<String, serde_json::Map<String, Json>>);

impl Extensions {
    /// No extensions.
    pub fn new() -> Extensions {
        Extensions::default()
    }

    /// Sets an extension. Returns whether the key is that of an extension; if
    /// not, nothing is set.
    pub fn insert(&mut self, key: &str, value: serde_json::Map<String, Json>) -> bool {
        let valid = is_key(key);
        if valid {
            self.0.insert(key.to_owned(), value);
        }
        valid
    }

    /// The extension under `key`.
    pub fn get(&self, key: &str) -> Option<&serde_json::Map<String, Json>> {
        self.0.get(key)
    }

    /// All extensions by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &serde_json::Map<String, Json>)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Extensions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Whether a key is that of an extension: `^x-[a-z][a-z0-9-]*-extensions$`.
pub fn is_key(key: &str) -> bool {
    let name = key.strip_prefix("x-").and_then(|it| it.strip_suffix("-extensions"));
    name.is_some_and(|name| {
        let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(part)
    })
}

/// Reads the extensions of a map. An extension without a value is left out.
pub(crate) fn read(cursor: &Cursor<'_>) -> Extensions {
    let mut extensions = Extensions::new();
    let Value::Map(_) = &cursor.node().value else { return extensions };
    for entry in cursor.entries().unwrap_or_default() {
        if !is_key(entry.key) {
            continue;
        }
        match entry.value.json() {
            Json::Object(value) => _ = extensions.insert(entry.key, value),
            Json::Null => {}
            Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                entry.value.mismatch::<()>("a mapping, as all extensions are");
            }
        }
    }
    extensions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_keys_follow_the_pattern() {
        for key in ["x-colony-extensions", "x-a-extensions", "x-a1-b-extensions", "x-a--extensions"]
        {
            assert!(is_key(key), "{key}");
        }
        for key in [
            "x-extensions",
            "x--extensions",
            "x-1a-extensions",
            "x-A-extensions",
            "y-a-extensions",
            "x-colony",
        ] {
            assert!(!is_key(key), "{key}");
        }
    }
}
