//! `colony deployment …` and `colony quarantine …`, deploying, and watching a
//! deployment until it has reached an end.

pub(super) mod deploy;
mod watch;

use colony_api::Client;
use colony_api::request::{self, QuarantineRelease, Steering};

use crate::cli::{DeploymentCommand, QuarantineCommand, Retry, Steer};
use crate::command::deployment::watch::Watch;
use crate::output::Out;
use crate::output::view::end::Goal;
use crate::output::view::{deployment, talk};

pub(super) async fn run(
    client: &Client,
    command: DeploymentCommand,
    out: &mut Out,
) -> anyhow::Result<u8> {
    match command {
        DeploymentCommand::List { site } => list(client, site.as_deref(), out).await,
        DeploymentCommand::Show { name, watch: true, patience } => {
            let watch = Watch { name: &name, goal: Goal::Any, version: None, patience };
            watch.run(client, None, out).await
        }
        DeploymentCommand::Show { name, watch: false, .. } => {
            out.show(&client.deployment_show(&name).await?, deployment::show)?;
            Ok(0)
        }
        DeploymentCommand::History { name } => {
            out.show(&client.deployment_history(&name).await?, deployment::history)?;
            Ok(0)
        }
        DeploymentCommand::Delete(it) => deploy::delete(client, it, out).await,
        DeploymentCommand::Retry(it) => retry(client, it, out).await,
        DeploymentCommand::Rollback(it) => deploy::rollback(client, it, out).await,
        DeploymentCommand::Promote(it) => steer(client, it, Steering::Promote, out).await,
        DeploymentCommand::Pause(it) => steer(client, it, Steering::Pause, out).await,
        DeploymentCommand::Resume(it) => steer(client, it, Steering::Resume, out).await,
        DeploymentCommand::Abort(it) => steer(client, it, Steering::Abort, out).await,
    }
}

async fn steer(client: &Client, args: Steer, what: Steering, out: &mut Out) -> anyhow::Result<u8> {
    let order = request::Steer { note: args.note, sites: args.site };
    let answer = client.deployment_steer(&args.name, what, &order).await?;
    out.show(&answer, talk::accepted)?;
    Ok(0)
}

async fn list(client: &Client, site: Option<&str>, out: &mut Out) -> anyhow::Result<u8> {
    let views = client.deployment_list(site).await?;
    out.show(&views, |it, look| deployment::list(it, look))?;
    if views.is_empty() {
        out.note("nothing is deployed; see: colony deploy --help")?;
    }
    Ok(0)
}

async fn retry(client: &Client, args: Retry, out: &mut Out) -> anyhow::Result<u8> {
    let node = args.node.as_ref();
    let sites = args.site.into_iter().chain(node.map(|it| it.site.clone())).collect();
    let retry = request::Retry { sites, node: node.map(ToString::to_string) };
    let answer = client.deployment_retry(&args.name, &retry).await?;
    if args.watch {
        out.note(&answer.sentence)?;
        let (name, patience) = (&args.name, args.patience);
        let watch = Watch { name, goal: Goal::Present, version: None, patience };
        return watch.run(client, answer.event, out).await;
    }
    out.show(&answer, talk::accepted)?;
    Ok(0)
}

pub(super) async fn quarantine(
    client: &Client,
    command: QuarantineCommand,
    out: &mut Out,
) -> anyhow::Result<u8> {
    match command {
        QuarantineCommand::List { site } => {
            let mut views = client.deployment_list(site.as_deref()).await?;
            views.retain(deployment::refuses);
            out.show(&views, |it, look| deployment::quarantine(it, look))?;
            if views.is_empty() {
                out.note("no version is refused anywhere")?;
            }
        }
        QuarantineCommand::Release { deployment, site } => {
            let release = QuarantineRelease { sites: site };
            let answer = client.quarantine_release(&deployment, &release).await?;
            out.show(&answer, talk::accepted)?;
        }
    }
    Ok(0)
}
