//! `colony local`: the orchestrator of a site.

use tokio_util::sync::CancellationToken;

use anyhow::Context as _;

use colony_local::{Auth, FetchLimits, GitSource, Remote, Secret};

use super::Flag;
use crate::config::{self, Config};
use crate::{address, say};

pub(crate) const EXAMPLES: &str = "\
An operator prints the invitation with `colony site add <name>`. Then, once:
  colony local --join col1_… --listen 0.0.0.0
and from then on `colony local` alone: it keeps the flags of its join. A flag at
a later start counts for that start, and the configuration file comes first.

The site engineer's commands work here without the central orchestrator:
  colony status --socket <data>/local/local.sock";

#[derive(Debug, Default, Clone, clap::Args)]
pub(crate) struct Args {
    /// The invitation, printed by `colony site add`; needed once
    #[arg(long, value_name = "INVITATION")]
    pub(crate) join: Option<String>,
    /// Take the site over from an orchestrator that was in contact recently
    #[arg(long)]
    pub(crate) replace: bool,
    /// The deployments repository, if not as the central orchestrator says
    #[arg(long, value_name = "URL")]
    pub(crate) git: Option<String>,
    /// Where nodes connect, such as 0.0.0.0 or 0.0.0.0:7444
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// URLs nodes reach it by, comma-separated
    #[arg(long, value_name = "URLS")]
    pub(crate) advertise: Option<String>,
}

impl Args {
    pub(crate) fn flags(&self) -> Vec<Flag> {
        vec![
            ("git.url", "git", self.git.clone()),
            ("local.listen", "listen", self.listen.clone()),
            ("local.advertise", "advertise", self.advertise.clone()),
        ]
    }
}

pub(crate) async fn run(
    config: &Config,
    args: &Args,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let start = colony_local::start(settings(config, args.join.clone(), args.replace)?);
    // Joining retries until the central orchestrator responds.
    let local = tokio::select! {
        started = start => started?,
        () = stop.cancelled() => return Ok(()),
    };
    if args.join.is_some() {
        config.keep_joined("local", &args.flags())?;
    }
    say(&format!("site {} on {}", local.site(), local.urls().join(", ")));
    say(&format!("next: colony node invite --site {}", local.site()));
    local.run(stop).await
}

pub(crate) fn settings(
    config: &Config,
    join: Option<String>,
    replace: bool,
) -> anyhow::Result<colony_local::Config> {
    let usual = "127.0.0.1:7444".parse()?;
    let listen = address::listen(config.get("local.listen").unwrap_or_default(), usual)?;
    Ok(colony_local::Config {
        listen,
        advertise: config::list(config.get("local.advertise")),
        join,
        replace,
        git: git(config)?,
        fetch: fetch_limits(config)?,
        ..colony_local::Config::new(config.data().join("local"))
    })
}

/// The limits of one fetch, at either orchestrator.
pub(crate) fn fetch_limits(config: &Config) -> anyhow::Result<FetchLimits> {
    let setting = |name: &str| config.get(name).unwrap_or_default().to_owned();
    let bytes = config::bytes(&setting("git.fetch-limit"));
    let time = config::seconds(&setting("git.fetch-timeout"));
    Ok(FetchLimits {
        bytes: bytes.context("git.fetch-limit cannot be used")?,
        time: time.context("git.fetch-timeout cannot be used")?,
    })
}

/// The configured repository; without one the central orchestrator's setting is
/// used.
fn git(config: &Config) -> anyhow::Result<Option<GitSource>> {
    let Some(url) = config.get("git.url") else { return Ok(None) };
    let auth = git_auth(config, url)?;
    let branch = config.get("git.branch").unwrap_or("main").to_owned();
    Ok(Some(GitSource { remote: Remote { url: url.to_owned(), auth }, branch }))
}

/// The credentials for the repository, for either orchestrator.
pub(super) fn git_auth(config: &Config, url: &str) -> anyhow::Result<Auth> {
    Ok(match config.secret("git.token-file")? {
        Some(token) => Auth::Token(Secret::new(token)),
        None if is_ssh(url) => Auth::Ssh,
        None => Auth::None,
    })
}

/// `ssh://…` or `user@host:path`.
fn is_ssh(url: &str) -> bool {
    url.starts_with("ssh://") || (!url.contains("://") && url.contains('@') && url.contains(':'))
}
