//! Executes the operator's commands: send a request, print the response.
//!
//! Each returns the exit code of the process. Left out on purpose: decisions.
//! The server makes them; the commands only present its responses.

mod app;
mod change;
mod context;
mod deployment;
mod follow;
mod hold;
mod look;
mod node;
mod repo;
mod site;
mod token;

use colony_api::Client;

use crate::cli::{Global, Operator};
use crate::output::Out;
use crate::output::view::status;
use deployment::deploy;

/// The exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;
/// The exit code of a watch that timed out before the deployment reached an
/// end.
const STILL_GOING_ON: u8 = 5;
/// The exit code of a watch whose version a later change replaced.
const SUPERSEDED: u8 = 6;

pub(crate) async fn run(command: Operator, global: &Global, out: &mut Out) -> anyhow::Result<u8> {
    match command {
        Operator::Status => {
            out.show(&global.client()?.status().await?, status::show)?;
            Ok(0)
        }
        Operator::Deploy(it) => deploy::deploy(&global.client()?, *it, out).await,
        Operator::Deployment(it) => deployment::run(&global.client()?, it, out).await,
        Operator::Site(it) => site::run(&global.client()?, it, out).await,
        Operator::Node(it) => node::run(&global.client()?, it, out).await,
        Operator::App(it) => app::run(global, it, out).await,
        Operator::Event(it) => look::events(&global.client()?, it, out).await,
        Operator::Logs(it) => look::logs(&global.client()?, it, out).await,
        Operator::Why(it) => look::why(&global.client()?, it, out).await,
        Operator::Quarantine(it) => deployment::quarantine(&global.client()?, it, out).await,
        Operator::Hold(it) => hold::hold(&global.client()?, it, out).await,
        Operator::Release(it) => hold::release(&global.client()?, it, out).await,
        Operator::Change(it) => change::run(&global.client()?, it, out).await,
        Operator::Repo(it) => repo::run(global, it, out).await,
        Operator::Token(it) => token::run(&global.client()?, it, out).await,
        Operator::Context(it) => context::run(it, out),
    }
}

/// The default where no site is named: the only site there is.
async fn only_site(client: &Client) -> anyhow::Result<String> {
    let status = client.status().await?;
    match status.sites.as_slice() {
        [site] => Ok(site.name.to_string()),
        [] => anyhow::bail!("there is no site yet; add one: colony site add NAME"),
        many => {
            let names: Vec<&str> = many.iter().map(|it| it.name.as_str()).collect();
            anyhow::bail!("say which site with --site; there are: {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests;
