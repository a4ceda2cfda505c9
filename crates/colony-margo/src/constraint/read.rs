//! Reads constraints and checks that each operator has its operands.

use super::{Capacity, Cpu, DeviceConstraints, Expression, Operator, Rule, Selector};
use crate::Json;
use crate::value::quantity::Cores;
use crate::yaml::Cursor;

const ARCHITECTURES: [&str; 5] = ["amd64", "arm64", "arm", "riscv64", "other"];

/// The kind of keys in a selector.
#[derive(Clone, Copy, PartialEq)]
enum Keys {
    Pointers,
    Labels,
}

impl DeviceConstraints {
    /// Reads the constraints of a profile.
    pub fn read(cursor: &Cursor<'_>) -> Option<DeviceConstraints> {
        cursor.unknown_keys(&["capacityRequirements", "eligibilityRules"]);
        let capacity = cursor.field("capacityRequirements").map(|it| Capacity::read(&it));
        let rules = cursor.field("eligibilityRules").and_then(|it| it.each(Rule::read));
        let rules = rules.unwrap_or_default();
        Some(DeviceConstraints { capacity, rules, written: cursor.json() })
    }
}

impl Capacity {
    fn read(cursor: &Cursor<'_>) -> Capacity {
        cursor.unknown_keys(&["cpu", "memory", "storage"]);
        let cpu = cursor.field("cpu").and_then(|it| Cpu::read(&it));
        let memory = cursor.field("memory").and_then(|it| it.text());
        let storage = cursor.field("storage").and_then(|it| it.text());
        Capacity { cpu, memory, storage }
    }
}

impl Cpu {
    fn read(cursor: &Cursor<'_>) -> Option<Cpu> {
        cursor.unknown_keys(&["cores", "architectures"]);
        let cores = cursor.required("cores").and_then(|it| cores(&it));
        let architectures = cursor
            .field("architectures")
            .and_then(|it| it.each(|item| item.one_of(&ARCHITECTURES).map(str::to_owned)));
        Some(Cpu { cores: cores?, architectures: architectures.unwrap_or_default() })
    }
}

/// Reads a number of processor cores.
pub(crate) fn cores(cursor: &Cursor<'_>) -> Option<Cores> {
    let cores = cursor.number()?.as_f64().and_then(Cores::new);
    cores.or_else(|| cursor.mismatch("a number of cores such as `2` or `0.5`"))
}

impl Rule {
    fn read(cursor: &Cursor<'_>) -> Option<Rule> {
        cursor.unknown_keys(&["propertySelector", "labelSelector"]);
        let selector = |name, keys| cursor.field(name).and_then(|it| Selector::read(&it, keys));
        let properties = selector("propertySelector", Keys::Pointers);
        let labels = selector("labelSelector", Keys::Labels);
        Some(Rule { properties, labels })
    }
}

impl Selector {
    fn read(cursor: &Cursor<'_>, keys: Keys) -> Option<Selector> {
        cursor.unknown_keys(&["matchExpressions"]);
        let expressions = cursor.required("matchExpressions")?;
        let expressions = expressions.some_each(|it| Expression::read(it, keys))?;
        Some(Selector { expressions })
    }
}

impl Expression {
    fn read(cursor: &Cursor<'_>, keys: Keys) -> Option<Expression> {
        cursor.unknown_keys(&["key", "operator", "values", "itemSelector"]);
        let key = cursor.required("key").and_then(|it| read_key(&it, keys));
        let operator = cursor.required("operator").and_then(|it| read_operator(&it));
        let items = cursor.field("itemSelector");
        let items = items.and_then(|it| Selector::read(&it, Keys::Pointers));
        let values = cursor.field("values").and_then(|it| it.each(|item| Some(item.json())));
        let operator = operator?;
        let values = values.unwrap_or_default();
        check_values(cursor, operator, &values);
        check_items(cursor, operator);
        Some(Expression { key: key?, operator, values, items })
    }
}

fn read_key(cursor: &Cursor<'_>, keys: Keys) -> Option<String> {
    let key = cursor.string()?;
    if keys == Keys::Pointers && !is_pointer(&key) {
        let expected = "a JSON Pointer such as `/peripherals` or `/cpus/0/cores`";
        cursor.error(format!("`{key}` is not a JSON Pointer"), expected);
        return None;
    }
    Some(key)
}

/// A pointer is empty or starts with a slash, and `~` is only followed by 0 or
/// 1.
fn is_pointer(key: &str) -> bool {
    let escapes = key.split('~').skip(1).all(|it| it.starts_with(['0', '1']));
    escapes && (key.is_empty() || key.starts_with('/'))
}

fn read_operator(cursor: &Cursor<'_>) -> Option<Operator> {
    cursor.one_of(&Operator::NAMES.map(|it| it.0)).and_then(Operator::from_name)
}

fn check_values(cursor: &Cursor<'_>, operator: Operator, values: &[Json]) {
    let place = cursor.field("values").unwrap_or_else(|| cursor.clone());
    match operator {
        Operator::In | Operator::NotIn => check_alternatives(&place, values),
        Operator::Gt | Operator::Lt => {
            if !matches!(values, [Json::Number(_)]) {
                place.error(
                    format!("`{operator:?}` has no single number"),
                    "`values` with one number",
                );
            }
        }
        Operator::Exists
        | Operator::DoesNotExist
        | Operator::ContainsAll
        | Operator::ContainsAny => {
            if !values.is_empty() {
                place.error(format!("`{operator:?}` takes no values"), "no `values`");
            }
        }
    }
}

fn check_alternatives(place: &Cursor<'_>, values: &[Json]) {
    let kinds: Vec<&str> = values.iter().map(kind).collect();
    if values.is_empty() {
        place.error("there is nothing to compare with", "`values` with at least one value");
    } else if kinds.contains(&"other") {
        place.error("a value cannot be compared", "texts, numbers or booleans");
    } else if kinds.iter().any(|it| *it != kinds[0]) {
        place.error("values are of different types", "values of one type");
    }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::String(_) => "text",
        Json::Number(_) => "number",
        Json::Bool(_) => "boolean",
        Json::Null | Json::Array(_) | Json::Object(_) => "other",
    }
}

fn check_items(cursor: &Cursor<'_>, operator: Operator) {
    let contains = matches!(operator, Operator::ContainsAll | Operator::ContainsAny);
    match (contains, cursor.field("itemSelector")) {
        (true, None) => {
            cursor.error(format!("`{operator:?}` has no `itemSelector`"), "`itemSelector`");
        }
        (false, Some(place)) => {
            place.error(format!("`{operator:?}` takes no item selector"), "`values` only");
        }
        (true, Some(_)) | (false, None) => {}
    }
}
