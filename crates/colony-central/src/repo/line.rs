//! Where the branch stands, and for which sites a move of it means something.
//!
//! A commit changes the parts of few sites. Those alone are woken, and a site
//! that asks gets the head only if its own part differs from what it has.
//! Whatever cannot be compared counts as different.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use colony_core::id::{GitRevision, SiteName};
use colony_git::SiteParts;
use parking_lot::Mutex;
use tokio::sync::watch;

/// How many commits are remembered; others are read from Git.
const LIMIT: usize = 64;

/// Commits that the head of the branch follows, with the parts of the sites. The head is the last.
#[derive(Debug, Default)]
pub(super) struct Line(Mutex<VecDeque<(GitRevision, Arc<SiteParts>)>>);

impl Line {
    pub(super) fn parts(&self, revision: &GitRevision) -> Option<Arc<SiteParts>> {
        self.0.lock().iter().find(|it| it.0 == *revision).map(|it| it.1.clone())
    }

    /// The branch went on to `revision`.
    pub(super) fn go_on(&self, revision: GitRevision, parts: Arc<SiteParts>) {
        let mut line = self.0.lock();
        line.push_back((revision, parts));
        while line.len() > LIMIT {
            line.pop_front();
        }
    }

    /// The branch stands at a commit that does not follow those before, or none is known.
    pub(super) fn begin(&self, head: Option<(GitRevision, Arc<SiteParts>)>) {
        let mut line = self.0.lock();
        line.clear();
        line.extend(head);
    }

    /// Remembers a commit before `head`, if the branch still stands there.
    pub(super) fn remember(&self, head: &GitRevision, revision: GitRevision, parts: SiteParts) {
        let mut line = self.0.lock();
        if line.back().is_some_and(|it| it.0 == *head) && line.len() < LIMIT {
            line.push_front((revision, Arc::new(parts)));
        }
    }
}

/// One channel per site: a ring says "look again", never what happened.
#[derive(Debug, Default)]
pub(super) struct Wakes(Mutex<BTreeMap<SiteName, watch::Sender<u64>>>);

impl Wakes {
    pub(super) fn listen(&self, site: &SiteName) -> watch::Receiver<u64> {
        self.0.lock().entry(site.clone()).or_default().subscribe()
    }

    /// Wakes these sites, or all.
    pub(super) fn ring(&self, sites: Option<&BTreeSet<String>>) {
        for (site, wake) in &*self.0.lock() {
            if sites.is_none_or(|it| it.contains(site.as_str())) {
                wake.send_modify(|it| *it = it.wrapping_add(1));
            }
        }
    }
}
