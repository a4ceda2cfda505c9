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

pub(crate) use batch::must_be_writable;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use colony_core::id::GitRevision;
use colony_git::{Error, Written};
use colony_store::Change;
use colony_task::Reconcile;

use crate::brain::Brain;
use crate::clock;
use crate::metrics::Metrics;
use crate::repo::{Repo, said};

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
    /// Held while changes are written, so that none of them is cancelled meanwhile.
    pub writing: Arc<tokio::sync::Mutex<()>>,
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
        let writing = self.writing.clone();
        let _writing = writing.lock().await;
        let open = self.brain.store().changes_open().await?;
        let changes = batch::take(open);
        if changes.is_empty() {
            return Ok(false);
        }
        self.write_apart(changes).await?;
        Ok(true)
    }

    /// Writes changes as one commit. If Git refuses their content, in halves: what is refused
    /// alone fails alone, and the rest is committed.
    async fn write_apart(&self, changes: Vec<Change>) -> anyhow::Result<()> {
        let mut parts = vec![changes];
        while let Some(mut part) = parts.pop() {
            match self.push(&part).await {
                Ok(written) => self.record(&part, &written).await?,
                Err(error) if error.is_about_content() && part.len() > 1 => {
                    let later = part.split_off(part.len().div_ceil(2));
                    parts.extend([later, part]);
                }
                Err(error) if error.is_about_content() => {
                    for change in &part {
                        self.refuse(change, &error).await?;
                    }
                }
                Err(error) => {
                    self.repo.judge(Some(&error));
                    return Err(error).context("could not write to Git; the changes stay queued");
                }
            }
        }
        Ok(())
    }

    async fn push(&self, changes: &[Change]) -> Result<Written, Error> {
        let batch = batch::build(changes, clock::unix(clock::wall()));
        let written = self.repo.call("commit", move |git| git.write(&batch)).await?;
        self.repo.judge(None);
        Ok(written)
    }

    async fn record(&self, changes: &[Change], written: &Written) -> anyhow::Result<()> {
        self.repo.moved().await;
        colony_fail::hit(colony_fail::Point::CentralGitWritten);
        self.metrics.commits.inc();
        record::record(&self.brain, changes, written).await?;
        colony_fail::hit(colony_fail::Point::CentralGitRecorded);
        Ok(())
    }

    async fn refuse(&self, change: &Change, error: &Error) -> anyhow::Result<()> {
        let reason = said(error);
        tracing::warn!(change = change.id, "Git refused a change, which fails: {reason}");
        // Git itself works.
        self.repo.judge(None);
        self.metrics.changes_refused.inc();
        record::record_refusal(&self.brain, change, &reason).await
    }
}
