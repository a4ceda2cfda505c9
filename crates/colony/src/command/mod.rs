//! Carries the operator's commands out: ask the server, print the answer.
//!
//! Each returns the exit code of the process. Left out on purpose: decisions.
//! The server makes them; here is only what a person does with its answer.

mod app;
mod change;
mod context;
mod deploy;
mod deployment;
mod follow;
mod hold;
mod look;
mod node;
mod repo;
mod site;
mod token;
mod watch;

use colony_api::Client;

use crate::cli::{Global, Operator};
use crate::output::{Out, status};

/// The exit code of a person who stops what runs in front of them.
const INTERRUPTED: u8 = 130;
/// The exit code of a watch whose time is up before what it watches is done.
const STILL_GOING_ON: u8 = 5;

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

/// The site that is meant where none is named: the only one there is.
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
