//! `colony app …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum AppCommand {
    /// Read the packages of a Git repository or folder into the catalog
    ///
    /// A package that cannot be used is reported with its place and removes
    /// nothing from the catalog. If none can be used, the exit code is 1.
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
        /// [default: the newest release, which `deploy` takes]
        version: Option<String>,
    },
    New(AppNew),
    /// Check packages, compose files and archives; works without a server
    ///
    /// Prints everything that is wrong at once, as file:line:column, with what
    /// would be right. Of a package the components are checked, too, whose
    /// compose files lie beside its margo.yaml. Of a folder without a margo.yaml
    /// all packages below it are checked.
    #[command(after_help = "Examples:\n  \
        colony app lint margo.yaml\n  \
        colony app lint camera/                          a package with its compose files\n  \
        colony app lint camera/web/compose.yaml\n  \
        colony app lint camera/web-1.0.0.tar.gz          an archive as nodes get it\n  \
        colony app lint .                                a whole registry")]
    Lint {
        #[arg(required = true, value_name = "FILE|FOLDER")]
        files: Vec<PathBuf>,
    },
    Package(AppPackage),
    Push(AppPush),
    PushImage(AppPushImage),
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

/// Make a folder with a package that works, to start from
///
/// It holds a margo.yaml and the compose file of its one component. The image
/// comes with colony, so that it runs before anything of your own is in it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    colony app new camera\n  \
    colony app new camera --registry registry.example/line3")]
pub(crate) struct AppNew {
    /// Is made; its last part is the application's id
    pub(crate) folder: PathBuf,
    /// The OCI registry its archive is pushed to, as nodes see it
    #[arg(long, value_name = "HOST[/PATH]", default_value = "localhost:5000")]
    pub(crate) registry: String,
}

/// Pack the compose components of a package into the archives nodes fetch
///
/// A component's files lie in the folder of its name beside margo.yaml; its
/// archive is written beside that folder. The same files give the same archive.
#[derive(Debug, Args)]
pub(crate) struct AppPackage {
    /// The folder with the margo.yaml
    #[arg(default_value = ".")]
    pub(crate) folder: PathBuf,
}

/// Pack the compose components of a package and push them to their OCI registry
///
/// Where to and under which revision is in margo.yaml. A revision that is there
/// with other content is refused: nodes keep what they have fetched.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    colony app push camera                           with the credentials of `docker login`\n  \
    colony app push camera --user ci --password-file ~/.registry-password")]
pub(crate) struct AppPush {
    /// The folder with the margo.yaml
    #[arg(default_value = ".")]
    pub(crate) folder: PathBuf,
    /// A file with credentials, read before those of `docker login` and `podman login`
    #[arg(long, value_name = "FILE", conflicts_with = "user")]
    pub(crate) registry_credentials: Option<PathBuf>,
    /// Your user name at the registry
    #[arg(long, requires = "password_file")]
    pub(crate) user: Option<String>,
    /// A file with the password
    #[arg(long, value_name = "FILE", requires = "user")]
    pub(crate) password_file: Option<PathBuf>,
    /// Speak to the registry without TLS; on this machine that is done anyway
    #[arg(long)]
    pub(crate) insecure: bool,
}

/// Push the image of the application `hello` to a registry, for clusters
///
/// Docker, Podman and containerd get it from colony itself. A cluster pulls
/// images on its own, so the image has to be in a registry that its machines
/// can read.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    colony app push-image registry.example/hello:1.0\n  \
    colony deploy hello --set image=registry.example/hello:1.0 --watch")]
pub(crate) struct AppPushImage {
    /// Registry, name and tag
    #[arg(value_name = "REFERENCE")]
    pub(crate) reference: String,
    /// A file with credentials, read before those of `docker login` and `podman login`
    #[arg(long, value_name = "FILE")]
    pub(crate) registry_credentials: Option<PathBuf>,
    /// Speak to the registry without TLS; on this machine that is done anyway
    #[arg(long)]
    pub(crate) insecure: bool,
}
