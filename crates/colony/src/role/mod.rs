//! The roles as commands: how each is started, and how all of them are stopped.

#[cfg(feature = "full")]
mod central;
#[cfg(feature = "site")]
mod local;
mod node;
#[cfg(feature = "full")]
pub(crate) mod operator;
#[cfg(feature = "full")]
mod up;

use tokio_util::sync::CancellationToken;

use crate::config::Config;
pub(crate) use node::Args as NodeArgs;

/// A setting, the flag that sets it, and the given value.
pub(crate) type Flag = (&'static str, &'static str, Option<String>);

/// The roles of an orchestrator.
#[cfg(feature = "site")]
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Role {
    /// Run everything on this machine: the way to try colony
    #[cfg(feature = "full")]
    #[command(after_help = up::EXAMPLES)]
    Up(up::Args),
    /// Run the central orchestrator of a fleet
    #[cfg(feature = "full")]
    #[command(after_help = central::EXAMPLES)]
    Central(central::Args),
    /// Run the orchestrator of a site
    #[command(after_help = local::EXAMPLES)]
    Local(local::Args),
}

#[cfg(feature = "site")]
impl Role {
    pub(crate) fn flags(&self) -> Vec<Flag> {
        match self {
            #[cfg(feature = "full")]
            Role::Up(args) => args.flags(),
            #[cfg(feature = "full")]
            Role::Central(args) => args.flags(),
            Role::Local(args) => args.flags(),
        }
    }

    /// The name of the role; `None` for commands that only maintain its data.
    pub(crate) fn name(&self) -> Option<&'static str> {
        match self {
            #[cfg(feature = "full")]
            Role::Up(_) => Some("up"),
            #[cfg(feature = "full")]
            Role::Central(args) => args.command.is_none().then_some("central"),
            Role::Local(_) => Some("local"),
        }
    }

    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<()> {
        let stop = stop_on_signals()?;
        match self {
            #[cfg(feature = "full")]
            Role::Up(_) => up::run(config, stop).await,
            #[cfg(feature = "full")]
            Role::Central(args) => central::run(config, &args, stop).await,
            Role::Local(args) => local::run(config, &args, stop).await,
        }
    }
}

pub(crate) async fn run_node(config: &Config, args: &NodeArgs) -> anyhow::Result<()> {
    node::run(config, args, stop_on_signals()?).await
}

/// Cancelled by Ctrl-C or by the supervisor of the process.
fn stop_on_signals() -> anyhow::Result<CancellationToken> {
    use tokio::signal::unix::{SignalKind, signal};
    let stop = CancellationToken::new();
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let token = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        token.cancel();
    });
    Ok(stop)
}
