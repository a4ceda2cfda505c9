//! The deployments repository as the rest of this role sees it.
//!
//! Owns the one handle to Git and runs its blocking calls where blocking is
//! allowed. Caches the head of the branch for all tasks that wait for it to
//! move, the facts of files by blob, and whether Git works, for readiness. Left
//! out: what is written, which is up to the writer.

mod follow;
mod line;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use colony_core::id::{BlobId, DeploymentName, GitRevision, SiteName};
use colony_core::site::SiteSettings;
use colony_core::time::Timestamp;
use colony_git::{Deployments, Error};
use parking_lot::Mutex;
use tokio::sync::watch;

pub(crate) use colony_core::document::FileFacts as Facts;

/// How many files' facts are remembered.
const FACTS_LIMIT: usize = 20_000;

/// Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Repo(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    git: Deployments,
    /// Where the repository is, if this role hosts it.
    hosted: Option<PathBuf>,
    head: watch::Sender<Option<GitRevision>>,
    line: line::Line,
    wakes: line::SiteWakeups,
    /// Held while the head of the branch is read and published.
    order: tokio::sync::Mutex<()>,
    /// When Git last responded without an error.
    asked: Mutex<Option<Timestamp>>,
    facts: Mutex<BTreeMap<BlobId, Arc<Facts>>>,
    /// Why the last read of the branch failed, if it did.
    read_problem: Mutex<Option<String>>,
    /// Why the last write failed, if it did. A read does not clear it: a
    /// repository can be readable and refuse or drop every push.
    write_problem: Mutex<Option<String>>,
    labels: Mutex<Option<(Option<GitRevision>, Labels)>>,
}

/// Labels of sites, from `sites/<site>.yaml`.
pub(crate) type Labels = Arc<BTreeMap<SiteName, BTreeMap<String, String>>>;

impl Repo {
    pub(crate) fn new(git: Deployments, hosted: Option<PathBuf>) -> Repo {
        Repo(Arc::new(Inner {
            git,
            hosted,
            head: watch::Sender::new(None),
            line: line::Line::default(),
            wakes: line::SiteWakeups::default(),
            order: tokio::sync::Mutex::default(),
            asked: Mutex::default(),
            facts: Mutex::default(),
            read_problem: Mutex::default(),
            write_problem: Mutex::default(),
            labels: Mutex::default(),
        }))
    }

    /// The folder to serve, if this role hosts the repository.
    pub(crate) fn hosted(&self) -> Option<&Path> {
        self.0.hosted.as_deref()
    }

    /// Follows the head of the branch.
    pub(crate) fn head(&self) -> watch::Receiver<Option<GitRevision>> {
        self.0.head.subscribe()
    }

