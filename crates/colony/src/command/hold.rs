//! `colony hold` and `colony release`, of a deployment or of whole sites.

use colony_api::Client;
use colony_api::request::{self, ReleaseWhat};

use crate::cli::{Hold, Release, ReleaseTarget};
use crate::command::only_site;
use crate::output::Out;
use crate::output::view::talk;

pub(super) async fn hold(client: &Client, args: Hold, out: &mut Out) -> anyhow::Result<u8> {
    let Hold { deployment, site: sites, note } = args;
    if let Some(name) = deployment {
        let hold = request::Hold { note, sites };
        out.show(&client.deployment_hold(&name, &hold).await?, talk::accepted)?;
        return Ok(0);
    }
    for site in selected_sites(client, sites).await? {
        let hold = request::Hold { note: note.clone(), sites: Vec::new() };
        out.show_next(&client.site_hold(&site, &hold).await?, talk::accepted)?;
    }
    Ok(0)
}

pub(super) async fn release(client: &Client, args: Release, out: &mut Out) -> anyhow::Result<u8> {
    let what = match args.what {
        None | Some(ReleaseTarget::Hold) => ReleaseWhat::Hold,
        Some(ReleaseTarget::Removal) => ReleaseWhat::Removal,
        Some(ReleaseTarget::History) => ReleaseWhat::History,
    };
    if let Some(name) = args.deployment {
        let release = request::Release { what, sites: args.site };
        out.show(&client.deployment_release(&name, &release).await?, talk::accepted)?;
        return Ok(0);
    }
    for site in selected_sites(client, args.site).await? {
        let release = request::Release { what, sites: Vec::new() };
        out.show_next(&client.site_release(&site, &release).await?, talk::accepted)?;
    }
    Ok(0)
}

async fn selected_sites(client: &Client, sites: Vec<String>) -> anyhow::Result<Vec<String>> {
    match sites.is_empty() {
        true => Ok(vec![only_site(client).await?]),
        false => Ok(sites),
    }
}
