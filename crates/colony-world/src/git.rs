//! The deployments repository: linear commits, compare-and-swap per file.

use std::collections::BTreeMap;

use colony_core::id::{BlobId, DeploymentName, GitRevision, SiteName};
use colony_core::site::{Commit, File};
use colony_testkit::{blob, commit_id};

/// The repository and all its history.
#[derive(Debug, Clone)]
pub struct Git {
    commits: BTreeMap<GitRevision, Tree>,
    head: GitRevision,
    count: u64,
    /// Every content that ever existed.
    blobs: BTreeMap<BlobId, String>,
}

#[derive(Debug, Clone, Default)]
struct Tree {
    parent: Option<GitRevision>,
    files: BTreeMap<String, BlobId>,
}

impl Default for Git {
    /// A repository with one empty commit.
    fn default() -> Git {
        let head = commit_id(1);
        let commits = BTreeMap::from([(head.clone(), Tree::default())]);
        Git { commits, head, count: 1, blobs: BTreeMap::new() }
    }
}

impl Git {
    pub fn head(&self) -> &GitRevision {
        &self.head
    }

    pub fn blob_at_head(&self, path: &str) -> Option<&BlobId> {
        self.commits.get(&self.head)?.files.get(path)
    }

    pub fn text(&self, blob: &BlobId) -> Option<String> {
        self.blobs.get(blob).cloned()
    }

    pub fn paths(&self) -> Vec<String> {
        self.tree(&self.head).files.keys().cloned().collect()
    }

    /// Whether some commit, also one that was rewritten, has the file.
    pub fn has_ever_had(&self, path: &str) -> bool {
        self.commits.values().any(|it| it.files.contains_key(path))
    }

    /// Writes or removes files in one commit on top of the head.
    pub fn commit(&mut self, changes: Vec<(String, Option<String>)>) {
        let parent = self.head.clone();
        self.commit_on(parent, changes);
    }

    /// Replaces the last commits by another one: a forced push.
    pub fn rewrite(&mut self, changes: Vec<(String, Option<String>)>) {
        let parent = self.tree(&self.head).parent.clone().unwrap_or_else(|| self.head.clone());
        self.commit_on(parent, changes);
    }

    fn commit_on(&mut self, parent: GitRevision, changes: Vec<(String, Option<String>)>) {
        let mut files = self.tree(&parent).files.clone();
        for (path, text) in changes {
            match text {
                Some(text) => {
                    let id = blob(&text);
                    self.blobs.insert(id.clone(), text);
                    files.insert(path, id);
                }
                None => drop(files.remove(&path)),
            }
        }
        self.count += 1;
        self.head = commit_id(self.count);
        self.commits.insert(self.head.clone(), Tree { parent: Some(parent), files });
    }

    /// The commit that brings `site` from `have` to the head.
    pub fn fetch(&self, site: &SiteName, have: Option<&GitRevision>, full: bool) -> Option<Commit> {
        if have == Some(&self.head) && !full {
            return None;
        }
        let rewritten = have.is_some_and(|it| !self.descends(it));
        let base = have.filter(|_| !rewritten && !full);
        let before = base.map(|it| self.tree(it).files).unwrap_or_default();
        let after = self.tree(&self.head).files;
        let own = |path: &&String| is_of(site, path);
        let mut files: Vec<File> = after
            .iter()
            .filter(|it| own(&it.0) && before.get(it.0) != Some(it.1))
            .map(|(path, id)| self.read(site, path, id))
            .collect();
        let gone = before.keys().filter(own).filter(|it| !after.contains_key(*it));
        files.extend(gone.map(|it| File::removed(it)));
        Some(Commit { revision: self.head.clone(), base: base.cloned(), rewritten, files })
    }

    fn read(&self, site: &SiteName, path: &str, id: &BlobId) -> File {
        let text = self.blobs.get(id).map(String::as_bytes).unwrap_or_default();
        File::read(site, path, id, text)
    }

    fn descends(&self, ancestor: &GitRevision) -> bool {
        let mut at = Some(self.head.clone());
        while let Some(commit) = at {
            if commit == *ancestor {
                return true;
            }
            at = self.tree(&commit).parent;
        }
        false
    }

    fn tree(&self, commit: &GitRevision) -> Tree {
        self.commits.get(commit).cloned().unwrap_or_default()
    }
}

/// The file belongs to the site's part.
pub fn is_of(site: &SiteName, path: &str) -> bool {
    path.starts_with(&format!("deployments/{site}/")) || path == format!("sites/{site}.yaml")
}

/// The file of a deployment.
pub fn path(site: &SiteName, name: &DeploymentName) -> String {
    format!("deployments/{site}/{name}.yaml")
}
