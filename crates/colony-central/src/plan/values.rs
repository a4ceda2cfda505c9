//! The parameters of a deployment: what it has, what was asked, what changes.

use std::collections::BTreeMap;

use colony_api::view::ParameterChange;
use colony_margo::description::Element;
use colony_margo::{ApplicationDeployment, ApplicationDescription, Json};

/// The values that differ from the defaults, with what was asked on top.
///
/// A value that equals the default of the version before was nobody's choice,
/// so the next version's default takes its place. A parameter the application
/// no longer has is let go; one that somebody names stays, to be refused.
pub(super) fn merged(
    description: &ApplicationDescription,
    before: Option<&ApplicationDescription>,
    deployed: Option<&ApplicationDeployment>,
    asked: &BTreeMap<String, Json>,
) -> BTreeMap<String, Json> {
    let reference = before.unwrap_or(description);
    let default = |name: &str| reference.parameters.get(name).and_then(|it| it.value.as_ref());
    let mut values = values_of(deployed);
    values.retain(|name, value| {
        description.parameters.contains_key(name) && default(name) != Some(value)
    });
    for (name, value) in asked {
        match value.is_null() {
            true => values.remove(name),
            false => values.insert(name.clone(), typed(description, name, value)),
        };
    }
    values
}

/// All values of a deployment, defaults too.
pub(super) fn values_of(deployed: Option<&ApplicationDeployment>) -> BTreeMap<String, Json> {
    let parameters = deployed.into_iter().flat_map(|it| &it.spec.parameters);
    parameters.filter_map(|(name, it)| Some((name.clone(), it.value.clone()?))).collect()
}

/// What another set of values changes.
pub(super) fn changes(
    before: &BTreeMap<String, Json>,
    after: &BTreeMap<String, Json>,
) -> Vec<ParameterChange> {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    let differs = names.into_iter().filter(|it| before.get(*it) != after.get(*it));
    let change = |name: &String| ParameterChange {
        name: name.clone(),
        from: before.get(name).cloned(),
        to: after.get(name).cloned(),
    };
    differs.map(change).collect()
}

/// Reads a text as the type the schema or the default has; what cannot be read
/// stays a text, for the schema to refuse.
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
        assert_eq!(merged(&description, None, None, &asked).get(name), Some(&expected));
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
