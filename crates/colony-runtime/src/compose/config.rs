//! Configs: small files that come with a package.

use colony_core::margo::yaml::{Cursor, Value};

use super::file::Scope;
use super::keys::{self, KeySection};
use super::project::{ConfigFile, ConfigMount};
use crate::compose::syntax::value::{self, take};

const MODE: u32 = 0o444;

pub(super) fn read(cursor: &Cursor<'_>, scope: &Scope<'_>) -> Option<ConfigFile> {
    keys::check(cursor, KeySection::Config);
    let sources = ["file", "content", "environment"];
    let given: Vec<&str> =
        sources.into_iter().filter(|it| cursor.node().get(it).is_some()).collect();
    let [source] = given[..] else {
        return cursor.mismatch("exactly one of `file`, `content` and `environment`");
    };
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
    let Value::Map(_) = &cursor.node().value else {
        let config = value::text(cursor)?;
        scope.configs.expect(cursor, &config);
        return Some(ConfigMount { target: format!("/{config}"), config, mode: MODE });
    };
    keys::check(cursor, KeySection::ConfigMount);
    let source = cursor.required("source");
    let config = source.as_ref().and_then(value::text);
    if let (Some(source), Some(config)) = (&source, &config) {
        scope.configs.expect(source, config);
    }
    let target = take(cursor, "target", value::path);
    let mode = take(cursor, "mode", mode).unwrap_or(MODE);
    let config = config?;
    Some(ConfigMount { target: target.unwrap_or_else(|| format!("/{config}")), config, mode })
}

/// Octal with a leading zero, so that `440` cannot be misread as decimal.
fn mode(cursor: &Cursor<'_>) -> Option<u32> {
    let text = cursor.string()?;
    let octal = text.strip_prefix("0o").or(text.strip_prefix('0'));
    let mode = octal.and_then(|it| u32::from_str_radix(it, 8).ok()).filter(|it| *it <= 0o777);
    mode.or_else(|| cursor.mismatch("permissions in octal such as `0440`"))
}
