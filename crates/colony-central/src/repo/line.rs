//! The recent commits of the branch, and which sites a move of it concerns.
//!
//! A commit changes the parts of few sites. Only those are woken, and a site
//! that polls gets the head only if its own part differs from the one it has.
//! Parts that cannot be compared count as different.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use colony_core::id::{GitRevision, SiteName};
use colony_git::SiteParts;
use parking_lot::Mutex;
use tokio::sync::watch;

/// How many commits are remembered; others are read from Git.
const LIMIT: usize = 64;

/// The head of the branch, which is last, after ancestors of it, each with the
/// parts of the sites.
#[derive(Debug, Default)]
pub(super) struct Line(Mutex<VecDeque<(GitRevision, Arc<SiteParts>)>>);

impl Line {
    pub(super) fn parts(&self, revision: &GitRevision) -> Option<Arc<SiteParts>> {
        self.0.lock().iter().find(|it| it.0 == *revision).map(|it| it.1.clone())
    }

    /// The branch moved to `revision`, a descendant of the last head.
    pub(super) fn go_on(&self, revision: GitRevision, parts: Arc<SiteParts>) {
        let mut line = self.0.lock();
        line.push_back((revision, parts));
        while line.len() > LIMIT {
            line.pop_front();
        }
    }

    /// The branch moved to a commit that does not descend from the last head,
    /// or its head is unknown.
    pub(super) fn begin(&self, head: Option<(GitRevision, Arc<SiteParts>)>) {
        let mut line = self.0.lock();
        line.clear();
        line.extend(head);
    }

    /// Remembers an ancestor of `head`, if `head` still is the head of the
    /// branch.
    pub(super) fn remember(&self, head: &GitRevision, revision: GitRevision, parts: SiteParts) {
        let mut line = self.0.lock();
        if line.back().is_some_and(|it| it.0 == *head) && line.len() < LIMIT {
            line.push_front((revision, Arc::new(parts)));
        }
    }
}

/// One channel per site: a wake-up means "look again" and carries no content.
#[derive(Debug, Default)]
pub(super) struct SiteWakeups(Mutex<BTreeMap<SiteName, watch::Sender<u64>>>);

impl SiteWakeups {
    pub(super) fn listen(&self, site: &SiteName) -> watch::Receiver<u64> {
        self.0.lock().entry(site.clone()).or_default().subscribe()
    }

    /// Wakes these sites, or all of them.
    pub(super) fn ring(&self, sites: Option<&BTreeSet<String>>) {
        for (site, wake) in &*self.0.lock() {
            if sites.is_none_or(|it| it.contains(site.as_str())) {
                wake.send_modify(|it| *it = it.wrapping_add(1));
            }
        }
    }
}
