//! `colony deployment …`, and `colony deploy` with its settings

pub(super) mod deploy;
mod setting;

use clap::{Args, Subcommand};

use super::reference::{NodeRef, Patience};

#[derive(Debug, Subcommand)]
pub(crate) enum DeploymentCommand {
    /// All deployments and how they stand
    List {
        /// Only those at this site
        #[arg(long)]
        site: Option<String>,
    },
    /// One deployment on all its nodes
    Show {
        name: String,
        /// Stay until what is under way is done
        #[arg(short, long)]
        watch: bool,
        #[command(flatten)]
        patience: Patience,
    },
    /// Its commits: who wanted what, where and when
    History {
        name: String,
    },
    Delete(Delete),
    Retry(Retry),
    Rollback(Rollback),
    /// Open the next step of a rollout, also before its soak is over
    Promote(Steer),
    /// Start nothing more of a rollout; what goes back or is repaired goes on
    Pause(Steer),
    /// Let a paused rollout go on
    Resume(Steer),
    /// End a rollout: the version is refused and everything goes back
    Abort(Steer),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    colony deployment pause hello --note 'line 3 is being serviced'\n  \
    colony deployment promote hello --site plant-b")]
pub(crate) struct Steer {
    pub(crate) name: String,
    /// Sites by comma [default: wherever it is being rolled out]
    #[arg(long, value_delimiter = ',', value_name = "SITE,…")]
    pub(crate) site: Vec<String>,
    /// The reason of a pause or an abort, for operators who ask
    #[arg(long, default_value = "")]
    pub(crate) note: String,
}

/// Remove a deployment from Git and from its nodes
///
/// Nodes that are offline are cleaned up when they return. Volumes are kept
/// unless `--purge` is given.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    colony deployment delete hello --watch\n  \
    colony deployment delete hello --site plant-b       stays at the other sites\n  \
    colony deployment delete hello --force              do not wait for nodes that never return\n  \
    colony deployment delete hello --purge              remove its volumes, too")]
pub(crate) struct Delete {
    pub(crate) name: String,
    /// Sites by comma [default: everywhere]
    #[arg(long, value_delimiter = ',', value_name = "SITE,…")]
    pub(crate) site: Vec<String>,
    /// Wait for no node, online or not: what is not confirmed counts as removed
    #[arg(long)]
    pub(crate) force: bool,
    /// Remove its volumes as well, with all data in them
    #[arg(long)]
    pub(crate) purge: bool,
    /// Stay until it is gone
    #[arg(short, long, conflicts_with = "dry_run")]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) patience: Patience,
    /// Show what would go; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// Try what failed again, at once and with all its tries
#[derive(Debug, Args)]
pub(crate) struct Retry {
    pub(crate) name: String,
    /// Sites by comma [default: wherever it failed]
    #[arg(long, value_delimiter = ',', value_name = "SITE,…")]
    pub(crate) site: Vec<String>,
    /// Only on this node
    #[arg(long, value_name = "SITE/NODE", conflicts_with = "site")]
    pub(crate) node: Option<NodeRef>,
    /// Stay until it has ended
    #[arg(short, long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) patience: Patience,
}

/// Go back to a version that ran before
///
/// A rollback is a commit, too. Without --to every site goes back to its last
/// good version and refuses the present one until it is released.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    colony deployment rollback hello --to 1.0 --watch\n  \
    colony deployment rollback hello --site plant-b")]
pub(crate) struct Rollback {
    pub(crate) name: String,
    /// The version, or the commit, to go back to; `colony deployment history` shows them
    #[arg(long, value_name = "VERSION|COMMIT")]
    pub(crate) to: Option<String>,
    /// Sites by comma [default: everywhere]
    #[arg(long, value_delimiter = ',', value_name = "SITE,…")]
    pub(crate) site: Vec<String>,
    /// Stay and show what happens until it is done
    #[arg(short, long, conflicts_with = "dry_run")]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) patience: Patience,
    /// Show the plan and the change in Git; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}
