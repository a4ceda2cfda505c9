//! `colony node list|show|invite|cordon|uncordon|retire`

use clap::{Args, Subcommand};

use super::reference::{NodeRef, lifetime};

#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    /// All nodes and whether they are heard
    List {
        /// Only those of this site
        #[arg(long)]
        site: Option<String>,
    },
    /// One node, what it can do and what runs there
    Show {
        #[arg(value_name = "SITE/NODE")]
        node: NodeRef,
    },
    Invite(NodeInvite),
    /// Give a node no new deployments; what runs there stays
    Cordon {
        #[arg(value_name = "SITE/NODE")]
        node: NodeRef,
    },
    /// Let a node take deployments again
    Uncordon {
        #[arg(value_name = "SITE/NODE")]
        node: NodeRef,
    },
    /// Forget a node for good: its identity ends, what it ran counts as removed, and its
    /// containers run on until an operator stops them on the machine
    Retire {
        #[arg(value_name = "SITE/NODE")]
        node: NodeRef,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}

/// Print the command that makes a machine a node of a site
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    colony node invite --site home\n  \
    run this on the other machine within 1 h (valid once):\n  \
    colony node --join col1_…")]
pub(crate) struct NodeInvite {
    /// [default: the only site]
    #[arg(long)]
    pub(crate) site: Option<String>,
    /// How long the command works [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub(crate) lifetime: Option<u64>,
}
