//! The commands of `colony`, and which module executes each.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::config::Config;
use crate::config::running::Running;
use crate::role::{self, NodeArgs};
use crate::{log, show};

const ABOUT: &str = "GitOps orchestration for fleets of edge devices";

#[cfg(feature = "full")]
const START: &str = "\
Try it:
  colony up                            everything on this machine
  colony deploy hello --watch          the application that comes with colony
  colony status                        the whole fleet at a glance
  colony why hello                     what something waits for

Grow it:
  colony site add plant-b              prints what to run at the other site
  colony node invite --site plant-b    prints what to run on another machine";

#[cfg(all(feature = "site", not(feature = "full")))]
const START: &str = "\
This build runs a site and its nodes, and asks others:
  colony local --join <invitation>
  colony status --socket <data>/local/local.sock";

#[cfg(not(feature = "site"))]
const START: &str = "This build runs nodes only: colony node --join <invitation>";

#[derive(Debug, Parser)]
#[command(name = "colony", version, about = ABOUT, after_help = START, propagate_version = true)]
pub(crate) struct Tool {
    #[command(flatten)]
    common: Common,
    #[cfg(feature = "site")]
    #[command(flatten)]
    global: crate::cli::Global,
    #[command(subcommand)]
    command: Command,
}

/// Settings of every role.
#[derive(Debug, Args)]
struct Common {
    /// The file with the settings; `colony config show` lists them
    #[arg(long, global = true, env = "COLONY_CONFIG", value_name = "FILE")]
    #[arg(help_heading = "Roles")]
    config: Option<PathBuf>,
    /// Where a role keeps everything
    #[arg(long, global = true, value_name = "DIR", help_heading = "Roles")]
    data: Option<String>,
    /// What a role logs: error, warn, info, debug
    #[arg(long, global = true, value_name = "LEVEL", help_heading = "Roles")]
    log: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(feature = "site")]
    #[command(flatten)]
    Role(role::Role),
    Node(NodeTool),
    #[cfg(feature = "site")]
    #[command(flatten)]
    Operator(crate::cli::Operator),
    /// The settings of this machine
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print completions for a shell
    #[cfg(feature = "site")]
    #[command(after_help = "Such as: colony completion bash > /etc/bash_completion.d/colony")]
    Completion {
        shell: clap_complete::Shell,
    },
}

/// Run this machine as a node of a site, or look after nodes
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
struct NodeTool {
    #[command(flatten)]
    run: NodeArgs,
    #[cfg(feature = "site")]
    #[command(subcommand)]
    command: Option<crate::cli::NodeCommand>,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Every setting, its value and where that came from
    ///
    /// If a role runs with this data directory, its values are those it started
    /// with, and the column ROLE names it. Otherwise they are the values a role
    /// started now would use.
    Show,
}

impl Tool {
    fn config(&self) -> anyhow::Result<Config> {
        let mut flags = match &self.command {
            #[cfg(feature = "site")]
            Command::Role(role) => role.flags(),
            Command::Node(node) => node.run.flags(),
            #[cfg(feature = "site")]
            Command::Operator(_) | Command::Completion { .. } => Vec::new(),
            Command::Config(_) => Vec::new(),
        };
        flags.push(("data", "data", self.common.data.clone()));
        flags.push(("log.level", "log", self.common.log.clone()));
        let environment = |name: &str| std::env::var(name).ok();
        Config::load(self.common.config.as_deref(), environment, &flags)
    }
}

pub(crate) fn run(tool: Tool) -> anyhow::Result<ExitCode> {
    let config = tool.config()?;
    match tool.command {
        #[cfg(feature = "site")]
        Command::Role(role) => start(&config, role.name(), role.run(&config)),
        #[cfg(feature = "site")]
        Command::Node(NodeTool { command: Some(command), .. }) => {
            operate(crate::cli::Operator::Node(command), &tool.global)
        }
        Command::Node(node) => start(&config, Some("node"), role::run_node(&config, &node.run)),
        #[cfg(feature = "site")]
        Command::Operator(command) => operate(command, &tool.global),
        #[cfg(feature = "site")]
        Command::Config(ConfigCommand::Show) => {
            crate::cli::show(&tool.global, &show::rows(&config)?, |it, _| show::table(it))
        }
        #[cfg(not(feature = "site"))]
        Command::Config(ConfigCommand::Show) => {
            crate::say(show::table(&show::rows(&config)?).trim_end());
            Ok(ExitCode::SUCCESS)
        }
        #[cfg(feature = "site")]
        Command::Completion { shell } => {
            use clap::CommandFactory;
            Ok(crate::cli::completion(shell, Tool::command()))
        }
    }
}

/// Runs a role. One thread is enough: it waits for I/O most of the time.
fn start(
    config: &Config,
    name: Option<&str>,
    role: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<ExitCode> {
    log::start(config)?;
    // The role also runs if its settings cannot be recorded for `config show`.
    let recorded = name.map(|it| Running::record(it, config)).transpose();
    let _running = recorded.inspect_err(|it| tracing::warn!("{it:#}")).ok();
    runtime()?.block_on(role)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "site")]
fn operate(command: crate::cli::Operator, global: &crate::cli::Global) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(crate::cli::run(command, global))
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
