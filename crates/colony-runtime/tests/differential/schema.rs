//! The published schema of compose files: every key of it is in our tables.

use std::collections::{BTreeMap, BTreeSet};

use colony_runtime::compose::keys::{REFUSED, SUPPORTED};
use serde_json::{Map, Value};

use crate::reference::cached;

/// Keys of another form of a supported key, which is refused as a whole: the
/// form of version 2 of `external`.
const OTHER_FORMS: [&str; 2] = ["networks.*.external.name", "volumes.*.external.name"];

#[test]
fn every_key_of_the_schema_is_supported_or_refused() {
    let Ok(text) = std::fs::read_to_string(cached("schema/compose-spec.json")) else {
        println!("not run: the schema is not there; make test-engines fetches it");
        return;
    };
    let schema: Value = serde_json::from_str(&text).unwrap();
    let supported = SUPPORTED.iter().map(|it| (format!("{}{}", it.place, it.name), true));
    let refused = REFUSED.iter().map(|it| (format!("{}{}", it.place, it.name), false));
    let mut keys = Keys {
        schema: &schema,
        known: supported.chain(refused).collect(),
        seen: BTreeSet::new(),
        missing: BTreeSet::new(),
    };
    keys.walk(&schema, "", &mut Vec::new());
    assert!(keys.seen.len() > 150, "{} keys were found", keys.seen.len());
    let missing: Vec<&String> =
        keys.missing.iter().filter(|it| !OTHER_FORMS.contains(&it.as_str())).collect();
    assert!(missing.is_empty(), "in no table: {missing:#?}");
}

struct Keys<'a> {
    schema: &'a Value,
    /// Paths as the tables print them, and whether they are supported.
    known: BTreeMap<String, bool>,
    seen: BTreeSet<String>,
    missing: BTreeSet<String>,
}

impl<'a> Keys<'a> {
    /// What stands below a refused key is not looked at.
    fn walk(&mut self, node: &'a Value, path: &str, references: &mut Vec<&'a str>) {
        if let Some(reference) = node["$ref"].as_str() {
            if references.contains(&reference) {
                return;
            }
            references.push(reference);
            let target = self.schema.pointer(reference.trim_start_matches('#')).unwrap();
            self.walk(target, path, references);
            references.pop();
        }
        for form in ["oneOf", "anyOf", "allOf"] {
            let forms = node[form].as_array().into_iter().flatten();
            forms.for_each(|it| self.walk(it, path, references));
        }
        for (key, value) in mapping(&node["properties"]) {
            let dot = if path.is_empty() { "" } else { "." };
            let path = one_row(&format!("{path}{dot}{key}"));
            match self.known.get(&path) {
                Some(true) => self.walk(value, &path, references),
                Some(false) => {}
                None => drop(self.missing.insert(path.clone())),
            }
            self.seen.insert(path);
        }
        let named = mapping(&node["patternProperties"]).map(|it| it.1);
        for value in named.chain([&node["additionalProperties"]]).filter(|it| it.is_object()) {
            self.walk(value, &format!("{path}.*"), references);
        }
        if node["items"].is_object() {
            self.walk(&node["items"], &format!("{path}[]"), references);
        }
    }
}

fn mapping(node: &Value) -> impl Iterator<Item = (&String, &Value)> {
    node.as_object().into_iter().flat_map(Map::iter)
}

/// Four keys with the same form share the rows of what stands below them.
fn one_row(path: &str) -> String {
    match path.split_once("blkio_config.device_") {
        Some((start, rest)) => match rest.split_once("[]") {
            Some((_, rest)) => format!("{start}blkio_config.device_*[]{rest}"),
            None => path.to_owned(),
        },
        None => path.to_owned(),
    }
}