    /// Runs a blocking call of Git.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        doing: &'static str,
        act: impl FnOnce(&Deployments) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let inner = self.0.clone();
        let ended = tokio::task::spawn_blocking(move || act(&inner.git)).await;
        ended.unwrap_or_else(|it| Err(Error::Git { doing, problem: it.to_string() }))
    }

    pub(crate) async fn blob_at(&self, path: String) -> Result<Option<BlobId>, Error> {
        self.call("look at a file", move |git| git.blob_at(&path)).await
    }

    pub(crate) async fn texts(
        &self,
        blobs: BTreeSet<BlobId>,
    ) -> Result<BTreeMap<BlobId, String>, Error> {
        self.call("read files", move |git| {
            let read = |blob: BlobId| Ok(git.text(&blob)?.map(|text| (blob, text)));
            blobs.into_iter().filter_map(|it| read(it).transpose()).collect()
        })
        .await
    }

    /// The facts of the files with these blobs; a broken file is left out.
    pub(crate) async fn facts(
        &self,
        blobs: BTreeSet<BlobId>,
    ) -> Result<BTreeMap<BlobId, Arc<Facts>>, Error> {
        let mut found = BTreeMap::new();
        let mut missing = BTreeSet::new();
        for blob in blobs {
            match self.0.facts.lock().get(&blob).cloned() {
                Some(it) => drop(found.insert(blob, it)),
                None => drop(missing.insert(blob)),
            }
        }
        if missing.is_empty() {
            return Ok(found);
        }
        for (blob, text) in self.texts(missing).await? {
            let Some(facts) = Facts::read(&text).map(Arc::new) else { continue };
            self.remember(&blob, facts.clone());
            found.insert(blob, facts);
        }
        Ok(found)
    }

    fn remember(&self, blob: &BlobId, facts: Arc<Facts>) {
        let mut known = self.0.facts.lock();
        if known.len() >= FACTS_LIMIT {
            known.clear();
        }
        known.insert(blob.clone(), facts);
    }

    /// The labels of sites as the head of the branch has them.
    pub(crate) async fn site_labels(&self) -> Result<Labels, Error> {
        let head = self.0.head.borrow().clone();
        if let Some((at, labels)) = &*self.0.labels.lock()
            && *at == head
        {
            return Ok(labels.clone());
        }
        let labels: Labels = Arc::new(self.call("read labels", labels).await?);
        *self.0.labels.lock() = Some((head, labels.clone()));
        Ok(labels)
    }

    /// Records whether the branch could be read.
    fn record_read(&self, error: Option<&Error>) {
        *self.0.read_problem.lock() = error.map(error_text);
    }

    /// Records whether Git took a write. One that it took needs a read as well.
    pub(crate) fn record_write(&self, error: Option<&Error>) {
        *self.0.write_problem.lock() = error.map(error_text);
        if error.is_none() {
            self.record_read(None);
        }
    }

    /// Why Git does not work, if it does not.
    pub(crate) fn problem(&self) -> Option<String> {
        self.0.write_problem.lock().clone().or_else(|| self.0.read_problem.lock().clone())
    }
}

fn labels(git: &Deployments) -> Result<BTreeMap<SiteName, BTreeMap<String, String>>, Error> {
    let mut labels = BTreeMap::new();
    for (path, blob) in git.list("sites")? {
        let name = path.rsplit('/').next().and_then(|it| it.strip_suffix(".yaml"));
        let Some(site) = name.and_then(|it| it.parse::<SiteName>().ok()) else { continue };
        let Some(text) = git.text(&blob)? else { continue };
        if let Ok(settings) = SiteSettings::parse(text.as_bytes()) {
            labels.insert(site, settings.labels);
        }
    }
    Ok(labels)
}

/// An error with all its causes.
pub(crate) fn error_text(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(it) = cause {
        text = format!("{text}: {it}");
        cause = it.source();
    }
    text
}

pub(crate) use colony_core::site::deployment_path as path;

/// The site whose settings have this path.
pub(crate) fn site_of(path: &str) -> Option<SiteName> {
    path.strip_prefix("sites/")?.strip_suffix(".yaml")?.parse().ok()
}

/// The deployment whose file has this path.
pub(crate) fn path_parts(path: &str) -> Option<(SiteName, DeploymentName)> {
    let rest = path.strip_prefix("deployments/")?.strip_suffix(".yaml")?;
    let (site, name) = rest.split_once('/')?;
    Some((site.parse().ok()?, name.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn failed_write_stays_the_problem_although_the_branch_can_be_read() {
        let dir = tempfile::tempdir().expect("a folder");
        let git = Deployments::hosted(dir.path()).expect("a repository");
        let repo = Repo::new(git, None);
        let problem = "no answer within 30 s".to_owned();
        repo.record_write(Some(&Error::Git { doing: "push to the repository", problem }));

        repo.refresh().await.expect("it is readable");
        let said = repo.problem().expect("the push failed");
        assert!(said.contains("no answer within 30 s"), "{said}");
        assert!(repo.is_current(), "no move of the branch can have been missed");
        repo.record_write(None);
        assert_eq!(repo.problem(), None);
    }
}
