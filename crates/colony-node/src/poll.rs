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
use colony_wfm::{Asks, ClientError};

use crate::brain::{Brain, NotStored};
use crate::logs::Logs;
use crate::manager::{Manager, Refused};

/// How long the manager may hold the question. Well below the lease.
const WAIT: Duration = Duration::from_secs(10);
/// How often a manager is asked that does not hold questions.
const INTERVAL: Duration = Duration::from_secs(5);
/// The longest pause after a failure. The lease is counted from the last
/// question also by a manager that was away: it must hear of a node that lives
/// well before it runs out.
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
        let refused = stop.run_until_cancelled(self.keep_asking()).await;
        self.logs.end().await;
        refused.map_or(Ok(()), |it| Err(it.into()))
    }

    /// Ends when the manager does not take this node any more.
    async fn keep_asking(&mut self) -> Refused {
        let mut backoff = Backoff::default();
        loop {
            let polled = self.poll().await;
            let error = polled.as_ref().err().and_then(|it| it.downcast_ref::<ClientError>());
            if let Err(refused) = self.manager.judge(error) {
                return refused;
            }
            let pause = self.outcome(polled, &mut backoff);
            tokio::time::sleep(pause).await;
        }
    }

    fn outcome(&self, polled: anyhow::Result<Duration>, backoff: &mut Backoff) -> Duration {
        match polled {
            Ok(pause) => {
                if backoff.failures() > 0 && !self.manager.is_heard() {
                    info!("the manager is back");
                }
                backoff.reset();
                self.manager.heard(true);
                pause
            }
            Err(error) => {
                // A full disk is not the manager's fault.
                let heard = error.is::<NotStored>();
                self.manager.heard(heard);
                if !heard {
                    self.manager.rotate();
                }
                let pause = next_delay(backoff);
                match heard {
                    // The brain logs it, not every time.
                    true => debug!(retry_s = pause.as_secs_f32(), "{error:#}"),
                    false => warn!(retry_s = pause.as_secs_f32(), "{error:#}"),
                }
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
        let (manifest, asks) = match answer {
            colony_wfm::Poll::Unchanged { asks } => (None, asks),
            colony_wfm::Poll::Manifest { bytes, etag, asks } => (Some((bytes, etag)), asks),
        };
        // First, for a manifest may be refused, or not be stored.
        let asked = self.asked(&asks);
        let news = match manifest {
            Some((bytes, etag)) => self.taken(&bytes, etag).await?,
            None => false,
        };
        // Last, for it may be about what the manifest brought.
        if !asks.deployments.is_empty() {
            self.brain.step(Input::Asked(asks.deployments))?;
        }
        let unchanged = !asked && !news;
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

    /// Takes a manifest. Returns whether it is another one than before.
    async fn taken(&self, bytes: &[u8], etag: Option<String>) -> anyhow::Result<bool> {
        debug!("a manifest came");
        let fetch = match self.brain.check(bytes, etag.as_deref()) {
            Ok(Some(fetch)) => fetch,
            Ok(None) => return Ok(false),
            Err(rejection) => anyhow::bail!("refused what the manager sent: {rejection}"),
        };
        if fetch.etag_differs {
            warn!("the manager's tag is not the digest of its manifest");
        }
        let documents = self.fetch(&fetch).await?;
        debug!(documents = documents.len(), "its documents came");
        colony_fail::hit(colony_fail::Point::NodeManifestFetched);
        let bytes = bytes.to_vec();
        self.brain.step(Input::Manifest { bytes, etag, documents })?;
        Ok(true)
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

    /// Has done what the manager asks besides reports. Returns whether it asked
    /// for anything that is not under way.
    fn asked(&mut self, asks: &Asks) -> bool {
        let logs: Vec<_> = asks.logs.iter().filter(|it| self.logs.is_new(it)).cloned().collect();
        let anything = !Asks { logs: logs.clone(), ..asks.clone() }.is_empty();
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
