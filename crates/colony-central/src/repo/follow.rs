//! Follows the branch, and wakes the sites that a move of it concerns.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use colony_core::id::{GitRevision, SiteName};
use colony_git::{Deployments, Error, SiteParts};
use tokio::sync::watch;

use super::Repo;
use crate::clock;

/// How long a response of the Git server counts as current.
const FRESH: Duration = Duration::from_secs(60);

impl Repo {
    /// Reads the head of the branch from Git and wakes the sites whose part has
    /// changed.
    pub(crate) async fn refresh(&self) -> Result<Option<GitRevision>, Error> {
        // Serialized, so that an older head never replaces a newer one.
        let _order = self.0.order.lock().await;
        let head = self.call("read the branch", Deployments::refresh).await;
        self.record_read(head.as_ref().err());
        let head = head?;
        *self.0.asked.lock() = Some(clock::wall());
        self.publish_head(head.clone()).await;
        Ok(head)
    }

    /// Called after this role moved the branch: wakes the sites whose part has
    /// changed.
    pub(crate) async fn branch_moved(&self) {
        let _order = self.0.order.lock().await;
        match self.call("read the branch", Deployments::head).await {
            Ok(head) => self.publish_head(head).await,
            Err(error) => {
                tracing::warn!("the state of the branch is unknown until the next fetch: {error}")
            }
        }
    }

    async fn publish_head(&self, head: Option<GitRevision>) {
        let before = self.0.head.borrow().clone();
        if before == head {
            return;
        }
        let news = match (&before, &head) {
            (Some(before), Some(head)) => self.step(before.clone(), head.clone()).await,
            (None, _) | (_, None) => None,
        };
        if news.is_none() {
            self.begin(head.as_ref()).await;
        }
        self.0.head.send_replace(head);
        self.0.wakes.ring(news.as_ref());
    }

    /// The sites whose part differs between two heads; `None` if the second
    /// does not descend from the first.
    async fn step(&self, before: GitRevision, head: GitRevision) -> Option<BTreeSet<String>> {
        let old = self.0.line.parts(&before)?;
        let (from, to) = (before, head.clone());
        let look = move |git: &Deployments| match git.is_ancestor(&from, &to)? {
            true => git.site_parts(&to),
            false => Ok(None),
        };
        let new = Arc::new(self.call("compare commits", look).await.ok()??);
        let news = old.differing(&new);
        self.0.line.go_on(head, new);
        Some(news)
    }

    async fn begin(&self, head: Option<&GitRevision>) {
        let parts = match head.cloned() {
            Some(head) => self.call("read a commit", move |git| git.site_parts(&head)).await,
            None => Ok(None),
        };
        let parts = parts.ok().flatten().map(Arc::new);
        self.0.line.begin(head.cloned().zip(parts));
    }

    /// Wakes on every move of the branch that concerns the site, from here on.
    pub(crate) fn listen(&self, site: &SiteName) -> watch::Receiver<u64> {
        self.0.wakes.listen(site)
    }

    /// The head, if a site that is at `have` should fetch it.
    pub(crate) async fn news(&self, site: &SiteName, have: Option<&str>) -> Option<GitRevision> {
        let head = self.0.head.borrow().clone()?;
        let Some(have) = have.and_then(|it| it.parse::<GitRevision>().ok()) else {
            return Some(head);
        };
        if have == head {
            return None;
        }
        let same = match (self.0.line.parts(&have), self.0.line.parts(&head)) {
            (Some(old), Some(new)) => old.same_for(&new, site.as_str()),
            (None, _) | (_, None) => self.compare(&have, &head, site).await,
        };
        (!same).then_some(head)
    }

    /// Whether the head descends from `have` and the site's part is the same in
    /// both.
    async fn compare(&self, have: &GitRevision, head: &GitRevision, site: &SiteName) -> bool {
        let (from, to) = (have.clone(), head.clone());
        let look = move |git: &Deployments| match git.is_ancestor(&from, &to)? {
            true => Ok(git.site_parts(&from)?.zip(git.site_parts(&to)?)),
            false => Ok(None),
        };
        let looked: Result<Option<(SiteParts, SiteParts)>, Error> =
            self.call("compare commits", look).await;
        // Parts that cannot be compared may differ.
        let Ok(Some((old, new))) = looked else { return false };
        let same = old.same_for(&new, site.as_str());
        self.0.line.remember(head, have.clone(), old);
        same
    }

    /// Whether no move of the branch can have been missed.
    pub(crate) fn is_current(&self) -> bool {
        let now = clock::wall();
        // If the clock was set back, the age of the response is unknown.
        let asked = self.0.asked.lock().is_some_and(|it| it <= now && now.since(it) < FRESH);
        self.hosted().is_some() || (asked && self.0.read_problem.lock().is_none())
    }
}
