//! `colony app …`

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use colony_api::Client;
use colony_api::request::RegistryAdd;
use colony_api::view::{LintView, RegistryView};
use colony_margo::finding::Severity;
use colony_margo::{ApplicationDescription, Finding};

use crate::cli::{AppCommand, Global, RegistryCommand};
use crate::output::{Look, Out, application};

/// What a package's description may hold, here as in the catalog.
const FILE_LIMIT: u64 = 1 << 20;
/// How deep packages may lie in a registry.
const FOLDERS: usize = 8;

pub(super) async fn run(global: &Global, command: AppCommand, out: &mut Out) -> anyhow::Result<u8> {
    match command {
        AppCommand::Add { url, name, branch } => {
            let add = RegistryAdd { url, name, branch };
            return added(&global.client()?.registry_add(&add).await?, out);
        }
        AppCommand::List => list(&global.client()?, out).await?,
        AppCommand::Show { id, version } => show(&global.client()?, &id, version, out).await?,
        AppCommand::Lint { files } => return lint(&files, out),
        AppCommand::Registry(RegistryCommand::List) => {
            let views = global.client()?.registry_list().await?;
            out.show(&views, |it, look| application::registries(it, look))?;
        }
        AppCommand::Registry(RegistryCommand::Show { name }) => {
            out.show(&global.client()?.registry_show(&name).await?, application::registry)?;
        }
        AppCommand::Registry(RegistryCommand::Sync { name }) => {
            return added(&global.client()?.registry_sync(&name).await?, out);
        }
        AppCommand::Registry(RegistryCommand::Delete { name }) => {
            global.client()?.registry_delete(&name).await?;
            out.note(&format!("{name} is read no more"))?;
        }
    }
    Ok(0)
}

/// A registry of which nothing can be used was not what was meant.
fn added(view: &RegistryView, out: &mut Out) -> anyhow::Result<u8> {
    out.show(view, application::registry)?;
    let useless = view.packages == 0 && view.broken > 0;
    if useless {
        let name = &view.name;
        out.note(&format!(
            "none of its packages can be used; it is read again by itself\n\
             see: colony app registry show {name}"
        ))?;
    }
    Ok(u8::from(useless || view.last_error.is_some()))
}

async fn list(client: &Client, out: &mut Out) -> anyhow::Result<()> {
    let views = client.application_list().await?;
    out.show(&views, |it, look| application::list(it, look))?;
    if views.is_empty() {
        out.note("the catalog is empty; fill it: colony app add URL")?;
    }
    Ok(())
}

async fn show(
    client: &Client,
    id: &str,
    version: Option<String>,
    out: &mut Out,
) -> anyhow::Result<()> {
    let version = match version {
        Some(version) => version,
        None => {
            let versions = client.application_show(id).await?.versions;
            versions.into_iter().next().with_context(|| format!("{id} has no version"))?
        }
    };
    out.show(&client.application_version(id, &version).await?, application::show)
}

fn lint(files: &[PathBuf], out: &mut Out) -> anyhow::Result<u8> {
    let mut findings = Vec::new();
    for path in packages(files)? {
        findings.extend(lint_file(&path)?);
    }
    let usable = findings.iter().all(|it| it.severity != Severity::Error);
    let view = LintView { usable, findings };
    out.show(&view, lint_lines)?;
    if view.findings.is_empty() {
        out.note(&format!("{} fine", if files.len() == 1 { "it is" } else { "all are" }))?;
    }
    Ok(if usable { 0 } else { 1 })
}

/// The files that are meant: folders stand for their package, or for all below.
fn packages(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        let own = path.join("margo.yaml");
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

/// Every `margo.yaml` in folders of `folder`, in the order of their names.
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
        } else if entry.file_name() == "margo.yaml" {
            files.push(entry.path());
        }
    }
    Ok(files)
}

fn lint_lines(view: &LintView, _: &Look) -> String {
    view.findings.iter().map(|it| format!("{it}\n")).collect()
}

fn lint_file(path: &Path) -> anyhow::Result<Vec<Finding>> {
    let name = path.display().to_string();
    let bytes = read(path).with_context(|| format!("could not read {name}"))?;
    let found = match ApplicationDescription::parse(&bytes) {
        Ok(parsed) => parsed.warnings,
        Err(findings) => findings,
    };
    Ok(found.into_iter().map(|it| it.in_file(&name)).collect())
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_LIMIT + 1).read_to_end(&mut bytes)?;
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    anyhow::ensure!(length <= FILE_LIMIT, "it is larger than {FILE_LIMIT} bytes");
    Ok(bytes)
}
