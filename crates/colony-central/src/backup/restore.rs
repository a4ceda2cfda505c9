//! Restores a central orchestrator from a backup.
//!
//! Everything is made in a temporary folder that is renamed at the end. The
//! positions of events get another epoch, and numbers that may have been
//! assigned since the backup are not assigned again. The sites send the events
//! since the backup again; no workload is touched.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use colony_core::event::CentralEvent;
use colony_core::fleet::Fleet;
use colony_store::{CentralStore, Write};

use super::{ABOUT, About, BUNDLE, DATABASE, FORMAT, archive, with_ending};
use crate::brain::{own_event, rows_of};
use crate::clock;
use crate::config::Config;

/// The result of a restore.
#[derive(Debug)]
pub struct Restored {
    pub about: About,
    /// The epoch of event positions from here on.
    pub epoch: String,
}

/// Makes the role of `config` from the backup `file`.
///
/// With Postgres the database has to be restored first, by its own tools.
pub async fn restore(config: &Config, file: &Path) -> anyhow::Result<Restored> {
    let taken = std::fs::read_dir(&config.data).is_ok_and(|mut it| it.next().is_some());
    if taken {
        bail!("{} is not empty: move it away first", config.data.display());
    }
    let aside = with_ending(&config.data, "restoring");
    // Left over from an interrupted restore.
    let _ = std::fs::remove_dir_all(&aside);
    let made = make(config, file, &aside).await;
    if made.is_err() {
        let _ = std::fs::remove_dir_all(&aside);
    }
    made.with_context(|| format!("could not restore {}", file.display()))
}

async fn make(config: &Config, file: &Path, aside: &Path) -> anyhow::Result<Restored> {
    archive::folder(aside)?;
    let (from, to) = (file.to_owned(), aside.to_owned());
    tokio::task::spawn_blocking(move || archive::read(&from, &to)).await??;
    let text = std::fs::read(aside.join(ABOUT)).context("it does not say what it is")?;
    let about = about(&text)?;
    complete(&about, aside)?;
    repository(config, &about, aside).await?;
    let database = database(config, &about, aside)?;
    let epoch = rewind(&database, &about).await?;
    colony_process::fail::hit(colony_process::fail::Point::CentralRestoreRewound);
    std::fs::remove_file(aside.join(ABOUT))?;
    // An empty folder may exist; a non-empty one was refused above.
    let _ = std::fs::remove_dir(&config.data);
    std::fs::rename(aside, &config.data)?;
    let parent = config.data.parent().filter(|it| !it.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(Restored { about, epoch })
}

pub(super) fn about(text: &[u8]) -> anyhow::Result<About> {
    let about: About = serde_json::from_slice(text).context("it does not say what it is")?;
    if about.format != FORMAT {
        let version: String = about.version.chars().take(64).collect();
        let (found, version) = (about.format, version.escape_debug());
        bail!("it has format {found}, made by colony {version}; this one reads {FORMAT}");
    }
    Ok(about)
}

/// Refuses an incomplete backup: a missing database would be created empty.
fn complete(about: &About, aside: &Path) -> anyhow::Result<()> {
    for (said, name) in [(about.database, DATABASE), (about.repository, BUNDLE)] {
        if said && !aside.join(name).exists() {
            bail!("it is cut off, or no backup: `{name}` is missing");
        }
    }
    Ok(())
}

async fn repository(config: &Config, about: &About, aside: &Path) -> anyhow::Result<()> {
    if !about.repository || config.git.is_some() {
        return Ok(());
    }
    let (dir, bundle) = (aside.join("deployments.git"), aside.join(BUNDLE));
    let restored = tokio::task::spawn_blocking(move || {
        colony_git::bundle::restore(&dir, &bundle).map(|()| std::fs::remove_file(&bundle))
    });
    restored.await?.context("could not restore the repository")??;
    Ok(())
}

/// The address of the database that is restored.
fn database(config: &Config, about: &About, aside: &Path) -> anyhow::Result<String> {
    let inside = aside.join(DATABASE);
    let Some(url) = &config.database else {
        if !about.database {
            bail!("its database was Postgres: say where the restored one is with --database");
        }
        return Ok(format!("sqlite:{}", inside.display()));
    };
    let Some(path) = url.strip_prefix("sqlite:") else {
        if about.database {
            bail!("its database is a file; `central.database` names a server");
        }
        return Ok(url.clone());
    };
    let path = PathBuf::from(path.strip_prefix("//").unwrap_or(path));
    if !about.database || path.exists() {
        bail!("{} is there already, or the backup holds no database", path.display());
    }
    std::fs::copy(&inside, &path).with_context(|| format!("could not write {}", path.display()))?;
    std::fs::remove_file(&inside)?;
    Ok(url.clone())
}

/// Starts another epoch and skips numbers, so that nothing after the restore is
/// mistaken for something before it.
async fn rewind(url: &str, about: &About) -> anyhow::Result<String> {
    let opened = CentralStore::open_claimed(url, Duration::ZERO).await;
    let (store, _claim) = opened.context("could not open the database")?;
    let store = store.epoch_renew().await?;
    let mut fleet = Fleet::restore(store.fleet_rows().await?);
    fleet.rewound(clock::wall());
    let changed = fleet.take_changed();
    let rows = rows_of(&fleet, changed.keys());
    let event = CentralEvent::Restored { backup: about.at, epoch: store.epoch().to_owned() };
    let event = own_event(&event, "colony", clock::wall(), (None, None));
    store.commit(Write { rows, events: vec![event], ..Write::default() }).await?;
    let epoch = store.epoch().to_owned();
    store.close().await;
    Ok(epoch)
}
