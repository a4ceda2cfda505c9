//! Backup and restore: what of this role cannot be had again, in one file.
//!
//! The file is a tar archive for its owner only: what it is, the database, the
//! hosted repository, the fleet's authority and keys. The database is copied
//! before the repository, so that Git has whatever the database speaks of.

mod archive;
mod restore;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use colony_core::time::Wall;
use colony_store::CentralStore;
use serde::{Deserialize, Serialize};

pub use restore::{Restored, restore};

use crate::clock;
use crate::config::Config;

const FORMAT: u32 = 1;
const ABOUT: &str = "backup.json";
const DATABASE: &str = "central.db";
const BUNDLE: &str = "deployments.bundle";
/// Files of the data directory that are secrets, or cannot be made again.
const KEYS: [&str; 4] = ["ca/ca.key", "ca/ca.pem", "token.key", "admin.token"];

/// What a backup says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    pub format: u32,
    /// Of the program that made it.
    pub version: String,
    pub at: Wall,
    /// The database is inside; else it is Postgres, saved by its own tools.
    pub database: bool,
    /// The repository is inside; else it is on somebody else's server.
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
    let parts = beside(file, "parts");
    // Of a backup that was cut off.
    let _ = std::fs::remove_dir_all(&parts);
    let made = make(config, file, &parts).await;
    // What failed leaves nothing behind, as far as it can.
    let _ = std::fs::remove_dir_all(&parts);
    made.with_context(|| format!("could not write the backup {}", file.display()))
}

async fn make(config: &Config, file: &Path, parts: &Path) -> anyhow::Result<About> {
    archive::folder(parts)?;
    // Beside the role that runs: nothing is changed, not even the tables' version.
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
    colony_fail::hit(colony_fail::Point::CentralBackupCopied);
    let (to, aside) = (file.to_owned(), beside(file, "tmp"));
    tokio::task::spawn_blocking(move || archive::write(&to, &aside, &files)).await??;
    Ok(about)
}

/// A backup in memory: its files by name, and what it says of itself.
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
fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{ending}"));
    file.with_file_name(name)
}
