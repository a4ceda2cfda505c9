//! The environment of a service: files, then `environment`, then parameters.

use std::collections::BTreeMap;

use colony_core::margo::yaml::{Cursor, Value};

use super::env_file::{self, Format};
use crate::compose::archive::Lost;
use crate::compose::file::Scope;
use crate::compose::keys::{self, KeySection};
use crate::compose::syntax::value::{self, take};

/// How many files one service may name, and bytes of each.
const FILES: usize = 16;
const FILE: usize = 64 << 10;

/// The environment; a parameter takes precedence over the file, because the
/// deployment sets it.
pub(super) fn read(service: &Cursor<'_>, scope: &Scope<'_>) -> BTreeMap<String, String> {
    let mut environment = take(service, "env_file", |it| files(it, scope)).unwrap_or_default();
    let own = take(service, "environment", value::pairs).unwrap_or_default();
    for (name, value) in own {
        match value {
            Some(value) => _ = environment.insert(name, value),
            None => _ = environment.remove(&name),
        }
    }
    let parameters = scope.parameters.iter().map(|(name, value)| (name.clone(), value.clone()));
    environment.extend(parameters);
    environment
}

fn files(cursor: &Cursor<'_>, scope: &Scope<'_>) -> Option<BTreeMap<String, String>> {
    let files = match &cursor.node().value {
        Value::Seq(_) => cursor.items()?,
        Value::Null | Value::Scalar { .. } | Value::Map(_) => vec![cursor.clone()],
    };
    if files.len() > FILES {
        return cursor.mismatch(&format!("at most {FILES} files"));
    }
    let read = files.iter().map(|it| file(it, scope));
    let all: Vec<BTreeMap<String, String>> = read.map(Option::unwrap_or_default).collect();
    Some(all.into_iter().flatten().collect())
}

fn file(cursor: &Cursor<'_>, scope: &Scope<'_>) -> Option<BTreeMap<String, String>> {
    let Value::Map(_) = &cursor.node().value else {
        return load(cursor, true, Format::Usual, scope);
    };
    keys::check(cursor, KeySection::EnvFile);
    let required = take(cursor, "required", value::flag).unwrap_or(true);
    let format = take(cursor, "format", |it| it.one_of(&["raw"]));
    let format = format.map_or(Format::Usual, |_| Format::Raw);
    cursor.required("path").and_then(|it| load(&it, required, format, scope))
}

fn load(
    cursor: &Cursor<'_>,
    required: bool,
    format: Format,
    scope: &Scope<'_>,
) -> Option<BTreeMap<String, String>> {
    let reference = value::text(cursor)?;
    let (path, bytes) = match scope.archive.find(&reference) {
        Ok(found) => found,
        Err(Lost::Missing) if !required => return Some(BTreeMap::new()),
        Err(lost) => return lost.report(cursor, &reference),
    };
    let Some(text) = std::str::from_utf8(bytes).ok().filter(|it| it.len() <= FILE) else {
        cursor.error(
            format!("`{path}` is not a small text file"),
            format!("UTF-8 of at most {FILE} bytes"),
        );
        return None;
    };
    match env_file::parse(text, format, scope.variables) {
        Ok(found) => {
            scope.elsewhere.extend(found.warnings.into_iter().map(|it| it.in_file(&path)));
            Some(found.value)
        }
        Err(findings) => {
            scope.elsewhere.extend(findings.into_iter().map(|it| it.in_file(&path)));
            None
        }
    }
}
