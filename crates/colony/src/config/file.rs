//! The TOML file: tables of settings; unknown names are errors.

use anyhow::bail;
use toml::Value;

use super::keys::{self, KEYS};

/// The settings of a file, or its first error.
pub(crate) fn read(text: &str) -> anyhow::Result<Vec<(&'static str, String)>> {
    let table: toml::Table = text.parse()?;
    let mut found = Vec::new();
    for (name, value) in &table {
        match value {
            Value::Table(inner) => {
                for (key, value) in inner {
                    found.push(entry(text, &format!("{name}.{key}"), value)?);
                }
            }
            Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_)
            | Value::Array(_) => found.push(entry(text, name, value)?),
        }
    }
    Ok(found)
}

fn entry(text: &str, name: &str, value: &Value) -> anyhow::Result<(&'static str, String)> {
    let line = line_of(text, name);
    let Some(key) = keys::find(name) else {
        bail!("line {line}: there is no setting `{name}`{}", guess(name));
    };
    let Some(value) = plain(value) else {
        bail!("line {line}: `{name}` is a text, a number, a boolean or a list of texts");
    };
    Ok((key.name, value))
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(flag) => Some(flag.to_string()),
        Value::Array(items) => {
            let items: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            Some(items?.join(","))
        }
        Value::Datetime(_) | Value::Table(_) => None,
    }
}

/// The line where the last part of the name is set, inside its table.
fn line_of(text: &str, name: &str) -> usize {
    let (table, key) = name.split_once('.').unwrap_or(("", name));
    let mut inside = table.is_empty();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            inside = line.trim_matches(['[', ']']).trim() == table;
        } else if inside && line.split('=').next().is_some_and(|it| it.trim() == key) {
            return number + 1;
        }
    }
    1
}

fn guess(name: &str) -> String {
    let close = KEYS.iter().map(|it| (distance(it.name, name), it.name)).min();
    match close {
        Some((far, near)) if far <= 3 => format!("; did you mean `{near}`?"),
        _ => "; `colony config show` lists them all".to_owned(),
    }
}

/// The edit distance between two names.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.chars().enumerate() {
            let here = row[j + 1];
            row[j + 1] = (before + usize::from(x != y)).min(row[j] + 1).min(here + 1);
            before = here;
        }
    }
    row[row.len() - 1]
}
