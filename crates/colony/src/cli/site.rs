//! `colony site`, `hold`, `release`, `quarantine` and `repo`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::reference::{Setting, lifetime};

#[derive(Debug, Subcommand)]
pub(crate) enum SiteCommand {
    /// All sites, their nodes and how they stand
    List,
    /// One site with its nodes, holds and findings
    Show {
        site: String,
    },
    Add(SiteAdd),
    Invite(SiteInvite),
    /// Accept that a site's own CA is another one than on record
    ///
    /// Nodes are invited with its fingerprint. A site that reports another one is
    /// refused, and `colony event` shows both: make sure that it was replaced on
    /// purpose.
    Trust {
        site: String,
        /// sha256:…, as the site reports it
        fingerprint: String,
    },
}

/// Add a site and print the command that starts its orchestrator
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    colony site add plant-b --label country=de\n  \
    run this on the other machine within 1 h (valid once):\n  \
    colony local --join col1_…")]
pub(crate) struct SiteAdd {
    /// Lower-case letters, digits and dashes; a site keeps its name
    pub(crate) name: String,
    /// Kept with the site, nothing acts on it yet; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) label: Vec<Setting>,
    /// How long the command works [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub(crate) lifetime: Option<u64>,
}

/// Print a fresh command for a site's orchestrator
#[derive(Debug, Args)]
pub(crate) struct SiteInvite {
    pub(crate) site: String,
    /// It takes over from an orchestrator that may still run
    #[arg(long)]
    pub(crate) replace: bool,
    /// How long the command works [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub(crate) lifetime: Option<u64>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineCommand {
    /// What is refused, where and why
    List {
        /// Only at this site
        #[arg(long)]
        site: Option<String>,
    },
    /// Allow all quarantined versions of a deployment to be tried again
    Release {
        deployment: String,
        /// Sites by comma [default: wherever it is refused]
        #[arg(long, value_delimiter = ',', value_name = "SITE,…")]
        site: Vec<String>,
    },
}

/// Stop new attempts of a deployment, or of a whole site
///
/// What runs keeps running; rollbacks and repairs go on.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    colony hold --site plant-b --note 'audit until Friday'\n  \
    colony hold hello --site plant-b\n  \
    colony --socket /var/lib/colony/local/local.sock hold      at the site itself, without WAN")]
pub(crate) struct Hold {
    /// Without it, the whole site is held
    pub(crate) deployment: Option<String>,
    /// Sites by comma [default: wherever the deployment is]
    #[arg(long, value_delimiter = ',', value_name = "SITE,…")]
    pub(crate) site: Vec<String>,
    /// The reason, for operators who ask
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(crate) note: String,
}

/// Let go what waits for a person's word
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    colony release --site plant-b\n  \
    colony release --site plant-b --what removal        a commit that removes much at once\n  \
    colony release --site plant-b --what history        a rewritten history in Git")]
pub(crate) struct Release {
    /// Without it, the whole site's hold
    #[arg(conflicts_with = "what")]
    pub(crate) deployment: Option<String>,
    /// Sites by comma [default: wherever the deployment is held]
    #[arg(long, value_delimiter = ',', value_name = "SITE,…")]
    pub(crate) site: Vec<String>,
    /// What to let go [default: hold]
    #[arg(long, value_enum)]
    pub(crate) what: Option<ReleaseTarget>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReleaseTarget {
    Hold,
    Removal,
    History,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RepoCommand {
    /// Where it is and how to get in
    Show,
    /// Clone it with git, set up with your token and the fleet's CA
    Clone {
        /// [default: deployments]
        directory: Option<PathBuf>,
    },
}
