//! The configuration of this role.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use colony_git::{Auth, FetchLimits};

/// Where the role stores its data, where it listens and what it uses.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folder of this role alone, such as `<data>/central`.
    pub data: PathBuf,
    /// Port 0 takes any free one.
    pub listen: SocketAddr,
    /// URLs of this role, the first one for people; made from `listen` if there
    /// is none.
    pub advertise: Vec<String>,
    /// `sqlite:/path/file.db` or `postgres://…`; SQLite in `data` if absent.
    pub database: Option<String>,
    /// The deployments repository; hosted by this role if absent.
    pub git: Option<GitConfig>,
    /// The limits of a fetch of a registry or of the deployments repository.
    pub fetch: FetchLimits,
}

/// A deployments repository on an external server.
#[derive(Debug, Clone)]
pub struct GitConfig {
    /// A path, `file://`, `https://`, `ssh://` or scp-like address.
    pub url: String,
    pub branch: String,
    pub auth: Auth,
    /// How often the branch is polled.
    pub poll: Duration,
}

impl Config {
    /// A role with everything of its own in `data`.
    pub fn new(data: PathBuf, listen: SocketAddr) -> Config {
        let fetch = FetchLimits::default();
        Config { data, listen, advertise: Vec::new(), database: None, git: None, fetch }
    }

    /// The URL of the database. It may contain a password, so it is not
    /// printed.
    pub(crate) fn database_url(&self) -> String {
        let own = || format!("sqlite:{}", self.data.join("central.db").display());
        self.database.clone().unwrap_or_else(own)
    }
}

impl GitConfig {
    pub fn new(url: &str) -> GitConfig {
        GitConfig {
            url: url.to_owned(),
            branch: "main".to_owned(),
            auth: Auth::None,
            poll: Duration::from_secs(10),
        }
    }
}
