//! Asks for the manifest, over and over: the answer says what should run, and
//! that the question came says that the node lives.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use colony_core::node::{Fetch, Input};
use colony_margo::{Capabilities, Digest, bundle};
use colony_runtime::Runtime;
use colony_task::Backoff;
use colony_wfm::{Asks, LogAnswer, LogLine, LogRequest};

use crate::brain::Brain;
use crate::manager::Manager;

/// How long the manager may hold the question. Well below the lease.
const WAIT: Duration = Duration::from_secs(10);
/// How often a manager is asked that does not hold questions.
const INTERVAL: Duration = Duration::from_secs(5);

pub(crate) struct Poll {
    brain: Arc<Brain>,
    manager: Arc<Manager>,
    runtime: Runtime,
    own: Capabilities,
    introduced: bool,
}

impl Poll {
    pub(crate) fn new(
        brain: Arc<Brain>,
        manager: Arc<Manager>,
        runtime: Runtime,
        own: Capabilities,
    ) -> Poll {
        Poll { brain, manager, runtime, own, introduced: false }
    }

    pub(crate) async fn run(mut self, stop: CancellationToken) -> anyhow::Result<()> {
        let mut backoff = Backoff::default();
        loop {
            let pause = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                polled = self.poll() => self.outcome(polled, &mut backoff),
            };
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    fn outcome(&self, polled: anyhow::Result<Duration>, backoff: &mut Backoff) -> Duration {
        match polled {
            Ok(pause) => {
                if backoff.failures() > 0 {
                    info!("the manager is back");
                }
                backoff.reset();
                self.manager.heard(true);
                pause
            }
            Err(error) => {
                self.manager.heard(false);
                self.manager.rotate();
                let pause = backoff.next_delay();
                warn!(retry_s = pause.as_secs_f32(), "{error:#}");
                pause
            }
        }
    }

    /// One question. Returns how long to wait before the next.
    async fn poll(&mut self) -> anyhow::Result<Duration> {
        if !self.introduced {
            self.introduce().await?;
        }
        let (version, etag) = self.brain.have();
        let begun = Instant::now();
        let client = self.manager.client();
        let answer = client.manifest(etag.as_deref(), version, WAIT).await;
        let answer = answer.context("could not ask the manager for the manifest")?;
        let unchanged = match answer {
            colony_wfm::Poll::Unchanged { asks } => self.asked(asks).await,
            colony_wfm::Poll::Manifest { bytes, etag, asks } => {
                self.taken(&bytes, etag).await?;
                self.asked(asks).await;
                false
            }
        };
        // A manager that answers at once with "nothing new" does not hold.
        let held = begun.elapsed() >= Duration::from_secs(1);
        Ok(if unchanged && !held { INTERVAL } else { Duration::ZERO })
    }

    async fn introduce(&mut self) -> anyhow::Result<()> {
        let sent = self.manager.client().capabilities(self.own.id(), &self.own).await;
        sent.context("could not tell the manager what this device can do")?;
        self.introduced = true;
        // The question that follows may be held for as long as nothing is new.
        self.manager.heard(true);
        Ok(())
    }

    async fn taken(&self, bytes: &[u8], etag: Option<String>) -> anyhow::Result<()> {
        debug!("a manifest came");
        let fetch = match self.brain.check(bytes, etag.as_deref()) {
            Ok(Some(fetch)) => fetch,
            Ok(None) => return Ok(()),
            Err(rejection) => anyhow::bail!("refused what the manager sent: {rejection}"),
        };
        if fetch.etag_differs {
            warn!("the manager's tag is not the digest of its manifest");
        }
        let documents = self.fetch(&fetch).await?;
        debug!(documents = documents.len(), "its documents came");
        colony_fail::hit(colony_fail::Point::NodeManifestFetched);
        let bytes = bytes.to_vec();
        self.brain.step(Input::Manifest { bytes, etag, documents });
        Ok(())
    }

    /// The documents that are missing; as one archive if they are several.
    async fn fetch(&self, fetch: &Fetch) -> anyhow::Result<BTreeMap<Digest, Vec<u8>>> {
        let client = self.manager.client();
        if let (Some(digest), true) = (&fetch.bundle, fetch.missing.len() > 1) {
            let bytes = client.bundle(digest).await.context("could not fetch the bundle")?;
            anyhow::ensure!(Digest::of(&bytes) == *digest, "the bundle is not what was announced");
            let files = bundle::unpack(&bytes, &bundle::Limits::default())?;
            return Ok(files.into_iter().map(|(_, it)| (Digest::of(&it), it)).collect());
        }
        let mut documents = BTreeMap::new();
        for (id, digest) in &fetch.missing {
            let bytes = client.document(id, digest).await;
            let bytes = bytes.with_context(|| format!("could not fetch deployment {id}"))?;
            documents.insert(Digest::of(&bytes), bytes.to_vec());
        }
        Ok(documents)
    }

    /// Answers what the manager asks; whether it asked for nothing.
    async fn asked(&mut self, asks: Asks) -> bool {
        let nothing = asks == Asks::default();
        self.introduced &= !asks.capabilities;
        if !asks.deployments.is_empty() {
            self.brain.step(Input::Asked(asks.deployments));
        }
        for request in asks.logs {
            self.send_logs(request).await;
        }
        if asks.renew {
            self.manager.renew.wake();
        }
        if asks.health {
            self.manager.health.wake();
        }
        nothing
    }

    async fn send_logs(&self, request: LogRequest) {
        let found = self.runtime.logs(&request.deployment, request.previous, request.lines).await;
        let answer = match found {
            Ok(lines) => {
                let line = |(service, text)| LogLine { service, text };
                LogAnswer { lines: lines.into_iter().map(line).collect(), ..LogAnswer::default() }
            }
            Err(failure) => LogAnswer { problem: Some(failure.message), ..LogAnswer::default() },
        };
        if let Err(error) = self.manager.client().logs(&request.id, &answer).await {
            warn!("could not send logs: {error}");
        }
    }
}
