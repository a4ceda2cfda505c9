//! Mounts: volumes, paths of the host, and memory.

use colony_core::margo::yaml::{Cursor, Value};

use crate::compose::file::Scope;
use crate::compose::keys::{self, KeySection};
use crate::compose::project::{Mount, MountKind, MountOptions, Propagation, Relabel};
use crate::compose::syntax::value::{self, take};

const MODE: &str = "`ro` or `rw`, with `z`, `Z`, `nocopy` or a propagation such as `rslave`";
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
    let Some((read_only, options)) = mode_options(mode) else { return cursor.mismatch(MODE) };
    let Some(target) = value::absolute(target) else { return cursor.mismatch(SHORT) };
    let kind = match &source {
        Some(source) if is_path(source) => MountKind::Bind,
        Some(_) | None => MountKind::Volume,
    };
    let of_bind = options.propagation.is_some() || options.relabel.is_some();
    if (of_bind && kind != MountKind::Bind) || (options.no_copy && kind != MountKind::Volume) {
        return cursor.mismatch("`nocopy` for a volume; `z`, `Z` and a propagation for a path");
    }
    Some(Mount { kind, source, target, read_only, options })
}

/// The part after the target, such as `ro,z`.
fn mode_options(mode: &str) -> Option<(bool, MountOptions)> {
    let (mut read_only, mut options) = (false, MountOptions::default());
    for word in mode.split(',') {
        match word {
            "ro" => read_only = true,
            "rw" => read_only = false,
            "z" => options.relabel = Some(Relabel::Shared),
            "Z" => options.relabel = Some(Relabel::Private),
            "nocopy" => options.no_copy = true,
            _ => options.propagation = Some(propagation(word)?),
        }
    }
    Some((read_only, options))
}

fn propagation(word: &str) -> Option<Propagation> {
    Propagation::ALL.into_iter().find(|it| it.as_str() == word)
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
    let mut options = MountOptions::default();
    for (key, of) in
        [("bind", MountKind::Bind), ("volume", MountKind::Volume), ("tmpfs", MountKind::Tmpfs)]
    {
        let Some(place) = cursor.field(key) else { continue };
        if kind.is_some_and(|it| it != of) {
            place.error("stands in a mount of another type", format!("`type: {key}`"));
        }
        match of {
            MountKind::Bind => bind(&place, &mut options),
            MountKind::Volume => volume(&place, &mut options),
            MountKind::Tmpfs => tmpfs(&place, &mut options),
        }
    }
    Some(Mount { kind: kind?, source, target: target?, read_only, options })
}

fn bind(cursor: &Cursor<'_>, options: &mut MountOptions) {
    keys::check(cursor, KeySection::BindOptions);
    options.propagation = take(cursor, "propagation", |it| {
        it.one_of(&Propagation::ALL.map(Propagation::as_str)).and_then(propagation)
    });
    options.source_must_exist = take(cursor, "create_host_path", value::flag) == Some(false);
    options.relabel = take(cursor, "selinux", |it| match it.one_of(&["z", "Z"])? {
        "z" => Some(Relabel::Shared),
        _ => Some(Relabel::Private),
    });
}

fn volume(cursor: &Cursor<'_>, options: &mut MountOptions) {
    keys::check(cursor, KeySection::VolumeOptions);
    options.no_copy = take(cursor, "nocopy", value::flag).unwrap_or_default();
}

fn tmpfs(cursor: &Cursor<'_>, options: &mut MountOptions) {
    keys::check(cursor, KeySection::TmpfsOptions);
    options.size = take(cursor, "size", value::size);
    options.mode = take(cursor, "mode", value::mode);
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
