//! Reads registries periodically, each in its own task: none waits for another.
//!
//! A plain folder is read often, a repository rarely. A registry that was being
//! read when the process died is marked in the database: it is not read at the
//! next start but at its next regular time, so that a repository that kills
//! this process cannot do so in a loop.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use colony_core::time::Timestamp;
use colony_git::{FetchLimits, Remote, registry};
use colony_store::Registry;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::OwnedMutexGuard;
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::sync::BUILTIN;
use crate::brain::Brain;
use crate::clock;
use crate::repo::Repo;

/// How often a repository is read again.
const PERIOD: Duration = Duration::from_secs(300);
/// How often a plain folder is read again: that costs no network.
const FOLDER_PERIOD: Duration = Duration::from_secs(30);
/// Delay before the first reading: the API and more important tasks start
/// first.
const FIRST: Duration = Duration::from_secs(10);
const READING: &str = "registry-reading/";

/// The state for reading registries.
#[derive(Debug)]
pub(crate) struct Registries {
    pub(super) brain: Arc<Brain>,
    pub(super) repo: Repo,
    pub(super) data: PathBuf,
    pub(super) limits: FetchLimits,
    /// Allows one reading of a registry at a time: they share a copy.
    turns: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl Registries {
    pub(crate) fn new(
        brain: Arc<Brain>,
        repo: Repo,
        data: PathBuf,
        limits: FetchLimits,
    ) -> Registries {
        Registries { brain, repo, data, limits, turns: Mutex::default() }
    }

    pub(super) async fn turn(&self, name: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.turns.lock();
            turns.entry(name.to_owned()).or_default().clone()
        };
        turn.lock_owned().await
    }

    /// Records that a registry is being read, or no longer is.
    pub(super) async fn mark(
        &self,
        name: &str,
        since: Option<Timestamp>,
    ) -> Result<(), colony_store::Error> {
        let since = since.map_or(Value::Null, |it| json!(it));
        self.brain.store().note_put(&format!("{READING}{name}"), &since).await
    }

    /// The registries that were being read when the process ended.
    async fn interrupted(&self) -> Result<Vec<String>, colony_store::Error> {
        let notes = self.brain.store().notes(READING).await?;
        let marked = notes.into_iter().filter(|it| !it.1.is_null());
        Ok(marked.filter_map(|it| it.0.strip_prefix(READING).map(str::to_owned)).collect())
    }

    /// Postpones the registries that were being read when the process died.
    pub(crate) async fn put_off_interrupted(&self) -> Result<(), colony_store::Error> {
        let interrupted = self.interrupted().await?;
        let all = self.brain.store().registry_list().await?;
        for mut registry in all.into_iter().filter(|it| interrupted.contains(&it.name)) {
            let name = &registry.name;
            registry.last_error = Some(format!(
                "the central orchestrator ended while it read this registry; it is left alone until \
                 its next turn, or `colony app registry sync {name}`"
            ));
            registry.last_sync = Some(clock::wall());
            self.brain.store().registry_synced(&registry).await?;
        }
        for name in interrupted {
            self.mark(&name, None).await?;
        }
        Ok(())
    }

    /// Reads the registries that are due, until `stop`.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) -> anyhow::Result<()> {
        if let Err(error) = self.put_off_interrupted().await {
            tracing::warn!("could not look which registries were being read: {error}");
        }
        let mut reading = Reading::default();
        let mut delay = FIRST;
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(delay) => {}
            }
            delay = FOLDER_PERIOD;
            match self.due(clock::wall()).await {
                Ok(due) => reading.begin(&self, due),
                Err(error) => tracing::warn!("could not read the registries: {error}"),
            }
        }
        // A clean end: the next start reads them as usual.
        for name in reading.names.keys() {
            self.mark(name, None).await?;
        }
        Ok(())
    }

    async fn due(&self, now: Timestamp) -> Result<Vec<Registry>, colony_store::Error> {
        let all = self.brain.store().registry_list().await?;
        let due = |it: &Registry| {
            let last = it.last_sync.filter(|last| *last <= now);
            is_folder(it) || last.is_none_or(|last| now.since(last) >= PERIOD)
        };
        Ok(all.into_iter().filter(|it| it.name != BUILTIN && due(it)).collect())
    }
}

