//! `colony app lint`: checks descriptions, compose files and archives locally.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use colony_api::view::LintView;
use colony_core::margo::finding::Severity;
use colony_core::margo::{ApplicationDescription, Finding};

use super::folder::{
    COMPOSE, DESCRIPTION, Package, check, in_file, in_folder, pack, read, read_text,
};
use crate::output::{Out, RenderOptions};

/// How deep packages may be nested in a registry.
const FOLDERS: usize = 8;
/// The largest archive that is read; a smaller limit applies to its content.
const ARCHIVE_LIMIT: u64 = 64 << 20;

pub(super) fn run(files: &[PathBuf], out: &mut Out) -> anyhow::Result<u8> {
    let mut findings = Vec::new();
    for path in packages(files)? {
        findings.extend(lint(&path)?);
    }
    let usable = findings.iter().all(|it| it.severity != Severity::Error);
    let view = LintView { usable, findings };
    out.show(&view, lines)?;
    if view.findings.is_empty() {
        out.note(&format!("{} fine", if files.len() == 1 { "it is" } else { "all are" }))?;
    }
    Ok(if usable { 0 } else { 1 })
}

fn lines(view: &LintView, _: &RenderOptions) -> String {
    view.findings.iter().map(|it| format!("{it}\n")).collect()
}

/// Checks a file by its name: an archive, a compose file, or a description.
fn lint(path: &Path) -> anyhow::Result<Vec<Finding>> {
    let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    match name {
        COMPOSE => lint_compose(path, &BTreeMap::new()),
        _ if name.ends_with(".tar.gz") || name.ends_with(".tgz") => {
            let findings = check(&read(path, ARCHIVE_LIMIT)?, &BTreeMap::new());
            Ok(in_folder(findings, path))
        }
        _ => lint_description(path),
    }
}

/// Checks a description, and the components beside it.
fn lint_description(path: &Path) -> anyhow::Result<Vec<Finding>> {
    let mut found = match ApplicationDescription::parse(&read_text(path)?) {
        Ok(parsed) => in_file(parsed.warnings, path),
        Err(findings) => return Ok(in_file(findings, path)),
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    if path.file_name().is_none_or(|it| it != DESCRIPTION) {
        return Ok(found);
    }
    let package = Package::open(folder)?;
    for it in package.components() {
        let compose = it.folder.join(COMPOSE);
        if compose.is_file() {
            found.extend(lint_compose(&compose, &package.parameters(it.component))?);
        }
    }
    Ok(found)
}

/// Checks a compose file with the files beside it, as an archive would hold
/// them.
fn lint_compose(
    path: &Path,
    parameters: &BTreeMap<String, String>,
) -> anyhow::Result<Vec<Finding>> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(in_folder(check(&pack(folder, "component")?, parameters), folder))
}

/// The files to check. A folder stands for its package, or for all packages
/// below it.
fn packages(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        let own = path.join(DESCRIPTION);
        match () {
            () if !path.is_dir() => files.push(path.clone()),
            () if own.is_file() => files.push(own),
            () => {
                let found = below(path, FOLDERS)?;
                anyhow::ensure!(!found.is_empty(), "there is no margo.yaml in {}", path.display());
                files.extend(found);
            }
        }
    }
    Ok(files)
}

/// Every `margo.yaml` in the folders below `folder`, ordered by name.
fn below(folder: &Path, depth: usize) -> anyhow::Result<Vec<PathBuf>> {
    let doing = || format!("could not read the folder {}", folder.display());
    let entries = std::fs::read_dir(folder).with_context(doing)?;
    let mut entries = entries.collect::<Result<Vec<_>, _>>().with_context(doing)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        let is_folder = entry.file_type().with_context(doing)?.is_dir();
        if is_folder && depth > 0 && entry.file_name() != ".git" {
            files.extend(below(&entry.path(), depth - 1)?);
        } else if entry.file_name() == DESCRIPTION {
            files.push(entry.path());
        }
    }
    Ok(files)
}
