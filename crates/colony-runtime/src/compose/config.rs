//! Configs and secrets: small files that come with a package.
//!
//! Both are mounted in the same way; they differ in their usual folder.

use colony_core::margo::yaml::{Cursor, Value};

use super::file::{Names, Scope};
use super::keys::{self, KeySection};
use super::project::{ConfigFile, ConfigMount};
use crate::compose::syntax::value::{self, take};

const MODE: u32 = 0o444;

/// The folder of secrets in a container.
const SECRETS: &str = "/run/secrets";

pub(super) fn config(cursor: &Cursor<'_>, scope: &Scope<'_>) -> Option<ConfigFile> {
    keys::check(cursor, KeySection::Config);
    let sources = ["file", "content", "environment"];
    read(cursor, scope, &sources, "exactly one of `file`, `content` and `environment`")
}

pub(super) fn secret(cursor: &Cursor<'_>, scope: &Scope<'_>) -> Option<ConfigFile> {
    keys::check(cursor, KeySection::Secret);
    read(cursor, scope, &["file", "environment"], "exactly one of `file` and `environment`")
}

fn read(
    cursor: &Cursor<'_>,
    scope: &Scope<'_>,
    sources: &[&str],
    expected: &str,
) -> Option<ConfigFile> {
    let given: Vec<&str> =
        sources.iter().copied().filter(|it| cursor.node().get(it).is_some()).collect();
    let [source] = given[..] else { return cursor.mismatch(expected) };
    let value = cursor.required(source)?;
    let content = match source {
        "file" => file(&value, scope)?,
        "content" => value.string()?.into_bytes(),
        _ => parameter(&value, scope)?,
    };
    Some(ConfigFile { content })
}

fn file(cursor: &Cursor<'_>, scope: &Scope<'_>) -> Option<Vec<u8>> {
    let path = value::text(cursor)?;
    match scope.archive.find(&path) {
        Ok((_, bytes)) => Some(bytes.to_vec()),
        Err(lost) => lost.report(cursor, &path),
    }
}

fn parameter(cursor: &Cursor<'_>, scope: &Scope<'_>) -> Option<Vec<u8>> {
    let name = value::text(cursor)?;
    let value = scope.parameters.get(&name);
    if value.is_none() {
        cursor.error(format!("parameter `{name}` is not set"), "a value for it in the deployment");
    }
    value.map(|it| it.clone().into_bytes())
}

/// A config as a service uses it.
pub(super) fn mount(cursor: &Cursor<'_>, scope: &Scope<'_>) -> Option<ConfigMount> {
    let (config, target, mode) =
        source(cursor, &scope.configs, KeySection::ConfigMount, value::path)?;
    Some(ConfigMount { target: target.unwrap_or_else(|| format!("/{config}")), config, mode })
}

/// A secret as a service uses it.
pub(super) fn secret_mount(cursor: &Cursor<'_>, scope: &Scope<'_>) -> Option<ConfigMount> {
    let (config, target, mode) =
        source(cursor, &scope.secrets, KeySection::SecretMount, secret_target)?;
    let target = target.unwrap_or_else(|| format!("{SECRETS}/{config}"));
    Some(ConfigMount { target, config, mode })
}

/// A name below the usual folder, or a path of its own.
fn secret_target(cursor: &Cursor<'_>) -> Option<String> {
    let text = value::text(cursor)?;
    let path = if text.starts_with('/') { text } else { format!("{SECRETS}/{text}") };
    value::absolute(&path)
        .or_else(|| cursor.mismatch("a file name, or an absolute path without `..` and `:`"))
}

/// The name that is mounted, its target if there is one, and its mode.
fn source<'a>(
    cursor: &Cursor<'a>,
    names: &Names,
    section: KeySection,
    target: impl FnOnce(&Cursor<'a>) -> Option<String>,
) -> Option<(String, Option<String>, u32)> {
    let Value::Map(_) = &cursor.node().value else {
        let name = value::text(cursor)?;
        names.expect(cursor, &name);
        return Some((name, None, MODE));
    };
    keys::check(cursor, section);
    let source = cursor.required("source");
    let name = source.as_ref().and_then(value::text);
    if let (Some(source), Some(name)) = (&source, &name) {
        names.expect(source, name);
    }
    let target = take(cursor, "target", target);
    let mode = take(cursor, "mode", value::mode).unwrap_or(MODE);
    Some((name?, target, mode))
}
