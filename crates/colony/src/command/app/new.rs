//! `colony app new`: makes a working package to start from.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

use colony_core::margo::{ApplicationDescription, ApplicationId};

use super::folder::{COMPOSE, DESCRIPTION};
use crate::cli::AppNew;
use crate::output::Out;

/// The one component of the sample, and the folder of its files.
const COMPONENT: &str = "web";

pub(super) fn run(args: &AppNew, out: &mut Out) -> anyhow::Result<()> {
    let folder = &args.folder;
    let id = folder.file_name().and_then(|it| it.to_str()).context("name the folder to make")?;
    let id: ApplicationId = id.parse()?;
    let registry = args.registry.trim_start_matches("oci://").trim_end_matches('/');
    let description = description(id.as_str(), registry);
    ensure!(
        ApplicationDescription::parse(description.as_bytes()).is_ok(),
        "`{}` is not a registry; expected such as localhost:5000 or registry.example/line3",
        args.registry
    );
    let empty = fs::read_dir(folder).map_or(true, |mut it| it.next().is_none());
    ensure!(empty, "{} is not empty", folder.display());
    write(&folder.join(DESCRIPTION), &description)?;
    write(&folder.join(COMPONENT).join(COMPOSE), include_str!("../../sample/compose.yaml"))?;
    let name = folder.display();
    out.data(&format!("{name}/{DESCRIPTION}\n{name}/{COMPONENT}/{COMPOSE}"))?;
    out.note(&format!("next: colony app lint {name}, then colony app push {name}"))
}

fn description(id: &str, registry: &str) -> String {
    let sample = include_str!("../../sample/margo.yaml");
    sample.replace("@ID@", id).replace("@REGISTRY@", registry)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let doing = || format!("could not write {}", path.display());
    let folder = path.parent().with_context(doing)?;
    fs::create_dir_all(folder).with_context(doing)?;
    fs::write(path, text).with_context(doing)
}
