//! Mounts: volumes, paths of the host, and memory.

use colony_core::margo::yaml::{Cursor, Value};

use crate::compose::file::Scope;
use crate::compose::keys::{self, KeySection};
use crate::compose::project::{Mount, MountKind};
use crate::compose::syntax::value::{self, take};

const SHORT: &str = "`[source:]target[:ro]`, such as `data:/var/lib/app` or `/etc/app:/conf:ro`";

pub(super) fn read(cursor: &Cursor<'_>, scope: &Scope<'_>) -> Option<Mount> {
    let mount = match &cursor.node().value {
        Value::Map(_) => long(cursor)?,
        Value::Scalar { .. } => short(cursor)?,
        Value::Null | Value::Seq(_) => return cursor.mismatch("a mount as a text or a mapping"),
    };
    checked(cursor, mount, scope)
}

fn short(cursor: &Cursor<'_>) -> Option<Mount> {
    let text = value::text(cursor)?;
    let parts: Vec<&str> = text.split(':').collect();
    let (source, target, mode) = match parts[..] {
        [target] => (None, target, "rw"),
        [source, target] => (Some(source.to_owned()), target, "rw"),
        [source, target, mode] => (Some(source.to_owned()), target, mode),
        _ => return cursor.mismatch(SHORT),
    };
    let read_only = match mode {
        "ro" => true,
        "rw" => false,
        _ => return cursor.mismatch("`ro` or `rw` as the mode of a mount"),
    };
    let Some(target) = value::absolute(target) else { return cursor.mismatch(SHORT) };
    let kind = match &source {
        Some(source) if is_path(source) => MountKind::Bind,
        Some(_) | None => MountKind::Volume,
    };
    Some(Mount { kind, source, target, read_only })
}

fn is_path(source: &str) -> bool {
    source.starts_with(['/', '.', '~', '\\']) || source.contains('/')
}

fn long(cursor: &Cursor<'_>) -> Option<Mount> {
    keys::check(cursor, KeySection::Mount);
    let kinds = ["volume", "bind", "tmpfs"];
    let kind = cursor.required("type").and_then(|it| match it.one_of(&kinds)? {
        "bind" => Some(MountKind::Bind),
        "tmpfs" => Some(MountKind::Tmpfs),
        _ => Some(MountKind::Volume),
    });
    let source = take(cursor, "source", value::text);
    let target = cursor.required("target").and_then(|it| value::path(&it));
    let read_only = take(cursor, "read_only", value::flag).unwrap_or_default();
    Some(Mount { kind: kind?, source, target: target?, read_only })
}

fn checked(cursor: &Cursor<'_>, mount: Mount, scope: &Scope<'_>) -> Option<Mount> {
    match (mount.kind, mount.source.as_deref()) {
        (MountKind::Bind, Some(source)) if value::absolute(source).is_none() => {
            let problem =
                format!("`{source}` is not an absolute path, and the archive is not mounted");
            cursor.error(problem, "an absolute path of the host, or a config for a packaged file");
        }
        (MountKind::Bind, None) => cursor.error("has no source", "an absolute path of the host"),
        (MountKind::Volume, Some(name)) => scope.volumes.expect(cursor, name),
        (MountKind::Tmpfs, Some(_)) => cursor.error("has a source", "a `tmpfs` without one"),
        (MountKind::Bind, Some(_)) | (MountKind::Volume | MountKind::Tmpfs, None) => {}
    }
    Some(mount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_has_a_plain_name() {
        for (source, expected) in [
            ("data", false),
            ("my-data.1", false),
            ("/data", true),
            ("./data", true),
            ("~", true),
            ("a/b", true),
        ] {
            assert_eq!(is_path(source), expected, "{source}");
        }
    }
}
