//! `colony app …`

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use colony_api::Client;
use colony_api::request::RegistryAdd;
use colony_api::view::LintView;
use colony_margo::finding::Severity;
use colony_margo::{ApplicationDescription, Finding};

use crate::cli::{AppCommand, Global, RegistryCommand};
use crate::output::{Look, Out, application};

/// What a package's description may hold, here as in the catalog.
const FILE_LIMIT: u64 = 1 << 20;

pub(super) async fn run(global: &Global, command: AppCommand, out: &mut Out) -> anyhow::Result<u8> {
    match command {
        AppCommand::Add { url, name, branch } => {
            let add = RegistryAdd { url, name, branch };
            let view = global.client()?.registry_add(&add).await?;
            out.show(&view, application::registry)?;
            return Ok(if view.last_error.is_some() { 1 } else { 0 });
        }
        AppCommand::List => list(&global.client()?, out).await?,
        AppCommand::Show { id, version } => show(&global.client()?, &id, version, out).await?,
        AppCommand::Lint { files } => return lint(&files, out),
        AppCommand::Registry(RegistryCommand::List) => {
            let views = global.client()?.registry_list().await?;
            out.show(&views, |it, look| application::registries(it, look))?;
        }
        AppCommand::Registry(RegistryCommand::Delete { name }) => {
            global.client()?.registry_delete(&name).await?;
            out.note(&format!("{name} is read no more"))?;
        }
    }
    Ok(0)
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
    for path in files {
        findings.extend(lint_file(path)?);
    }
    let usable = findings.iter().all(|it| it.severity != Severity::Error);
    let view = LintView { usable, findings };
    out.show(&view, lint_lines)?;
    if view.findings.is_empty() {
        out.note(&format!("{} fine", if files.len() == 1 { "it is" } else { "all are" }))?;
    }
    Ok(if usable { 0 } else { 1 })
}

fn lint_lines(view: &LintView, _: &Look) -> String {
    view.findings.iter().map(|it| format!("{it}\n")).collect()
}

fn lint_file(path: &Path) -> anyhow::Result<Vec<Finding>> {
    let path = if path.is_dir() { path.join("margo.yaml") } else { path.to_owned() };
    let name = path.display().to_string();
    let bytes = read(&path).with_context(|| format!("could not read {name}"))?;
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
