//! The deployments repository: a line of commits with one file.

use std::collections::BTreeMap;

use colony_core::id::{BlobId, GitRevision, SiteName};
use colony_core::site::{Commit, File};
use colony_testkit::{blob, commit_id};

/// The repository, with what the only deployment's file held at each commit.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    site: SiteName,
    path: String,
    commits: Vec<Option<BlobId>>,
    texts: BTreeMap<BlobId, String>,
}

impl Git {
    /// A repository with one commit and no file.
    pub(crate) fn new(site: SiteName, path: String) -> Git {
        Git { site, path, commits: vec![None], texts: BTreeMap::new() }
    }

    pub(crate) fn commit(&mut self, text: Option<String>) {
        let file = text.map(|text| {
            let id = blob(&text);
            self.texts.insert(id.clone(), text);
            id
        });
        self.commits.push(file);
    }

    pub(crate) fn head(&self) -> GitRevision {
        commit_id(self.commits.len() as u64)
    }

    pub(crate) fn file(&self) -> Option<&BlobId> {
        self.commits.last().and_then(Option::as_ref)
    }

    pub(crate) fn text(&self, blob: &BlobId) -> Option<String> {
        self.texts.get(blob).cloned()
    }

    /// What the site has to be told when it is at `have`; nothing if it is at
    /// the head.
    pub(crate) fn fetch(&self, have: Option<&GitRevision>) -> Option<Commit> {
        if have == Some(&self.head()) {
            return None;
        }
        let at = |it: &GitRevision| (1..=self.commits.len()).find(|n| commit_id(*n as u64) == *it);
        let before = have.and_then(at).and_then(|it| self.commits[it - 1].as_ref());
        let files = match (before, self.file()) {
            (before, Some(id)) if before != Some(id) => vec![self.read(id)],
            (Some(_), None) => vec![File::gone(&self.path)],
            (Some(_), Some(_)) | (None, _) => Vec::new(),
        };
        Some(Commit { revision: self.head(), base: have.cloned(), rewritten: false, files })
    }

    fn read(&self, id: &BlobId) -> File {
        let text = self.texts.get(id).map(String::as_bytes).unwrap_or_default();
        File::read(&self.site, &self.path, id, text)
    }

    /// What the head holds, and how many commits there are.
    pub(crate) fn print(&self) -> u64 {
        crate::print::hash((&self.commits, self.texts.len()))
    }
}
