//! Prepares the tree of a file for reading: merge keys and variables.
//!
//! The YAML reader has expanded aliases within its limits already. Merging
//! moves nodes and never copies one twice, so it adds nothing to them.

use std::collections::BTreeSet;

use colony_core::margo::yaml::{Cursor, Key, Node, Value};

use super::interpolate::Variables;

/// A file without its own `x-` keys, which mostly hold what anchors repeat.
pub(crate) fn without_extensions(node: Node) -> Node {
    match node.value {
        Value::Map(mut entries) => {
            entries.retain(|it| !it.0.text.starts_with("x-"));
            Node { value: Value::Map(entries), ..node }
        }
        Value::Null | Value::Scalar { .. } | Value::Seq(_) => node,
    }
}

/// The same tree with merge keys merged and variables replaced in all values.
pub(crate) fn resolve(cursor: &Cursor<'_>, variables: &Variables<'_>) -> Node {
    let node = cursor.node();
    let value = match &node.value {
        Value::Null => Value::Null,
        Value::Scalar { text, style } => {
            Value::Scalar { text: expand(cursor, text, variables), style: *style }
        }
        Value::Seq(_) => {
            let items = cursor.items().unwrap_or_default();
            Value::Seq(items.iter().map(|it| resolve(it, variables)).collect())
        }
        Value::Map(entries) => {
            let values = cursor.entries().unwrap_or_default();
            let resolved = values.iter().map(|it| resolve(&it.value, variables));
            let keys = entries.iter().map(|it| it.0.clone());
            Value::Map(merge(cursor, keys.zip(resolved).collect()))
        }
    };
    Node { value, ..*node }
}

fn expand(cursor: &Cursor<'_>, text: &str, variables: &Variables<'_>) -> String {
    let expanded = variables.expand(text);
    for name in variables.take_unset().into_iter().filter(|_| expanded.is_ok()) {
        cursor.warning(
            format!("parameter `{name}` is not set and becomes an empty text"),
            format!("a value for it, or a default such as `${{{name}:-default}}`"),
        );
    }
    expanded.unwrap_or_else(|flaw| {
        cursor.error(flaw.problem, flaw.expected);
        text.to_owned()
    })
}

/// Adds the entries under `<<` to the others, which take precedence.
fn merge(cursor: &Cursor<'_>, entries: Vec<(Key, Node)>) -> Vec<(Key, Node)> {
    let (merged, mut own): (Vec<_>, Vec<_>) = entries.into_iter().partition(|it| it.0.text == "<<");
    let sources = merged.into_iter().flat_map(|(_, node)| match node.value {
        Value::Seq(items) => items,
        Value::Map(_) | Value::Null | Value::Scalar { .. } => vec![node],
    });
    let mut seen: BTreeSet<String> = own.iter().map(|it| it.0.text.clone()).collect();
    for source in sources {
        let Value::Map(entries) = source.value else {
            cursor.error("`<<` merges something that is not a mapping", "an alias of a mapping");
            continue;
        };
        own.extend(entries.into_iter().filter(|it| seen.insert(it.0.text.clone())));
    }
    own
}
