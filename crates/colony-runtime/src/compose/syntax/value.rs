//! Scalars and small collections as Compose writes them.
//!
//! A quoted scalar is as good as a plain one, because a value may have come
//! from a variable: `"${DEBUG}"` is a boolean where one is expected.

use std::collections::BTreeMap;

use colony_core::margo::yaml::{Cursor, Value};

use super::words;

/// The value under a key that may be absent, read with `read`.
pub(crate) fn take<'a, T>(
    cursor: &Cursor<'a>,
    key: &str,
    read: impl FnOnce(&Cursor<'a>) -> Option<T>,
) -> Option<T> {
    cursor.field(key).and_then(|it| read(&it))
}

/// A text with at least one character.
pub(crate) fn text(cursor: &Cursor<'_>) -> Option<String> {
    let text = cursor.some_string()?;
    if text.contains('\0') {
        return cursor.mismatch("a text without NUL");
    }
    Some(text)
}

pub(crate) fn flag(cursor: &Cursor<'_>) -> Option<bool> {
    match cursor.string()?.as_str() {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => cursor.mismatch("`true` or `false`"),
    }
}

pub(crate) fn integer(cursor: &Cursor<'_>) -> Option<i64> {
    cursor.string()?.parse().ok().or_else(|| cursor.mismatch("an integer"))
}

/// A number above zero, such as `0.5`.
pub(crate) fn decimal(cursor: &Cursor<'_>) -> Option<f64> {
    let number = cursor.string()?.parse().ok().filter(|it: &f64| it.is_finite() && *it > 0.0);
    number.or_else(|| cursor.mismatch("a number above zero"))
}

/// A size in bytes, such as `64m`, `1gb` or `512`.
pub(crate) fn size(cursor: &Cursor<'_>) -> Option<u64> {
    bytes(&cursor.string()?).or_else(|| cursor.mismatch("a size such as `64m` or `1gb`"))
}

fn bytes(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let end = lower.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(lower.len());
    let (number, unit) = lower.split_at(end);
    let unit = unit.trim();
    let power = match unit.strip_suffix("ib").or(unit.strip_suffix('b')).unwrap_or(unit) {
        "" if !unit.starts_with('i') => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(1 << power);
    }
    let bytes = number.parse::<f64>().ok()? * (1u64 << power) as f64;
    (bytes < 9e18).then_some(bytes as u64)
}

/// A port, 1 to 65535.
pub(crate) fn port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|it| *it > 0)
}

/// An absolute path in a container.
pub(crate) fn path(cursor: &Cursor<'_>) -> Option<String> {
    absolute(&text(cursor)?).or_else(|| cursor.mismatch("an absolute path without `..` and `:`"))
}

/// A path without `..`, and without a colon, which is part of the engine's own
/// syntax.
pub(crate) fn absolute(text: &str) -> Option<String> {
    let straight = text.starts_with('/') && !text.split('/').any(|it| it == "..");
    (straight && !text.contains([':', '\0'])).then(|| text.to_owned())
}

/// Octal with a leading zero, so that `440` cannot be misread as decimal.
pub(crate) fn mode(cursor: &Cursor<'_>) -> Option<u32> {
    let text = cursor.string()?;
    let octal = text.strip_prefix("0o").or(text.strip_prefix('0'));
    let mode = octal.and_then(|it| u32::from_str_radix(it, 8).ok()).filter(|it| *it <= 0o777);
    mode.or_else(|| cursor.mismatch("permissions in octal such as `0440`"))
}

/// A list of texts.
pub(crate) fn texts(cursor: &Cursor<'_>) -> Option<Vec<String>> {
    cursor.each(text)
}

/// One text or a list of them.
pub(crate) fn some_texts(cursor: &Cursor<'_>) -> Option<Vec<String>> {
    match &cursor.node().value {
        Value::Scalar { .. } => text(cursor).map(|it| vec![it]),
        Value::Null | Value::Seq(_) | Value::Map(_) => texts(cursor),
    }
}

/// A command: a text that is split as a shell does, or a list of words.
pub(crate) fn command(cursor: &Cursor<'_>) -> Option<Vec<String>> {
    let Value::Scalar { .. } = &cursor.node().value else {
        return cursor.each(|it| it.string());
    };
    match words::split(&cursor.string()?) {
        Ok(words) => Some(words),
        Err((problem, expected)) => {
            cursor.error(problem, expected);
            None
        }
    }
}

/// A mapping, or a list of `name=value`; a name can stand without a value.
pub(crate) fn pairs(cursor: &Cursor<'_>) -> Option<BTreeMap<String, Option<String>>> {
    match &cursor.node().value {
        Value::Seq(_) => {
            let pairs = cursor.each(|it| {
                let text = it.string()?;
                let (name, value) = match text.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (text.as_str(), None),
                };
                named(it, name).map(|name| (name, value))
            });
            pairs.map(|it| it.into_iter().collect())
        }
        Value::Map(_) => {
            let pairs = cursor.entries()?.into_iter().map(|it| {
                let value = match &it.value.node().value {
                    Value::Null => None,
                    Value::Scalar { .. } | Value::Seq(_) | Value::Map(_) => {
                        Some(it.value.string()?)
                    }
                };
                named(&it.value, it.key).map(|name| (name, value))
            });
            pairs.collect()
        }
        Value::Null | Value::Scalar { .. } => {
            cursor.mismatch("a mapping, or a list of `name=value`")
        }
    }
}

fn named(cursor: &Cursor<'_>, name: &str) -> Option<String> {
    if name.trim().is_empty() || name.contains(['=', '\0']) {
        cursor.error("has no usable name", "`name=value`");
        return None;
    }
    Some(name.to_owned())
}

/// Like `pairs`, where a name without a value has an empty one.
pub(crate) fn texts_by_name(cursor: &Cursor<'_>) -> Option<BTreeMap<String, String>> {
    let pairs = pairs(cursor)?;
    Some(pairs.into_iter().map(|(name, value)| (name, value.unwrap_or_default())).collect())
}

/// Labels, whose names may not be colony's.
pub(crate) fn labels(cursor: &Cursor<'_>) -> Option<BTreeMap<String, String>> {
    let labels = texts_by_name(cursor)?;
    if let Some(name) = labels.keys().find(|it| it.starts_with("colony.")) {
        cursor.error(format!("label `{name}` is colony's own"), "another name");
    }
    Some(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units() {
        let mib = 1 << 20;
        for (text, expected) in [
            ("64m", Some(64 * mib)),
            ("64MB", Some(64 * mib)),
            ("64 MiB", Some(64 * mib)),
            ("1gb", Some(1024 * mib)),
            ("1.5g", Some(1536 * mib)),
            ("512", Some(512)),
            ("512b", Some(512)),
            ("2k", Some(2048)),
            ("", None),
            ("m", None),
            ("ib", None),
            ("12ib", None),
            ("-1m", None),
            ("1x", None),
            ("1.2.3m", None),
            ("99999999999t", None),
            ("99999999999.5t", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }
}
