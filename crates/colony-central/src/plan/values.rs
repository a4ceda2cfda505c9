//! The parameters of the next file: those of the deployment, overridden by the
//! request.

use std::collections::BTreeMap;

use colony_core::margo::description::Element;
use colony_core::margo::{ApplicationDeployment, ApplicationDescription, Json};
use colony_core::plan;

/// The values a deployment keeps.
///
/// A value that equals the default of the version before was not chosen
/// explicitly, so the next version's default takes its place.
pub(super) fn kept_values(
    description: &ApplicationDescription,
    before: Option<&ApplicationDescription>,
    deployed: &ApplicationDeployment,
) -> BTreeMap<String, Json> {
    let reference = before.unwrap_or(description);
    let default = |name: &str| reference.parameters.get(name).and_then(|it| it.value.as_ref());
    let mut values = known_values(description, &plan::values(Some(deployed)));
    values.retain(|name, value| default(name) != Some(value));
    values
}

/// The values of parameters that the application has.
pub(super) fn known_values(
    description: &ApplicationDescription,
    values: &BTreeMap<String, Json>,
) -> BTreeMap<String, Json> {
    let known = values.iter().filter(|it| description.parameters.contains_key(it.0));
    known.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The values, overridden by those of the request. An unknown parameter is
/// kept, so that the validation refuses it.
pub(super) fn merged(
    description: &ApplicationDescription,
    mut values: BTreeMap<String, Json>,
    asked: &BTreeMap<String, Json>,
) -> BTreeMap<String, Json> {
    for (name, value) in asked {
        match value.is_null() {
            true => values.remove(name),
            false => values.insert(name.clone(), typed(description, name, value)),
        };
    }
    values
}

/// Parses a text as the type of the schema or of the default; a text that
/// cannot be parsed stays a text, so that the schema refuses it.
fn typed(description: &ApplicationDescription, name: &str, value: &Json) -> Json {
    let Json::String(text) = value else { return value.clone() };
    let kind = description.schemas(name).next().map(|it| it.data_type);
    let default = description.parameters.get(name).and_then(|it| it.value.as_ref());
    match kind {
        Some(kind) if kind.array => {
            let items = text.split(',').map(|it| element(kind.element, it.trim()));
            Json::Array(items.collect())
        }
        Some(kind) => element(kind.element, text),
        None => match default {
            Some(Json::Number(_)) => element(Element::Double, text),
            Some(Json::Bool(_)) => element(Element::Boolean, text),
            Some(Json::Null | Json::String(_) | Json::Array(_) | Json::Object(_)) | None => {
                value.clone()
            }
        },
    }
}

fn element(kind: Element, text: &str) -> Json {
    let read = match kind {
        Element::String => None,
        Element::Integer => text.parse::<i64>().ok().map(Json::from),
        Element::Double => text
            .parse::<i64>()
            .ok()
            .map(Json::from)
            .or_else(|| text.parse::<f64>().ok().map(Json::from)),
        Element::Boolean => text.parse::<bool>().ok().map(Json::from),
    };
    read.unwrap_or_else(|| Json::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_is_read_as_the_type_the_schema_wants() {
        check("port", json!("8080"), json!(8080));
        check("port", json!("many"), json!("many"));
        check("debug", json!("true"), json!(true));
        check("name", json!("7"), json!("7"));
        check("tags", json!("a, b"), json!(["a", "b"]));
        check("port", json!(9), json!(9));
    }

    #[track_caller]
    fn check(name: &str, asked: Json, expected: Json) {
        let description = ApplicationDescription::parse(TEXT.as_bytes()).expect("valid").value;
        let asked = BTreeMap::from([(name.to_owned(), asked)]);
        assert_eq!(merged(&description, BTreeMap::new(), &asked).get(name), Some(&expected));
    }

    const TEXT: &str = "
apiVersion: v1
id: pump
metadata:
  name: Pump
  version: '1.0'
  catalog: {organization: [{name: Example}]}
deploymentProfiles:
  - id: compose
    type: compose
    components: [{name: web, properties: {repository: 'oci://r.test/p', revision: '1.0.0'}}]
parameters:
  port: {value: 80, targets: [{pointer: PORT, components: [web]}]}
  debug: {value: false, targets: [{pointer: DEBUG, components: [web]}]}
  name: {value: x, targets: [{pointer: NAME, components: [web]}]}
  tags: {value: [x], targets: [{pointer: TAGS, components: [web]}]}
configuration:
  sections:
    - name: All
      settings:
        - {parameter: port, name: Port, schema: port}
        - {parameter: name, name: Name, schema: text}
        - {parameter: tags, name: Tags, schema: texts}
  schema:
    - {name: port, dataType: integer, minValue: 1, maxValue: 65535}
    - {name: text, dataType: string}
    - {name: texts, dataType: 'array[string]'}
";
}
