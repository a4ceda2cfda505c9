//! `colony node list|show|invite|cordon|uncordon|retire`

use colony_api::Client;
use colony_api::request::Invite;

use crate::cli::{NodeCommand, NodeInvite, NodeRef};
use crate::command::only_site;
use crate::output::Out;
use crate::output::view::{node, talk};

pub(super) async fn run(
    client: &Client,
    command: NodeCommand,
    out: &mut Out,
) -> anyhow::Result<u8> {
    match command {
        NodeCommand::List { site } => list(client, site.as_deref(), out).await?,
        NodeCommand::Show { node: at } => {
            out.show(&client.node_show(&at.site, &at.node).await?, node::show)?;
        }
        NodeCommand::Invite(it) => invite(client, it, out).await?,
        NodeCommand::Cordon { node: at } => {
            out.show(&client.node_cordon(&at.site, &at.node).await?, talk::accepted)?;
        }
        NodeCommand::Uncordon { node: at } => {
            out.show(&client.node_uncordon(&at.site, &at.node).await?, talk::accepted)?;
        }
        NodeCommand::Retire { node: at, yes } => retire(client, &at, yes, out).await?,
    }
    Ok(0)
}

async fn list(client: &Client, site: Option<&str>, out: &mut Out) -> anyhow::Result<()> {
    let views = client.node_list(site).await?;
    out.show(&views, |it, look| node::list(it, look))?;
    if views.is_empty() {
        out.note("there are no nodes; invite one: colony node invite --site SITE")?;
    }
    Ok(())
}

async fn invite(client: &Client, args: NodeInvite, out: &mut Out) -> anyhow::Result<()> {
    let site = match args.site {
        Some(site) => site,
        None => only_site(client).await?,
    };
    let invite = Invite { lifetime_seconds: args.lifetime, replace: false };
    out.show(&client.node_invite(&site, &invite).await?, talk::invite)
}

async fn retire(client: &Client, at: &NodeRef, yes: bool, out: &mut Out) -> anyhow::Result<()> {
    let question = format!(
        "{at} is forgotten for good and has to join again with a new invitation. Its containers \
         keep running unmanaged on the machine; to stop them first, delete its deployments or \
         cordon it and move them. Continue?"
    );
    if !yes && out.has_person() && !out.confirm(&question)? {
        return out.note("nothing was changed");
    }
    out.show(&client.node_retire(&at.site, &at.node).await?, talk::accepted)
}
