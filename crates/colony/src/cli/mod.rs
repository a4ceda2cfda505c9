//! The operator's command line: what can be typed, and where it is carried out.
//!
//! This folder is arguments only, `command` does them, `output` prints. The
//! roles (`up`, `central`, `local`, `node --join`) are not here; `node` and
//! `completion` are shared with them and wired in `main`.

mod app;
mod change;
pub(crate) mod context;
mod deployment;
mod global;
mod look;
mod node;
mod reference;
mod site;
mod token;

use std::io::Write;
use std::process::ExitCode;

use clap::Subcommand;
use clap_complete::Shell;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use app::{AppCommand, AppNew, AppPackage, AppPush, AppPushImage, RegistryCommand};
pub(crate) use change::ChangeCommand;
pub(crate) use deployment::deploy::Deploy;
pub(crate) use deployment::{Delete, DeploymentCommand, Retry, Rollback, Steer};
pub(crate) use global::{Format, Global, Peer};
pub(crate) use look::{EventArgs, Logs, Why};
pub(crate) use node::{NodeCommand, NodeInvite};
pub(crate) use reference::{NodeRef, Patience};
pub(crate) use site::{
    Hold, QuarantineCommand, Release, ReleaseTarget, RepoCommand, SiteAdd, SiteCommand, SiteInvite,
};
pub(crate) use token::TokenCommand;

/// Everything an operator can ask for.
#[derive(Debug, Subcommand)]
pub(crate) enum Operator {
    /// The whole fleet at a glance, and what needs a person
    Status,
    Deploy(Box<Deploy>),
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
    /// Changes that are accepted and not yet in Git
    #[command(subcommand, visible_alias = "changes")]
    Change(ChangeCommand),
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

impl Operator {
    /// Whether there is more to see with `-o wide`.
    fn has_wide(&self) -> bool {
        match self {
            Operator::Status | Operator::Event(_) => true,
            Operator::Deployment(it) => {
                matches!(it, DeploymentCommand::List { .. } | DeploymentCommand::Show { .. })
            }
            Operator::Site(it) => matches!(it, SiteCommand::List | SiteCommand::Show { .. }),
            Operator::Node(it) => {
                matches!(it, NodeCommand::List { .. } | NodeCommand::Show { .. })
            }
            Operator::Deploy(_)
            | Operator::App(_)
            | Operator::Change(_)
            | Operator::Logs(_)
            | Operator::Why(_)
            | Operator::Quarantine(_)
            | Operator::Hold(_)
            | Operator::Release(_)
            | Operator::Repo(_)
            | Operator::Token(_)
            | Operator::Context(_) => false,
        }
    }
}

/// Carries a command out. An error is for people: print its whole chain.
pub(crate) async fn run(command: Operator, global: &Global) -> anyhow::Result<ExitCode> {
    check_format(&command, global.output)?;
    let mut out = crate::output::Out::standard(global.output);
    match crate::command::run(command, global, &mut out).await {
        // The reader of our output has seen enough.
        Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
        other => other.map(ExitCode::from),
    }
}

/// Prints something that needs no server.
pub(crate) fn show<T: Serialize + DeserializeOwned>(
    global: &Global,
    value: &T,
    table: impl FnOnce(&T, &crate::output::RenderOptions) -> String,
) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(global.output != Format::Wide, NO_WIDE);
    match crate::output::Out::standard(global.output).show(value, table) {
        Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
        other => other.map(|()| ExitCode::SUCCESS),
    }
}

const NO_WIDE: &str = "-o wide shows no more here; use -o table, json or yaml";

/// A table that is asked for with more columns and has none would mislead.
pub(crate) fn check_format(command: &Operator, format: Format) -> anyhow::Result<()> {
    anyhow::ensure!(format != Format::Wide || command.has_wide(), NO_WIDE);
    Ok(())
}

/// Prints the completions of `tool` for a shell.
pub(crate) fn completion(shell: Shell, mut tool: clap::Command) -> ExitCode {
    let name = tool.get_name().to_owned();
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut tool, name, &mut text);
    // The reader of the output may have seen enough.
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
