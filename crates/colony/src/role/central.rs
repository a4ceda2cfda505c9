//! `colony central`: the central orchestrator of a fleet.

use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use colony_central::{Central, GitConfig};

use super::local::{fetch_limits, git_auth};
use super::{Flag, operator};
use crate::config::{self, Config};
use crate::{address, say};

pub(crate) const EXAMPLES: &str = "\
Examples:
  colony central --listen 0.0.0.0                       hosts the deployments repository itself
  colony central --git https://git.example/fleet.git    writes to a repository of yours
  colony central --database postgres://colony@db/colony
  colony central backup /backup/fleet.tar               while it runs

The commands of the same machine find it by themselves. From another machine:
  COLONY_TOKEN=$(cat admin.token) colony --server https://hub:7443 --ca ca.pem status";

#[derive(Debug, Default, Clone, clap::Args)]
pub(crate) struct Args {
    /// Where operators and sites connect, such as 0.0.0.0 or 0.0.0.0:7443
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// URLs others reach it by, comma-separated
    #[arg(long, value_name = "URLS")]
    pub(crate) advertise: Option<String>,
    /// postgres://… or sqlite:<file>
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// The deployments repository: a path, https://… or ssh://…
    #[arg(long, value_name = "URL")]
    pub(crate) git: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Option<CentralCommand>,
}

/// Looks after what the role keeps.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum CentralCommand {
    /// Save everything that cannot be had again to one file; the role may run
    ///
    /// Holds keys: the file is for its owner only. With Postgres the database
    /// is left to pg_dump.
    Backup { file: PathBuf },
    /// Make the central orchestrator of this machine from a backup
    ///
    /// Its folder has to be empty. Sites send again what happened since, and
    /// no workload is touched. With Postgres, restore the database before.
    Restore { file: PathBuf },
}

impl Args {
    pub(crate) fn flags(&self) -> Vec<Flag> {
        vec![
            ("central.listen", "listen", self.listen.clone()),
            ("central.advertise", "advertise", self.advertise.clone()),
            ("central.database", "database", self.database.clone()),
            ("git.url", "git", self.git.clone()),
        ]
    }
}

pub(crate) async fn run(
    config: &Config,
    args: &Args,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    match &args.command {
        Some(CentralCommand::Backup { file }) => return backup(config, file).await,
        Some(CentralCommand::Restore { file }) => return restore(config, file).await,
        None => {}
    }
    let central = start(config).await?;
    operator::remember(&central)?;
    say(&format!("central {}", central.url()));
    say("next: colony site add <name>");
    central.run(stop).await
}

async fn backup(config: &Config, file: &Path) -> anyhow::Result<()> {
    let about = colony_central::backup(&settings(config)?, file).await?;
    say(&format!("saved to {}; it holds keys, keep it safe", file.display()));
    if !about.database {
        say("without the database, which is Postgres: save it with pg_dump, before this");
    }
    if !about.repository {
        say("without the deployments repository, which is on another server");
    }
    Ok(())
}

async fn restore(config: &Config, file: &Path) -> anyhow::Result<()> {
    let restored = colony_central::restore(&settings(config)?, file).await?;
    let place = config.data().join("central");
    say(&format!("restored to {}; events are of epoch {}", place.display(), restored.epoch));
    say("next: colony central; sites send what happened since the backup");
    Ok(())
}

pub(crate) async fn start(config: &Config) -> anyhow::Result<Central> {
    colony_central::start(settings(config)?).await
}

fn settings(config: &Config) -> anyhow::Result<colony_central::Config> {
    let usual = "127.0.0.1:7443".parse()?;
    let listen = address::listen(config.get("central.listen").unwrap_or_default(), usual)?;
    Ok(colony_central::Config {
        data: config.data().join("central"),
        listen,
        advertise: config::list(config.get("central.advertise")),
        database: config.get("central.database").map(str::to_owned),
        git: git(config)?,
        fetch: fetch_limits(config)?,
    })
}

fn git(config: &Config) -> anyhow::Result<Option<GitConfig>> {
    let Some(url) = config.get("git.url") else { return Ok(None) };
    let branch = config.get("git.branch").unwrap_or("main").to_owned();
    Ok(Some(GitConfig { branch, auth: git_auth(config, url)?, ..GitConfig::new(url) }))
}
