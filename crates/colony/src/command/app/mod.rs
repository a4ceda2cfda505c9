//! `colony app …`: the catalog, and packages on this machine.

mod folder;
mod image;
mod lint;
mod new;
mod package;
#[cfg(test)]
mod tests;

use anyhow::Context as _;

use colony_api::Client;
use colony_api::request::RegistryAdd;
use colony_api::view::RegistryView;

use crate::cli::{AppCommand, Global, RegistryCommand};
use crate::output::Out;
use crate::output::view::application;

pub(super) async fn run(global: &Global, command: AppCommand, out: &mut Out) -> anyhow::Result<u8> {
    match command {
        AppCommand::Add { url, name, branch } => {
            let add = RegistryAdd { url, name, branch };
            return added(&global.client()?.registry_add(&add).await?, out);
        }
        AppCommand::List => list(&global.client()?, out).await?,
        AppCommand::Show { id, version } => show(&global.client()?, &id, version, out).await?,
        AppCommand::New(args) => new::run(&args, out)?,
        AppCommand::Lint { files } => return lint::run(&files, out),
        AppCommand::Package(args) => package::package(&args, out)?,
        AppCommand::Push(args) => package::push(&args, out).await?,
        AppCommand::PushImage(args) => image::push(&args, out).await?,
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

/// A registry without any usable package is probably a mistake: the exit code
/// is an error.
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
            let view = client.application_show(id).await?;
            // An older server does not name the release it would deploy.
            let newest = || view.versions.first().cloned();
            let latest = Some(view.latest.clone()).filter(|it| !it.is_empty()).or_else(newest);
            latest.with_context(|| format!("{id} has no version"))?
        }
    };
    out.show(&client.application_version(id, &version).await?, application::show)
}
