//! `colony event`, `logs` and `why`

use clap::Args;

use super::reference::{NodeRef, lifetime};

/// What happened, in the order it arrived
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    colony event --deployment hello --last 50\n  \
    colony event --follow --site plant-b -o json        one JSON object per line")]
pub(crate) struct EventArgs {
    /// Stay and print what happens
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// The newest so many
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) last: u32,
    #[arg(long)]
    pub(crate) site: Option<String>,
    /// An application's id
    #[arg(long)]
    pub(crate) app: Option<String>,
    #[arg(long)]
    pub(crate) deployment: Option<String>,
    #[arg(long, value_name = "SITE/NODE", conflicts_with = "site")]
    pub(crate) node: Option<NodeRef>,
    /// Such as state_transition or node_presence
    #[arg(long)]
    pub(crate) kind: Option<String>,
}

/// What a deployment's containers printed
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    colony logs hello                                   where it is on one node only\n  \
    colony logs hello --node home/laptop --previous     of the version before, after a rollback\n  \
    colony logs hello --service web --since 10m --timestamps\n  \
    colony logs hello --node home/laptop --follow")]
pub(crate) struct Logs {
    pub(crate) deployment: String,
    /// [default: the only node it is on]
    #[arg(long, value_name = "SITE/NODE")]
    pub(crate) node: Option<NodeRef>,
    /// Of the containers that were replaced
    #[arg(long, conflicts_with = "follow")]
    pub(crate) previous: bool,
    /// The last so many of each container; --follow goes on from there
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) lines: u32,
    /// Nothing older than this: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub(crate) since: Option<u64>,
    /// Of this service alone
    #[arg(long)]
    pub(crate) service: Option<String>,
    /// Say when each line was printed, in UTC by the node's clock
    #[arg(long)]
    pub(crate) timestamps: bool,
    /// Stay and print what is added
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Print control characters, such as colours, also to a terminal
    ///
    /// They are replaced there by default: a container can use them to hide
    /// lines or to write into the clipboard.
    #[arg(long)]
    pub(crate) raw: bool,
}

/// Why is it not running yet, who has to act, and what happens next
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    colony why                                          the whole fleet\n  \
    colony why hello\n  \
    colony why hello --site plant-b\n  \
    colony why --site plant-b                           everything at the site\n  \
    colony why --node plant-b/b2                        the node and what is on it")]
pub(crate) struct Why {
    /// [default: the whole fleet]
    pub(crate) deployment: Option<String>,
    #[arg(long)]
    pub(crate) site: Option<String>,
    #[arg(long, value_name = "SITE/NODE", conflicts_with_all = ["deployment", "site"])]
    pub(crate) node: Option<NodeRef>,
}
