//! `colony site …`

use colony_api::Client;
use colony_api::request;

use crate::cli::{SiteAdd, SiteCommand, SiteInvite};
use crate::output::Out;
use crate::output::view::{node, site, talk};

pub(super) async fn run(
    client: &Client,
    command: SiteCommand,
    out: &mut Out,
) -> anyhow::Result<u8> {
    match command {
        SiteCommand::List => {
            let views = client.site_list().await?;
            out.show(&views, |it, look| site::list(it, look))?;
        }
        SiteCommand::Show { site } => show(client, &site, out).await?,
        SiteCommand::Add(it) => add(client, it, out).await?,
        SiteCommand::Invite(it) => invite(client, it, out).await?,
        SiteCommand::Trust { site, fingerprint } => {
            let trust = request::SiteTrust { fingerprint };
            out.show(&client.site_trust(&site, &trust).await?, talk::accepted)?;
        }
    }
    Ok(0)
}

async fn show(client: &Client, name: &str, out: &mut Out) -> anyhow::Result<()> {
    let view = client.site_show(name).await?;
    out.show(&view, site::show)?;
    if out.is_for_people() {
        let nodes = client.node_list(Some(name)).await?;
        out.show(&nodes, |it, look| format!("\n{}", node::list(it, look)))?;
    }
    Ok(())
}

async fn add(client: &Client, args: SiteAdd, out: &mut Out) -> anyhow::Result<()> {
    let labels = args.label.into_iter().map(|it| (it.key, it.value)).collect();
    let add = request::SiteAdd { name: args.name, labels, lifetime_seconds: args.lifetime };
    out.show(&client.site_add(&add).await?, talk::invite)
}

async fn invite(client: &Client, args: SiteInvite, out: &mut Out) -> anyhow::Result<()> {
    let invite = request::Invite { lifetime_seconds: args.lifetime, replace: args.replace };
    out.show(&client.site_invite(&args.site, &invite).await?, talk::invite)
}