/// The readings that are under way, each in a task of its own.
#[derive(Debug, Default)]
struct Reading {
    tasks: JoinSet<()>,
    names: BTreeMap<String, AbortHandle>,
}

impl Reading {
    /// Starts reading the registries that are not being read already.
    fn begin(&mut self, registries: &Arc<Registries>, due: Vec<Registry>) {
        while self.tasks.try_join_next().is_some() {}
        self.names.retain(|_, it| !it.is_finished());
        for registry in due {
            let name = registry.name.clone();
            if !self.names.contains_key(&name) {
                let task = self.tasks.spawn(read(registries.clone(), registry));
                self.names.insert(name, task);
            }
        }
    }
}

async fn read(registries: Arc<Registries>, registry: Registry) {
    let name = registry.name.clone();
    match registries.sync(registry, false).await {
        Ok(synced) => {
            if let Some(error) = &synced.last_error {
                tracing::warn!(registry = name, "could not read the registry: {error}");
            }
        }
        Err(error) => tracing::warn!(registry = name, "could not keep what was read: {error}"),
    }
}

/// Whether the registry is on this machine, so that reading it costs no
/// network.
pub(super) fn is_folder(registry: &Registry) -> bool {
    registry::is_folder(&Remote::new(&registry.url))
}

/// Whether the last sync is recent enough that the same content need not be
/// stored again.
pub(super) fn is_recent(registry: &Registry, now: Timestamp) -> bool {
    registry.last_sync.is_some_and(|it| it <= now && now.since(it) < PERIOD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[tokio::test]
    async fn a_registry_does_not_hold_up_another() {
        let dir = tempfile::tempdir().expect("a folder");
        let registries = started(dir.path()).await;
        for name in ["fast", "slow"] {
            std::fs::create_dir(dir.path().join(name)).expect("a folder");
            add(&registries, name, &dir.path().join(name).display().to_string()).await;
        }
        let slow = registries.turn("slow").await;
        let mut reading = Reading::default();
        reading.begin(&registries, registries.due(clock::wall()).await.expect("a list"));
        assert_eq!(reading.names.len(), 2);

        reading.tasks.join_next().await.expect("one ends").expect("no panic");

        assert!(get(&registries, "fast").await.last_sync.is_some(), "it was read");
        assert!(get(&registries, "slow").await.last_sync.is_none(), "it still waits");
        reading.begin(&registries, registries.due(clock::wall()).await.expect("a list"));
        assert_eq!(reading.names.len(), 2, "what is being read is not begun again");
        drop(slow);
    }

    #[tokio::test]
    async fn what_was_being_read_when_the_process_died_waits_for_its_next_turn() {
        let dir = tempfile::tempdir().expect("a folder");
        let registries = started(dir.path()).await;
        for name in ["killer", "other"] {
            add(&registries, name, "https://git.invalid/apps.git").await;
        }
        registries.mark("killer", Some(clock::wall())).await.expect("marked");

        registries.put_off_interrupted().await.expect("looked");

        let error = get(&registries, "killer").await.last_error.expect("a reason");
        assert!(error.contains("colony app registry sync killer"), "{error}");
        let names = |due: Vec<Registry>| due.into_iter().map(|it| it.name).collect::<Vec<_>>();
        let now = clock::wall();
        assert_eq!(names(registries.due(now).await.expect("a list")), ["other"]);
        let later = registries.due(now.after(PERIOD)).await.expect("a list");
        assert_eq!(names(later), ["killer", "other"]);
        assert_eq!(registries.interrupted().await.expect("a list"), Vec::<String>::new());
    }

    async fn started(dir: &std::path::Path) -> Arc<Registries> {
        let listen = "127.0.0.1:0".parse().expect("an address");
        let central = crate::start(Config::new(dir.join("central"), listen)).await;
        central.expect("it starts").app().registries.clone()
    }

    async fn add(registries: &Registries, name: &str, url: &str) {
        let registry = Registry {
            name: name.to_owned(),
            url: url.to_owned(),
            at: clock::wall(),
            last_sync: None,
            last_error: None,
            revision: None,
        };
        registries.brain.store().registry_put(&registry).await.expect("stored");
    }

    async fn get(registries: &Registries, name: &str) -> Registry {
        let all = registries.brain.store().registry_list().await.expect("a list");
        all.into_iter().find(|it| it.name == name).expect("it is there")
    }
}
