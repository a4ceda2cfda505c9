//! `colony central`: the central orchestrator of a fleet.

use tokio_util::sync::CancellationToken;

use colony_central::{Central, GitConfig, GitCredentials, Secret};

use super::{Flag, operator};
use crate::config::{self, Config};
use crate::{address, say};

pub(crate) const EXAMPLES: &str = "\
Examples:
  colony central --listen 0.0.0.0                       hosts the deployments repository itself
  colony central --git https://git.example/fleet.git    writes to a repository of yours
  colony central --database postgres://colony@db/colony

The commands of the same machine find it by themselves. From another machine:
  COLONY_TOKEN=$(cat admin.token) colony --server https://hub:7443 --ca ca.pem status";

#[derive(Debug, Default, Clone, clap::Args)]
pub(crate) struct Args {
    /// Where operators and sites connect, such as 0.0.0.0 or 0.0.0.0:7443
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// URLs others reach it by, with commas between
    #[arg(long, value_name = "URLS")]
    pub(crate) advertise: Option<String>,
    /// postgres://… or sqlite:<file>
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// The deployments repository: a path, https://… or ssh://…
    #[arg(long, value_name = "URL")]
    pub(crate) git: Option<String>,
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

pub(crate) async fn run(config: &Config, stop: CancellationToken) -> anyhow::Result<()> {
    let central = start(config).await?;
    operator::remember(&central)?;
    say(&format!("central {}", central.url()));
    say("next: colony site add <name>");
    central.run(stop).await
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
    })
}

fn git(config: &Config) -> anyhow::Result<Option<GitConfig>> {
    let Some(url) = config.get("git.url") else { return Ok(None) };
    let branch = config.get("git.branch").unwrap_or("main").to_owned();
    let credentials = match (config.secret("git.token-file")?, is_ssh(url)) {
        (Some(token), _) => GitCredentials::Token(Secret::new(token)),
        (None, true) => GitCredentials::Ssh,
        (None, false) => GitCredentials::None,
    };
    Ok(Some(GitConfig { branch, credentials, ..GitConfig::new(url) }))
}

/// `ssh://…` or `user@host:path`.
pub(super) fn is_ssh(url: &str) -> bool {
    url.starts_with("ssh://") || (!url.contains("://") && url.contains('@') && url.contains(':'))
}
