//! Views without control characters, for terminals.
//!
//! Views are cleaned before they are rendered, so that a rendering may use
//! colours and no text of a site or node can add a line to a table.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::terminal::{printable, printable_line};

/// Fields that are texts of several lines.
const LINES: &[&str] = &["description", "diff", "how"];

/// The view without control characters.
pub(super) fn view<T: Serialize + DeserializeOwned>(view: &T) -> anyhow::Result<T> {
    Ok(serde_json::from_value(clean(serde_json::to_value(view)?, printable_line))?)
}

fn clean(value: Value, text: fn(&str) -> String) -> Value {
    match value {
        Value::String(it) => Value::String(text(&it)),
        Value::Array(items) => items.into_iter().map(|it| clean(it, text)).collect(),
        Value::Object(fields) => {
            let field = |(key, value): (String, Value)| {
                let text = if LINES.contains(&key.as_str()) { printable } else { printable_line };
                (printable_line(&key), clean(value, text))
            };
            fields.into_iter().map(field).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}
