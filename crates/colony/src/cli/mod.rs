//! The operator's command line: what can be typed, and where it is carried out.
//!
//! This folder is arguments only, `command` does them, `output` prints. The
//! roles (`up`, `central`, `local`, `node --join`) are not here; `node` and
//! `completion` are shared with them and wired in `main`.

mod app;
pub(crate) mod context;
mod deploy;
mod deployment;
mod global;
mod look;
mod node;
mod reference;
mod setting;
mod site;
mod token;

use std::io::Write;
use std::process::ExitCode;

use clap::Subcommand;
use clap_complete::Shell;

pub(crate) use app::{AppCommand, RegistryCommand};
pub(crate) use deploy::Deploy;
pub(crate) use deployment::{Delete, DeploymentCommand, Retry, Rollback, Steer};
pub(crate) use global::{Format, Global, Peer};
pub(crate) use look::{EventArgs, Logs, Why};
pub(crate) use node::{NodeCommand, NodeInvite};
pub(crate) use reference::{NodeRef, Patience};
pub(crate) use site::{
    Hold, QuarantineCommand, Release, RepoCommand, SiteAdd, SiteCommand, SiteInvite, What,
};
pub(crate) use token::TokenCommand;

/// Everything an operator can ask for.
#[derive(Debug, Subcommand)]
pub(crate) enum Operator {
    /// The whole fleet at a glance, and what needs a person
    Status,
    Deploy(Deploy),
    /// Look at deployments, change or delete them
    #[command(subcommand, visible_alias = "deployments")]
    Deployment(DeploymentCommand),
    /// Sites and their orchestrators
    #[command(subcommand, visible_alias = "sites")]
    Site(SiteCommand),
    #[command(skip)]
    Node(NodeCommand),
    /// The catalog of applications
    #[command(subcommand, visible_alias = "apps")]
    App(AppCommand),
    #[command(visible_alias = "events")]
    Event(EventArgs),
    Logs(Logs),
    Why(Why),
    /// Versions that a site refuses after they failed
    #[command(subcommand)]
    Quarantine(QuarantineCommand),
    Hold(Hold),
    Release(Release),
    /// The Git repository that holds the desired state
    #[command(subcommand)]
    Repo(RepoCommand),
    /// Who may ask the central orchestrator
    #[command(subcommand, visible_alias = "tokens")]
    Token(TokenCommand),
    /// Which server is asked
    #[command(subcommand)]
    Context(context::ContextCommand),
}

/// Carries a command out. An error is for people: print its whole chain.
pub(crate) async fn run(command: Operator, global: &Global) -> anyhow::Result<ExitCode> {
    let mut out = crate::output::Out::standard(global.output);
    match crate::command::run(command, global, &mut out).await {
        // Whoever reads our output has seen enough.
        Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
        other => other.map(ExitCode::from),
    }
}

/// Prints the completions of `tool` for a shell.
pub(crate) fn completion(shell: Shell, mut tool: clap::Command) -> ExitCode {
    let name = tool.get_name().to_owned();
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut tool, name, &mut text);
    // Whoever reads it may have seen enough.
    match std::io::stdout().write_all(&text) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        Ok(()) | Err(_) => ExitCode::SUCCESS,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().filter_map(|it| it.downcast_ref::<std::io::Error>());
    io.into_iter().any(|it| it.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
pub(crate) mod tests;
