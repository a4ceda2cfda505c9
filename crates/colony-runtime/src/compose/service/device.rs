//! Devices of the host.

use colony_core::margo::yaml::{Cursor, Value};

use crate::compose::keys::{self, KeySection};
use crate::compose::syntax::value::{self, take};

/// The permissions without any being named.
const ALL: &str = "rwm";
const SHORT: &str = "`/dev/host[:/dev/container[:rwm]]`";

/// Each in its short form.
pub(super) fn read(cursor: &Cursor<'_>) -> Option<Vec<String>> {
    cursor.each(|it| match &it.node().value {
        Value::Map(_) => long(it),
        Value::Null | Value::Scalar { .. } | Value::Seq(_) => short(it),
    })
}

fn short(cursor: &Cursor<'_>) -> Option<String> {
    let text = value::text(cursor)?;
    let parts: Vec<&str> = text.split(':').collect();
    let is_path = |it: &str| value::absolute(it).is_some();
    let usable = match parts[..] {
        [host] => is_path(host),
        [host, inner] => is_path(host) && is_path(inner),
        [host, inner, rights] => is_path(host) && is_path(inner) && are_rights(rights),
        _ => false,
    };
    if usable { Some(text) } else { cursor.mismatch(SHORT) }
}

fn long(cursor: &Cursor<'_>) -> Option<String> {
    keys::check(cursor, KeySection::Device);
    let source = cursor.required("source").and_then(|it| value::path(&it));
    let target = take(cursor, "target", value::path);
    let rights = take(cursor, "permissions", |it| {
        let text = it.string()?;
        if are_rights(&text) { Some(text) } else { it.mismatch("letters of `rwm`") }
    });
    let source = source?;
    let target = target.unwrap_or_else(|| source.clone());
    Some(match rights.filter(|it| it != ALL) {
        Some(rights) => format!("{source}:{target}:{rights}"),
        None if target == source => source,
        None => format!("{source}:{target}"),
    })
}

fn are_rights(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| "rwm".contains(c))
}
