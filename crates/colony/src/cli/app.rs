//! `colony app …`

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum AppCommand {
    /// Read the packages of a Git repository or folder into the catalog
    ///
    /// A package that cannot be used is told with its place and takes nothing
    /// away. If none can be used, the exit code is 1.
    #[command(after_help = "Examples:\n  \
        colony app add https://git.example.com/apps.git\n  \
        colony app add /srv/apps --name house            a folder on the server's machine")]
    Add {
        /// A path or URL, as the central orchestrator sees it
        url: String,
        /// What to call it [default: the last part of the URL]
        #[arg(long)]
        name: Option<String>,
        /// [default: the repository's own]
        #[arg(long)]
        branch: Option<String>,
    },
    /// All applications of the catalog
    List,
    /// One application: versions, profiles, parameters
    #[command(disable_version_flag = true)]
    Show {
        id: String,
        /// [default: the newest]
        version: Option<String>,
    },
    /// Check margo.yaml files; works without a server
    ///
    /// Prints everything that is wrong at once, as file:line:column, with what
    /// would be right. Of a folder without a margo.yaml all packages below it
    /// are checked.
    #[command(after_help = "Examples:\n  \
        colony app lint margo.yaml\n  \
        colony app lint packages/*/                      folders that hold a margo.yaml\n  \
        colony app lint .                                a whole registry")]
    Lint {
        #[arg(required = true, value_name = "FILE|FOLDER")]
        files: Vec<PathBuf>,
    },
    /// Where applications come from
    #[command(subcommand)]
    Registry(RegistryCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum RegistryCommand {
    /// All registries and how their last reading went
    List,
    /// One registry, with everything that is wrong with its packages
    Show { name: String },
    /// Read a registry again at once
    ///
    /// Repositories are read every 5 minutes and folders every 30 seconds anyway.
    Sync { name: String },
    /// Read a registry no more; deployments stay as they are
    Delete { name: String },
}
