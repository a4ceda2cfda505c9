//! Writes the queued changes to Git: many changes, one commit, one push.
//!
//! The queue is in the database, so after a crash at any point the next run
//! continues: an edit that is already in Git counts as done. Nothing is
//! recorded as committed until the push has succeeded. The writer also follows the
//! branch: a rollback at a site becomes a change that reverts the file, and
//! central's change of a deployment is dropped when another author has changed
//! the file after it.
//!
//! A *change* in the queue edits one or more files; a *batch* is the changes of
//! one commit.

mod batch;
mod overruled;
mod record;
mod revert;

pub(crate) use batch::must_be_writable;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use colony_core::id::GitRevision;
use colony_git::{Error, Written};
use colony_process::Reconcile;
use colony_store::Change;

use crate::brain::Brain;
use crate::clock;
use crate::health::metrics::Metrics;
use crate::repo::{Repo, error_text};

/// The task that writes to Git.
#[derive(Debug)]
pub(crate) struct Writer {
    pub brain: Arc<Brain>,
    pub repo: Repo,
    pub metrics: Arc<Metrics>,
    /// The branch is checked at least this often.
    pub period: Duration,
    /// The head of the branch when it was last checked.
    pub checked_head: Option<GitRevision>,
    /// Held while changes are written, so that none of them is cancelled during
    /// the write.
    pub writing: Arc<tokio::sync::Mutex<()>>,
}

impl Reconcile for Writer {
    const NAME: &'static str = "git-writer";

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        while self.write_next().await? {}
        let head = self.repo.refresh().await.context("could not follow the branch")?;
        if head != self.checked_head {
            overruled::drop_overruled_changes(&self.brain, &self.repo).await?;
            self.checked_head = head;
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
        let writing = self.writing.clone();
        let _writing = writing.lock().await;
        let queued = self.brain.store().changes_open().await?;
        let changes = batch::next_changes(queued);
        if changes.is_empty() {
            return Ok(false);
        }
        self.write_bisecting(changes).await?;
        Ok(true)
    }

    /// Writes changes as one commit. If Git rejects their content, they are
    /// split in halves until each rejected change fails alone and the rest is
    /// committed.
    async fn write_bisecting(&self, changes: Vec<Change>) -> anyhow::Result<()> {
        let mut parts = vec![changes];
        while let Some(mut part) = parts.pop() {
            match self.commit_and_push(&part).await {
                Ok(written) => self.record(&part, &written).await?,
                Err(error) if error.is_about_content() && part.len() > 1 => {
                    let later = part.split_off(part.len().div_ceil(2));
                    parts.extend([later, part]);
                }
                Err(error) if error.is_about_content() => {
                    for change in &part {
                        self.record_refusal(change, &error).await?;
                    }
                }
                Err(error) => {
                    self.repo.record_write(Some(&error));
                    return Err(error).context("could not write to Git; the changes stay queued");
                }
            }
        }
        Ok(())
    }

    /// Commits the changes. A remote repository also gets a push.
    async fn commit_and_push(&self, changes: &[Change]) -> Result<Written, Error> {
        let batch = batch::build(changes, clock::unix(clock::wall()));
        let written = self.repo.call("commit", move |git| git.write(&batch)).await?;
        self.repo.record_write(None);
        Ok(written)
    }

    /// Records the result of a batch, and notifies sites that the branch moved.
    async fn record(&self, changes: &[Change], written: &Written) -> anyhow::Result<()> {
        self.repo.branch_moved().await;
        colony_process::fail::hit(colony_process::fail::Point::CentralGitWritten);
        self.metrics.commits.inc();
        record::record(&self.brain, changes, written).await?;
        colony_process::fail::hit(colony_process::fail::Point::CentralGitRecorded);
        Ok(())
    }

    async fn record_refusal(&self, change: &Change, error: &Error) -> anyhow::Result<()> {
        let reason = error_text(error);
        tracing::warn!(
            change = change.id,
            "Git rejected a change; its deployments are marked REFUSED: {reason}"
        );
        // Only the content was rejected; Git itself works.
        self.repo.record_write(None);
        self.metrics.changes_refused.inc();
        record::record_refusal(&self.brain, change, &reason).await
    }
}
