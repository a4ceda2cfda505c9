//! Parameters: values and their targets in components.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Json;
use crate::finding::Severity;
use crate::value::name::ComponentName;
use crate::yaml::Cursor;

/// A value for some targets. In a description it is a default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Parameter {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    pub targets: Vec<Target>,
}

/// A target in some components: for helm a dotted path in the values, for
/// compose the name of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Target {
    pub pointer: String,
    pub components: Vec<ComponentName>,
}

impl Parameter {
    /// Reads a parameter.
    pub fn read(cursor: &Cursor<'_>) -> Option<Parameter> {
        cursor.unknown_keys(&["value", "targets"]);
        let value = cursor.field("value").and_then(|it| read_value(&it));
        let targets = cursor.required("targets").and_then(|it| it.some_each(Target::read));
        Some(Parameter { value, targets: targets? })
    }

    /// The targets in the components that `has` accepts.
    pub(crate) fn targets_in(&self, has: impl Fn(&ComponentName) -> bool) -> Vec<Target> {
        let narrow = |target: &Target| {
            let components = target.components.iter().filter(|it| has(it)).cloned().collect();
            Target { pointer: target.pointer.clone(), components }
        };
        self.targets.iter().map(narrow).filter(|it| !it.components.is_empty()).collect()
    }
}

impl Target {
    fn read(cursor: &Cursor<'_>) -> Option<Target> {
        cursor.unknown_keys(&["pointer", "components"]);
        let pointer = cursor.required("pointer").and_then(|it| it.some_string());
        let components = cursor.required("components").and_then(|it| it.some_each(Cursor::text));
        Some(Target { pointer: pointer?, components: components? })
    }
}

/// Reads the map of parameters. A target should name a component that `exists`;
/// otherwise a finding of this severity is added.
pub(crate) fn read_all(
    cursor: &Cursor<'_>,
    severity: Severity,
    exists: impl Fn(&ComponentName) -> bool,
) -> Option<BTreeMap<String, Parameter>> {
    let mut parameters = BTreeMap::new();
    let mut complete = true;
    for entry in cursor.entries()? {
        match Parameter::read(&entry.value) {
            Some(parameter) => {
                check_targets(&entry.value, &parameter, severity, &exists);
                parameters.insert(entry.key.to_owned(), parameter);
            }
            None => complete = false,
        }
    }
    complete.then_some(parameters)
}

fn check_targets(
    cursor: &Cursor<'_>,
    parameter: &Parameter,
    severity: Severity,
    exists: &impl Fn(&ComponentName) -> bool,
) {
    let targets = cursor.field("targets").and_then(|it| it.items()).unwrap_or_default();
    for (place, target) in targets.iter().zip(&parameter.targets) {
        let names = place.field("components").and_then(|it| it.items()).unwrap_or_default();
        for (place, name) in names.iter().zip(&target.components).filter(|it| !exists(it.1)) {
            let problem = format!("component `{name}` does not exist");
            place.report(severity, problem, "the name of a component of a profile");
        }
    }
}

/// Reads a value of the kinds the specification allows for a parameter.
fn read_value(cursor: &Cursor<'_>) -> Option<Json> {
    let value = cursor.json();
    let allowed = match &value {
        Json::Bool(_) | Json::Number(_) | Json::String(_) => true,
        Json::Array(items) => items.iter().all(|it| !it.is_object() && !it.is_array()),
        Json::Null | Json::Object(_) => false,
    };
    if !allowed {
        return cursor.mismatch("a text, number or boolean, or a list of these");
    }
    Some(value)
}
