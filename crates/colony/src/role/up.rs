//! `colony up`: all three roles in one process, to try colony.
//!
//! They use the same protocols as on three machines: the site and the node join
//! with invitations that are requested through the operator API.

use std::time::Duration;

use anyhow::Context;
use tokio_util::sync::CancellationToken;

use colony_api::Client;
use colony_api::request::{Invite, SiteAdd};
use colony_node::{Node, NodeRefused};
use colony_process::Tasks;

use super::{Flag, central, local, node, operator};
use crate::config::Config;
use crate::say;

/// The site that `up` makes.
const SITE: &str = "home";

pub(crate) const EXAMPLES: &str = "\
Examples:
  colony up                        for this machine alone
  colony up --listen 0.0.0.0       other machines can join
then, in another terminal:
  colony deploy hello --watch";

#[derive(Debug, Default, Clone, clap::Args)]
pub(crate) struct Args {
    /// The address others connect to, such as 0.0.0.0; this machine alone by default
    #[arg(long, value_name = "IP")]
    pub(crate) listen: Option<std::net::IpAddr>,
    /// The name of the node; the host's by default
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// auto, docker, podman, the path of their socket, containerd,
    /// containerd:<socket>, kubernetes, or
    /// kubernetes:<kubeconfig>; or two, such as docker,kubernetes
    #[arg(long)]
    pub(crate) engine: Option<String>,
    /// Credentials for registries, a file as `docker login` writes it
    #[arg(long, value_name = "FILE")]
    pub(crate) registry_credentials: Option<std::path::PathBuf>,
}

impl Args {
    pub(crate) fn flags(&self) -> Vec<Flag> {
        let on = |port: u16| self.listen.map(|it| std::net::SocketAddr::new(it, port).to_string());
        vec![
            ("central.listen", "listen", on(7443)),
            ("local.listen", "listen", on(7444)),
            ("node.name", "name", self.name.clone()),
            ("node.engine", "engine", self.engine.clone()),
            node::credentials_flag(self.registry_credentials.as_deref()),
        ]
    }
}

pub(crate) async fn run(config: &Config, stop: CancellationToken) -> anyhow::Result<()> {
    let mut tasks = Tasks::new(stop.clone());
    let begun = tokio::select! {
        begun = begin(config, &mut tasks) => begun,
        () = stop.cancelled() => Ok(()),
    };
    if begun.is_err() {
        stop.cancel();
    }
    tasks.join().await.and(begun)
}

/// Starts the roles in order: each serves before the next one sends it a
/// request.
async fn begin(config: &Config, tasks: &mut Tasks) -> anyhow::Result<()> {
    let central = central::start(config).await?;
    let (url, client) = (central.url(), operator::remember(&central)?);
    tasks.spawn("central", central.run(tasks.stop()));
    let join = site_invitation(config, &client).await?;
    let local = colony_local::start(local::settings(config, join, false)?).await?;
    let site = local.site().to_string();
    tasks.spawn("local", local.run(tasks.stop()));
    let join = node_invitation(config, &client, &site).await?;
    let node = Node::start(node::settings(config, join)?).await?;
    say(&format!("central {url} · site {site} · node {} ({})", node.name(), node.engine()));
    say("next: colony deploy hello --watch");
    tasks.spawn("node", run_node(node, tasks.stop()));
    Ok(())
}

/// The orchestrators keep running when the node was retired and ends.
async fn run_node(node: Node, stop: CancellationToken) -> anyhow::Result<()> {
    match node.run(stop.child_token()).await {
        Err(error) if error.is::<NodeRefused>() => {
            say(&format!("{error:#}"));
            say("`colony up` lets it join again by itself when it is started again");
            stop.cancelled().await;
            Ok(())
        }
        ended => ended,
    }
}

/// The invitation of the site; `None` once it has joined.
async fn site_invitation(config: &Config, client: &Client) -> anyhow::Result<Option<String>> {
    if config.data().join("local/site.json").exists() {
        return Ok(None);
    }
    let sites =
        client.site_list().await.context("could not list the sites of the central orchestrator")?;
    let invited = match sites.iter().any(|it| it.name.as_str() == SITE) {
        true => client.site_invite(SITE, &Invite { replace: true, ..Invite::default() }).await,
        false => client.site_add(&SiteAdd { name: SITE.to_owned(), ..SiteAdd::default() }).await,
    };
    Ok(Some(invited.context("could not invite the site")?.token))
}

/// Whether this machine has the identity of a node that the site has not
/// retired; true if the orchestrator does not respond.
async fn is_node_of(config: &Config, client: &Client, site: &str) -> bool {
    let Some(name) = node_name(config) else { return false };
    let nodes = client.node_list(Some(site)).await;
    nodes.map_or(true, |it| it.iter().any(|it| it.name.as_str() == name))
}

/// The name this machine joined with.
fn node_name(config: &Config) -> Option<String> {
    let text = std::fs::read(config.data().join("node/identity/site.json")).ok()?;
    let kept: serde_json::Value = serde_json::from_slice(&text).ok()?;
    kept.get("name")?.as_str().map(str::to_owned)
}

/// The invitation of the node; `None` while the site has the node. Waits until
/// the site has reported where nodes join.
async fn node_invitation(
    config: &Config,
    client: &Client,
    site: &str,
) -> anyhow::Result<Option<String>> {
    if is_node_of(config, client, site).await {
        return Ok(None);
    }
    let mut tries = 0;
    loop {
        match client.node_invite(site, &Invite::default()).await {
            Ok(invited) => return Ok(Some(invited.token)),
            Err(error) if tries == 100 => return Err(error).context("could not invite the node"),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
        tries += 1;
    }
}
