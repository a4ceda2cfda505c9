//! Follows the deployments repository: fetch, difference, step.
//!
//! Woken by a hint from central, an order or the seed; otherwise it runs every
//! 30 seconds, unless central has just confirmed that the site is up to date
//! with the branch. While the remote does not answer, the site works from its
//! clone.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::sync::watch;
use tracing::{debug, info, warn};

use colony_core::id::{GitRevision, SiteName};
use colony_core::site::{Commit, Input, Refused, Site};
use colony_core::time::Monotonic;
use colony_git::{Auth, FetchLimits, Remote, Watch};
use colony_process::Reconcile;

use crate::brain::{Brain, BrainError};
use crate::health::Health;

/// How often Git is fetched without a hint that it changed.
const PERIOD: Duration = Duration::from_secs(30);
/// Git is fetched at least this often, even if central confirms that nothing
/// changed.
const ALWAYS: Duration = Duration::from_secs(600);
/// The retry interval while the remote does not answer.
const RETRY: Duration = Duration::from_secs(5);

/// Where the deployments are, and where the clone is kept.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub dir: PathBuf,
    pub remote: Remote,
    pub branch: String,
    pub limits: FetchLimits,
    /// The TLS configuration with the site's newest certificate, if the remote
    /// requires one.
    pub tls: Option<watch::Receiver<Arc<rustls::ClientConfig>>>,
}

impl Source {
    /// Takes over a renewed certificate; true if there was one.
    fn renew(&mut self) -> bool {
        let Some(tls) = self.tls.as_mut().filter(|it| it.has_changed().unwrap_or(false)) else {
            return false;
        };
        self.remote.auth = Auth::Mtls { tls: Arc::clone(&tls.borrow_and_update()) };
        true
    }
}

/// The work that keeps the site at the head of its branch.
#[derive(Debug)]
pub(crate) struct Follow {
    brain: Brain,
    health: Health,
    site: SiteName,
    source: Source,
    watch: Option<Arc<Watch>>,
    /// When Git answered last.
    answered: Option<Monotonic>,
}

impl Follow {
    pub(crate) fn new(brain: Brain, health: Health, site: SiteName, source: Source) -> Follow {
        Follow { brain, health, site, source, watch: None, answered: None }
    }

    async fn watch(&mut self) -> anyhow::Result<Arc<Watch>> {
        let renewed = self.source.renew();
        if let Some(watch) = &self.watch {
            if renewed {
                watch.set_remote(self.source.remote.clone());
            }
            return Ok(Arc::clone(watch));
        }
        let Source { dir, remote, branch, limits, .. } = self.source.clone();
        let open = move || Watch::open(&dir, remote, &branch).map(|it| it.limited(limits));
        let watch = tokio::task::spawn_blocking(open).await?.context("could not open the clone")?;
        let watch = Arc::new(watch);
        self.watch = Some(Arc::clone(&watch));
        Ok(watch)
    }

    /// Whether central has recently confirmed that the last fetch is up to
    /// date.
    fn is_vouched(&self) -> bool {
        let now = self.brain.now().mono;
        let recent = self.answered.is_some_and(|it| now.since(it) < ALWAYS);
        recent && self.health.git_vouched(now)
    }

    /// Fetches; true if the remote answered. The clone is used either way.
    async fn fetch(&self, watch: &Arc<Watch>) -> anyhow::Result<bool> {
        let (watch, began) = (Arc::clone(watch), self.brain.now().mono);
        match tokio::task::spawn_blocking(move || watch.fetch()).await? {
            Ok(head) => {
                debug!(duration_ms = self.since(began), "fetched");
                self.health.git_answered(head);
                Ok(true)
            }
            Err(error) => {
                self.health.git_failed(&anyhow::Error::new(error));
                Ok(false)
            }
        }
    }

    /// Applies the head of the clone to the site.
    async fn take(&self, watch: &Arc<Watch>) -> anyhow::Result<()> {
        let base = self.brain.read(|site, _| site.git().cloned()).await?;
        let refused = self.offer(watch, base).await?;
        if let Some(Refused::OtherBase { .. }) = refused {
            // The difference was computed from a commit that is no longer in
            // force.
            self.offer(watch, None).await?;
        }
        Ok(())
    }

    async fn offer(
        &self,
        watch: &Arc<Watch>,
        base: Option<GitRevision>,
    ) -> anyhow::Result<Option<Refused>> {
        let began = self.brain.now().mono;
        let commit = match self.difference(watch, base).await? {
            Some(commit) => Some(commit),
            None => self.put_back().await?,
        };
        let Some(commit) = commit else { return Ok(None) };
        let read_ms = self.since(began);
        colony_process::fail::hit(colony_process::fail::Point::LocalGitFetched);
        let (revision, files) = (commit.revision.clone(), commit.files.len());
        match self.brain.step(Input::Commit(commit)).await {
            Ok(()) => {
                let duration_ms = self.since(began);
                let revision = revision.short();
                info!(git.revision = revision, files, read_ms, duration_ms, "took a commit");
                colony_process::fail::hit(colony_process::fail::Point::LocalGitTaken);
            }
            Err(BrainError::Refused(refused)) => {
                warn!(git.revision = revision.short(), "did not take a commit: {refused}");
                return Ok(Some(refused));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(None)
    }

    /// The branch points to the site's commit. If a rewritten history was held,
    /// it is gone, and the returned commit ends that state.
    async fn put_back(&self) -> anyhow::Result<Option<Commit>> {
        let held = |site: &Site, _| site.held_history().and(site.git()).cloned();
        let revision = self.brain.read(held).await?;
        Ok(revision.map(|it| Commit {
            revision: it.clone(),
            base: Some(it),
            rewritten: false,
            files: Vec::new(),
        }))
    }

    fn since(&self, began: Monotonic) -> u64 {
        self.brain.now().mono.0.saturating_sub(began.0)
    }

    async fn difference(
        &self,
        watch: &Arc<Watch>,
        base: Option<GitRevision>,
    ) -> anyhow::Result<Option<Commit>> {
        let (watch, site) = (Arc::clone(watch), self.site.clone());
        let read = move || watch.commit(&site, base.as_ref());
        tokio::task::spawn_blocking(read).await?.context("could not read the clone")
    }

    /// Keeps the clone small. A failure is not fatal: many packs are slow to
    /// read, but correct.
    async fn tidy(&self, watch: &Arc<Watch>) -> anyhow::Result<()> {
        let base = self.brain.read(|site, _| site.git().cloned()).await?;
        let watch = Arc::clone(watch);
        let packed = tokio::task::spawn_blocking(move || watch.maintain(base.as_ref())).await?;
        if let Err(error) = packed {
            warn!("could not pack the clone up: {:#}", anyhow::Error::new(error));
        }
        Ok(())
    }
}

impl Reconcile for Follow {
    const NAME: &'static str = "git";

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        if !self.brain.notifiers().is_seeded() {
            return Ok(PERIOD);
        }
        let watch = self.watch().await?;
        if self.is_vouched() {
            self.take(&watch).await?;
            return Ok(PERIOD);
        }
        let answered = self.fetch(&watch).await?;
        if answered {
            self.answered = Some(self.brain.now().mono);
        }
        self.take(&watch).await?;
        self.tidy(&watch).await?;
        Ok(if answered { PERIOD } else { RETRY })
    }
}
