//! Backup and restore: everything of this role that cannot be recreated, in one
//! file.
//!
//! The file is a tar archive that only its owner can read: a description, the
//! database, the hosted repository, the fleet's authority and keys. The
//! database is copied before the repository, so that Git has every commit that
//! the database refers to.

mod archive;
mod restore;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use colony_core::time::Timestamp;
use colony_store::CentralStore;
use serde::{Deserialize, Serialize};

pub use restore::{Restored, restore};

use crate::clock;
use crate::config::Config;

const FORMAT: u32 = 1;
const ABOUT: &str = "backup.json";
const DATABASE: &str = "central.db";
const BUNDLE: &str = "deployments.bundle";
/// Files of the data directory that are secret or cannot be recreated.
const KEYS: [&str; 4] = ["ca/ca.key", "ca/ca.pem", "token.key", "admin.token"];

/// The description of a backup, stored in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    pub format: u32,
    /// The version of the program that made it.
    pub version: String,
    pub at: Timestamp,
    /// The database is inside; otherwise it is Postgres, saved by its own
    /// tools.
    pub database: bool,
    /// The repository is inside; otherwise it is on an external server.
    pub repository: bool,
}

/// Writes a backup to `file`; the role may run meanwhile.
pub async fn backup(config: &Config, file: &Path) -> anyhow::Result<About> {
    if !config.data.join("ca/ca.pem").exists() {
        bail!("there is no central orchestrator in {}", config.data.display());
    }
    if file.exists() {
        bail!("{} exists: a backup replaces nothing", file.display());
    }
    let parts = with_ending(file, "parts");
    // Left over from an interrupted backup.
    let _ = std::fs::remove_dir_all(&parts);
    let made = make(config, file, &parts).await;
    // A failed backup leaves nothing behind, as far as possible.
    let _ = std::fs::remove_dir_all(&parts);
    made.with_context(|| format!("could not write the backup {}", file.display()))
}

async fn make(config: &Config, file: &Path, parts: &Path) -> anyhow::Result<About> {
    archive::folder(parts)?;
    // The role may be running: nothing is changed, not even the schema version.
    let store = CentralStore::open_as_is(&config.database_url()).await;
    let store = store.context("could not open the database")?;
    let copied = store.copy_to(&parts.join(DATABASE)).await;
    store.close().await;
    let database = copied.context("could not copy the database")?;
    let repository = config.git.is_none();
    if repository {
        let (from, to) = (config.data.join("deployments.git"), parts.join(BUNDLE));
        let saved = tokio::task::spawn_blocking(move || colony_git::bundle::save(&from, &to));
        saved.await?.context("could not copy the repository")?;
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let about = About { format: FORMAT, version, at: clock::wall(), database, repository };
    let mut files = vec![(ABOUT, archive::Content::Text(serde_json::to_string_pretty(&about)?))];
    files.extend(database.then(|| (DATABASE, archive::Content::File(parts.join(DATABASE)))));
    files.extend(repository.then(|| (BUNDLE, archive::Content::File(parts.join(BUNDLE)))));
    files.extend(KEYS.map(|it| (it, archive::Content::File(config.data.join(it)))));
    colony_process::fail::hit(colony_process::fail::Point::CentralBackupCopied);
    let (to, aside) = (file.to_owned(), with_ending(file, "tmp"));
    tokio::task::spawn_blocking(move || archive::write(&to, &aside, &files)).await??;
    Ok(about)
}

/// A backup in memory: its files by name, and its description.
#[cfg(feature = "fuzz")]
pub type Unpacked = (Vec<(&'static str, Vec<u8>)>, About);

#[cfg(feature = "fuzz")]
pub(crate) fn unpacked(bytes: &[u8]) -> anyhow::Result<Unpacked> {
    let mut files = Vec::new();
    archive::unpack(bytes, bytes.len() as u64, |name, content| {
        let mut kept = Vec::new();
        content.read_to_end(&mut kept)?;
        files.push((name, kept));
        Ok(())
    })?;
    let about = files.iter().find(|it| it.0 == ABOUT).map(|it| restore::about(&it.1));
    let about = about.context("it does not say what it is")??;
    Ok((files, about))
}

/// `<file>.<ending>`, in the same folder.
fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{ending}"));
    file.with_file_name(name)
}
