//! The values of a chart: parameters at the places their targets name.

use serde_json::{Map, Value, json};

/// The longest list that an index may create.
const INDEX_LIMIT: usize = 1_000;

/// Values from pointers and what they are set to; a later pointer wins. An
/// error names the pointer and what is wrong with it.
pub(super) fn values<'a>(
    parameters: impl IntoIterator<Item = (&'a str, &'a Value)>,
) -> Result<Value, String> {
    let mut root = json!({});
    for (pointer, value) in parameters {
        let steps = steps(pointer).map_err(|it| format!("the pointer `{pointer}` {it}"))?;
        let place = place(&mut root, &steps)
            .map_err(|it| format!("the pointer `{pointer}` goes through {it}"))?;
        *place = value.clone();
    }
    Ok(root)
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// Reads `a.b[0].c`, where `\.` is a dot within a name, as `helm --set` does.
fn steps(pointer: &str) -> Result<Vec<Step>, String> {
    let (mut steps, mut name) = (Vec::new(), String::new());
    let mut rest = pointer.chars();
    let mut after_index = false;
    while let Some(it) = rest.next() {
        match it {
            '\\' => name.push(rest.next().ok_or("ends with a backslash")?),
            '.' if after_index && name.is_empty() => after_index = false,
            '.' | '[' => {
                if !(name.is_empty() && after_index) {
                    if name.is_empty() {
                        return Err("has an empty name".to_owned());
                    }
                    steps.push(Step::Key(std::mem::take(&mut name)));
                }
                after_index = false;
                if it == '[' {
                    let digits: String = rest.by_ref().take_while(|it| *it != ']').collect();
                    let index = digits.parse().ok().filter(|it| *it < INDEX_LIMIT);
                    let index = index.ok_or_else(|| format!("has no index `{digits}`"))?;
                    steps.push(Step::Index(index));
                    after_index = true;
                }
            }
            other if after_index => return Err(format!("has `{other}` after an index")),
            other => name.push(other),
        }
    }
    match (name.is_empty(), after_index) {
        (false, _) => steps.push(Step::Key(name)),
        (true, true) => {}
        (true, false) => return Err("has an empty name".to_owned()),
    }
    Ok(steps)
}

/// The place of `steps`, created where it is missing; or the one that is
/// neither a mapping nor a list, though a step goes through it.
fn place<'a>(root: &'a mut Value, steps: &[Step]) -> Result<&'a mut Value, String> {
    let mut at = root;
    for step in steps {
        at = match step {
            Step::Key(key) => {
                if at.is_null() {
                    *at = Value::Object(Map::new());
                }
                let kind = kind(at);
                let map = at.as_object_mut().ok_or_else(|| format!("{kind} at `{key}`"))?;
                map.entry(key.clone()).or_insert(Value::Null)
            }
            Step::Index(index) => {
                if at.is_null() {
                    *at = Value::Array(Vec::new());
                }
                let kind = kind(at);
                let list = at.as_array_mut().ok_or_else(|| format!("{kind} at [{index}]"))?;
                if list.len() <= *index {
                    list.resize(index + 1, Value::Null);
                }
                &mut list[*index]
            }
        };
    }
    Ok(at)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) | Value::Number(_) | Value::String(_) => "a single value",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_reach_the_places_their_pointers_name() {
        check(&[("a.b", "1"), ("a.c", "2")], r#"{"a":{"b":"1","c":"2"}}"#);
        check(&[("hosts[1].name", "x")], r#"{"hosts":[null,{"name":"x"}]}"#);
        check(&[("m[0][1]", "x")], r#"{"m":[[null,"x"]]}"#);
        check(
            &[(r"nodeSelector.kubernetes\.io/os", "linux")],
            r#"{"nodeSelector":{"kubernetes.io/os":"linux"}}"#,
        );
        check(&[("a", "1"), ("a", "2")], r#"{"a":"2"}"#);
    }

    #[test]
    fn pointers_that_lead_nowhere_are_named() {
        check(&[("a", "1"), ("a.b", "2")], "the pointer `a.b` goes through a single value at `b`");
        check(&[("a.b", "1"), ("a[0]", "2")], "the pointer `a[0]` goes through a mapping at [0]");
        check(&[("a..b", "1")], "the pointer `a..b` has an empty name");
        check(&[("", "1")], "the pointer `` has an empty name");
        check(&[("a[x]", "1")], "the pointer `a[x]` has no index `x`");
        check(&[("a[0]b", "1")], "the pointer `a[0]b` has `b` after an index");
        check(&[("a[1000]", "1")], "the pointer `a[1000]` has no index `1000`");
        check(&[("a\\", "1")], "the pointer `a\\` ends with a backslash");
    }

    #[track_caller]
    fn check(parameters: &[(&str, &str)], expected: &str) {
        let all: Vec<(&str, Value)> = parameters.iter().map(|it| (it.0, json!(it.1))).collect();
        let found = match values(all.iter().map(|it| (it.0, &it.1))) {
            Ok(values) => values.to_string(),
            Err(error) => error,
        };
        assert_eq!(found, expected);
    }
}
