//! Polls the manifest: the answer lists what should run, and the request is the
//! node's sign of life.
//!
//! The manager is the local orchestrator, or another Margo workload manager.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use colony_core::margo::{Capabilities, Digest, bundle};
use colony_core::node::{Fetch, Input};
use colony_process::Backoff;
use colony_runtime::Runtime;
use colony_wfm::{ClientError, ManagerRequests};

use crate::brain::{Brain, NotStored};
use crate::manager::logs::Logs;
use crate::manager::{Manager, Refused};

/// How long the manager may hold a request. Well below the lease.
const WAIT: Duration = Duration::from_secs(10);
/// The poll interval for a manager that does not hold requests.
const INTERVAL: Duration = Duration::from_secs(5);
/// The longest pause after a failure. A manager that restarted marks the node
/// offline one lease after its last request, so the node polls well within it.
const RETRY_LONGEST: Duration = Duration::from_secs(5);

pub(crate) struct Poll {
    brain: Arc<Brain>,
    manager: Arc<Manager>,
    runtime: Runtime,
    own: Capabilities,
    introduced: bool,
    logs: Logs,
}

impl Poll {
    pub(crate) fn new(
        brain: Arc<Brain>,
        manager: Arc<Manager>,
        runtime: Runtime,
        own: Capabilities,
    ) -> Poll {
        Poll { brain, manager, runtime, own, introduced: false, logs: Logs::default() }
    }

    pub(crate) async fn run(mut self, stop: CancellationToken) -> anyhow::Result<()> {
        let refused = stop.run_until_cancelled(self.poll_until_refused()).await;
        self.logs.end().await;
        refused.map_or(Ok(()), |it| Err(it.into()))
    }

    /// Ends when the manager no longer accepts this node.
    async fn poll_until_refused(&mut self) -> Refused {
        let mut backoff = Backoff::default();
        loop {
            let polled = self.poll().await;
            let error = polled.as_ref().err().and_then(|it| it.downcast_ref::<ClientError>());
            if let Err(refused) = self.manager.record_result(error) {
                return refused;
            }
            let pause = self.record_and_pause(polled, &mut backoff);
            tokio::time::sleep(pause).await;
        }
    }

    /// Records whether the manager answered. Returns how long to wait.
    fn record_and_pause(
        &self,
        polled: anyhow::Result<Duration>,
        backoff: &mut Backoff,
    ) -> Duration {
        match polled {
            Ok(pause) => {
                if backoff.failures() > 0 && !self.manager.is_reachable() {
                    info!("the manager is reachable again");
                }
                backoff.reset();
                self.manager.set_reachable(true);
                pause
            }
            Err(error) => {
                // A full disk is not the manager's fault.
                let answered = error.is::<NotStored>();
                self.manager.set_reachable(answered);
                if !answered {
                    self.manager.rotate();
                }
                let pause = next_delay(backoff);
                match answered {
                    // The brain logs it, at a limited rate.
                    true => debug!(retry_s = pause.as_secs_f32(), "{error:#}"),
                    false => warn!(retry_s = pause.as_secs_f32(), "{error:#}"),
                }
                pause
            }
        }
    }

    /// One poll. Returns how long to wait before the next.
    async fn poll(&mut self) -> anyhow::Result<Duration> {
        if !self.introduced {
            self.introduce().await?;
        }
        let (version, etag) = self.brain.have();
        let begun = Instant::now();
        let client = self.manager.client();
        let answer = client.manifest(etag.as_deref(), version, WAIT).await;
        let answer = answer.context("could not fetch the manifest from the manager")?;
        let (manifest, asks) = match answer {
            colony_wfm::Poll::Unchanged { asks } => (None, asks),
            colony_wfm::Poll::Manifest { bytes, etag, asks } => (Some((bytes, etag)), asks),
        };
        // Requests first: they must not be lost if the manifest is refused or
        // cannot be stored.
        let requested = self.handle_requests(&asks);
        let changed = match manifest {
            Some((bytes, etag)) => self.accept_manifest(&bytes, etag).await?,
            None => false,
        };
        // Requests for reports last: they may name deployments of the manifest.
        if !asks.deployments.is_empty() {
            self.brain.step(Input::ReportsRequested(asks.deployments))?;
        }
        let unchanged = !requested && !changed;
        // A manager that answers "nothing new" at once does not hold requests.
        let held = begun.elapsed() >= Duration::from_secs(1);
        Ok(if unchanged && !held { INTERVAL } else { Duration::ZERO })
    }

    async fn introduce(&mut self) -> anyhow::Result<()> {
        let sent = self.manager.client().capabilities(self.own.id(), &self.own).await;
        sent.context("could not send the capabilities to the manager")?;
        self.introduced = true;
        // The next poll may be held for `WAIT` before it shows the same.
        self.manager.set_reachable(true);
        Ok(())
    }

    /// Accepts a manifest. Returns whether it differs from the last one.
    async fn accept_manifest(&self, bytes: &[u8], etag: Option<String>) -> anyhow::Result<bool> {
        debug!("received a manifest");
        let fetch = match self.brain.check(bytes, etag.as_deref()) {
            Ok(Some(fetch)) => fetch,
            Ok(None) => return Ok(false),
            Err(rejection) => anyhow::bail!("rejected the manager's manifest: {rejection}"),
        };
        if fetch.etag_differs {
            warn!("the ETag is not the digest of the manifest");
        }
        let documents = self.fetch(&fetch).await?;
        debug!(documents = documents.len(), "received the documents of the manifest");
        colony_process::fail::hit(colony_process::fail::Point::NodeManifestFetched);
        let bytes = bytes.to_vec();
        self.brain.step(Input::Manifest { bytes, etag, documents })?;
        Ok(true)
    }

    /// Fetches the missing documents, as one archive if there are several.
    async fn fetch(&self, fetch: &Fetch) -> anyhow::Result<BTreeMap<Digest, Vec<u8>>> {
        let client = self.manager.client();
        if let (Some(digest), true) = (&fetch.bundle, fetch.missing.len() > 1) {
            let bytes = client.bundle(digest).await.context("could not fetch the bundle")?;
            anyhow::ensure!(
                Digest::of(&bytes) == *digest,
                "the bundle does not have the digest in the manifest"
            );
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

    /// Handles the manager's requests, except those for reports. Returns
    /// whether any of them is not in progress already.
    fn handle_requests(&mut self, asks: &ManagerRequests) -> bool {
        let logs: Vec<_> = asks.logs.iter().filter(|it| self.logs.is_new(it)).cloned().collect();
        let anything = !ManagerRequests { logs: logs.clone(), ..asks.clone() }.is_empty();
        self.introduced &= !asks.capabilities;
        for request in logs {
            self.logs.read(request, self.runtime.clone(), self.manager.clone());
        }
        if asks.renew {
            self.manager.renew.wake();
        }
        if asks.health {
            self.manager.health.wake();
        }
        anything
    }
}

fn next_delay(backoff: &mut Backoff) -> Duration {
    backoff.next_delay().min(RETRY_LONGEST)
}

#[cfg(test)]
mod tests {
    use colony_core::site::Timing;

    use super::*;

    #[test]
    fn a_manager_that_was_away_hears_of_the_node_within_its_lease() {
        let mut backoff = Backoff::default();
        let delays: Vec<u128> = (0..8).map(|_| next_delay(&mut backoff).as_millis()).collect();
        assert_eq!(delays, [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000]);
        assert!(RETRY_LONGEST * 2 < Timing::default().lease);
    }
}
