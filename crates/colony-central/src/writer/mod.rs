//! Brings what was asked for into Git: many changes, one commit, one push.
//!
//! The queue is in the database, so a crash anywhere is answered by the next
//! run: an edit that is there already counts as done. Nothing is told to be
//! committed before the push succeeded. Also follows the branch: rollbacks that
//! Git has not followed become changes, and a wish that somebody overruled by
//! hand is let go.

mod batch;
mod overruled;
mod record;
mod revert;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use colony_core::id::GitRevision;
use colony_git::Written;
use colony_store::Change;
use colony_task::Reconcile;

use crate::brain::Brain;
use crate::clock;
use crate::metrics::Metrics;
use crate::repo::Repo;

/// The one that writes to Git.
#[derive(Debug)]
pub(crate) struct Writer {
    pub brain: Arc<Brain>,
    pub repo: Repo,
    pub metrics: Arc<Metrics>,
    /// How long the branch may go unwatched.
    pub period: Duration,
    /// Where the branch stood when it was last looked through.
    pub seen: Option<GitRevision>,
}

impl Reconcile for Writer {
    const NAME: &'static str = "git-writer";

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        while self.write_next().await? {}
        let head = self.repo.refresh().await.context("could not follow the branch")?;
        if head != self.seen {
            overruled::let_go(&self.brain, &self.repo).await?;
            self.seen = head;
        }
        if revert::plan(&self.brain, &self.repo).await? {
            while self.write_next().await? {}
        }
        Ok(self.period)
    }
}

impl Writer {
    /// Writes the next batch; `false` if there is none.
    async fn write_next(&mut self) -> anyhow::Result<bool> {
        let open = self.brain.store().changes_open().await?;
        let changes = batch::take(open);
        if changes.is_empty() {
            return Ok(false);
        }
        let written = self.push(&changes).await?;
        colony_fail::hit(colony_fail::Point::CentralGitWritten);
        self.metrics.commits.inc();
        record::record(&self.brain, &changes, &written).await?;
        colony_fail::hit(colony_fail::Point::CentralGitRecorded);
        Ok(true)
    }

    async fn push(&self, changes: &[Change]) -> anyhow::Result<Written> {
        let batch = batch::build(changes, clock::unix(clock::wall()));
        let written = self.repo.call("commit", move |git| git.write(&batch)).await;
        self.repo.judge(written.as_ref().err());
        let written = written.context("could not write to Git; the changes stay queued")?;
        if let Some(head) = &written.head {
            self.repo.moved(head.clone());
        }
        Ok(written)
    }
}
