//! Polls the manifest: the response lists what should run, and the poll is the
//! node's sign of life. So the node also polls while it fetches the documents
//! of a manifest, which may take minutes over a slow line.
//!
//! The manager is the local orchestrator, or another Margo workload manager. It
//! marks a node offline if it gets no poll for a *lease* (15 s by default). It
//! may *refuse the node*, which ends the process; the node may *reject a
//! manifest*, and polls on.
//!
//! Requests go both ways: the node polls, and the response may carry requests of
//! the manager (`ManagerRequests`, in the field `asks`), for reports, logs,
//! health or a renewed certificate.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use bytes::Bytes;

use colony_core::margo::{Capabilities, DeploymentId, Digest, bundle};
use colony_core::node::{Fetch, Input};
use colony_process::Backoff;
use colony_wfm::{Client, ClientError, ManagerRequests};

use crate::brain::{Brain, NotStored};
use crate::manager::logs::{LogSource, Logs};
use crate::manager::{Manager, NodeRefused, refuses_node};

/// How long the manager may hold a request. Well below the lease.
const WAIT: Duration = Duration::from_secs(10);
/// The poll interval for a manager that does not hold requests, and while the
/// node fetches documents. Well below the lease.
const INTERVAL: Duration = Duration::from_secs(5);
/// The longest pause after a failure. A manager that restarted marks the node
/// offline if no request arrives within one lease of its start, so the node polls
/// well within it.
const RETRY_LONGEST: Duration = Duration::from_secs(5);

pub(crate) struct Poll {
    brain: Arc<Brain>,
    manager: Arc<Manager>,
    own: Capabilities,
    /// They were sent, and the manager has not requested them again.
    capabilities_sent: bool,
    logs: Logs,
    interval: Duration,
}

/// The response to a poll.
struct ManifestResponse {
    /// The manifest and its `ETag`; absent if the node has the current one.
    manifest: Option<(Bytes, Option<String>)>,
    /// The deployments whose reports the manager requests. Handled after the
    /// manifest.
    reports: Vec<DeploymentId>,
    /// The manager requested something that is not in progress already.
    has_new_requests: bool,
}

impl Poll {
    pub(crate) fn new(
        brain: Arc<Brain>,
        manager: Arc<Manager>,
        logs: Arc<dyn LogSource>,
        own: Capabilities,
    ) -> Poll {
        let logs = Logs::new(logs, manager.clone());
        Poll { brain, manager, own, capabilities_sent: false, logs, interval: INTERVAL }
    }

    pub(crate) async fn run(mut self, stop: CancellationToken) -> anyhow::Result<()> {
        let refused = stop.run_until_cancelled(self.run_until_node_refused()).await;
        self.logs.end().await;
        refused.map_or(Ok(()), |it| Err(it.into()))
    }

    /// Polls until the manager refuses this node for good.
    async fn run_until_node_refused(&mut self) -> NodeRefused {
        let mut backoff = Backoff::default();
        loop {
            let polled = self.poll().await;
            let error = polled.as_ref().err().and_then(|it| it.downcast_ref::<ClientError>());
            if let Err(refused) = self.manager.record_result(error) {
                return refused;
            }
            let pause = self.record_and_pick_pause(polled, &mut backoff);
            tokio::time::sleep(pause).await;
        }
    }

    /// Records whether the manager responded, and logs an error. Returns how long
    /// to wait before the next poll.
    fn record_and_pick_pause(
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
                // The manager responded, but the node could not store the
                // result: a full disk is not the manager's fault.
                let is_own_fault = error.is::<NotStored>();
                self.manager.set_reachable(is_own_fault);
                if !is_own_fault {
                    self.manager.try_next_address();
                }
                let pause = next_delay(backoff);
                match is_own_fault {
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
        let begun = Instant::now();
        let ManifestResponse { manifest, reports, has_new_requests } =
            self.request_manifest(WAIT).await?;
        // A manager that responds "nothing new" at once does not hold requests.
        let held = begun.elapsed() >= Duration::from_secs(1);
        let changed = match manifest {
            Some((bytes, etag)) => self.accept_manifest(&bytes, etag).await?,
            None => false,
        };
        // Requests for reports last: they may name deployments of the manifest.
        if !reports.is_empty() {
            self.brain.step(Input::ReportsRequested(reports))?;
        }
        let unchanged = !has_new_requests && !changed;
        Ok(if unchanged && !held { self.interval } else { Duration::ZERO })
    }

    /// Polls once, and handles the requests of the manager except those for
    /// reports: they must not be lost if the manifest is rejected or cannot be
    /// stored.
    async fn request_manifest(&mut self, wait: Duration) -> anyhow::Result<ManifestResponse> {
        if !self.capabilities_sent {
            self.send_capabilities().await?;
        }
        let (version, etag) = self.brain.accepted_version_and_etag();
        let response = self.manager.client().manifest(etag.as_deref(), version, wait).await;
        let response = response.context("could not fetch the manifest from the manager")?;
        let (manifest, asks) = match response {
            colony_wfm::Poll::Unchanged { asks } => (None, asks),
            colony_wfm::Poll::Manifest { bytes, etag, asks } => (Some((bytes, etag)), asks),
        };
        let has_new_requests = self.handle_requests(&asks);
        Ok(ManifestResponse { manifest, reports: asks.deployments, has_new_requests })
    }

    async fn send_capabilities(&mut self) -> anyhow::Result<()> {
        let sent = self.manager.client().capabilities(self.own.id(), &self.own).await;
        sent.context("could not send the capabilities to the manager")?;
        self.capabilities_sent = true;
        // The manager may hold the next poll for `WAIT`, and only its response
        // would show that the manager is reachable.
        self.manager.set_reachable(true);
        Ok(())
    }

    /// Fetches the missing documents of a manifest and hands both to the core.
    /// Returns false if the core has the manifest already.
    async fn accept_manifest(
        &mut self,
        bytes: &[u8],
        etag: Option<String>,
    ) -> anyhow::Result<bool> {
        debug!("received a manifest");
        let fetch = match self.brain.missing_documents(bytes, etag.as_deref()) {
            Ok(Some(fetch)) => fetch,
            Ok(None) => return Ok(false),
            Err(rejection) => anyhow::bail!("rejected the manager's manifest: {rejection}"),
        };
        if fetch.etag_differs {
            warn!("the ETag is not the digest of the manifest");
        }
        let client = self.manager.client();
        let documents = tokio::select! {
            documents = fetch_documents(&client, &fetch) => documents?,
            refusal = self.stay_online_until_node_refused() => return Err(refusal),
        };
        debug!(documents = documents.len(), "received the documents of the manifest");
        colony_process::fail::hit(colony_process::fail::Point::NodeManifestFetched);
        let bytes = bytes.to_vec();
        self.brain.step(Input::Manifest { bytes, etag, documents })?;
        Ok(true)
    }

    /// Polls while documents are fetched, so that the node stays online. Ends
    /// only when the manager refuses this node.
    ///
    /// A manifest in a response is ignored, also a newer one: if each newer one
    /// restarted the fetch, a slow line might never complete any. So are
    /// requests for reports, which may name deployments of the manifest that
    /// is being fetched. The manager repeats both with the next poll.
    async fn stay_online_until_node_refused(&mut self) -> anyhow::Error {
        loop {
            tokio::time::sleep(self.interval).await;
            let polled = self.request_manifest(Duration::ZERO).await;
            self.manager.set_reachable(polled.is_ok());
            let Err(error) = polled else { continue };
            if error.downcast_ref().is_some_and(refuses_node) {
                return error;
            }
            self.manager.try_next_address();
            warn!("a poll failed while documents are being fetched: {error:#}");
        }
    }

    /// Handles the manager's requests, except those for reports. Returns
    /// whether one of them is not in progress already.
    fn handle_requests(&mut self, asks: &ManagerRequests) -> bool {
        let logs: Vec<_> = asks.logs.iter().filter(|it| self.logs.is_new(it)).cloned().collect();
        let has_new = !ManagerRequests { logs: logs.clone(), ..asks.clone() }.is_empty();
        self.capabilities_sent &= !asks.capabilities;
        for request in logs {
            self.logs.read(request);
        }
        if asks.renew {
            self.manager.renew.wake();
        }
        if asks.health {
            self.manager.health.wake();
        }
        has_new
    }
}

/// Fetches the missing documents: one by one, or as one archive (the bundle of
/// the manifest) if there are several.
async fn fetch_documents(
    client: &Client,
    fetch: &Fetch,
) -> anyhow::Result<BTreeMap<Digest, Vec<u8>>> {
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

fn next_delay(backoff: &mut Backoff) -> Duration {
    backoff.next_delay().min(RETRY_LONGEST)
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use axum::http::header::{CONTENT_TYPE, ETAG};
    use axum::routing::{any, get};
    use colony_core::margo::manifest::MEDIA_TYPE;
    use colony_core::site::Timing;
    use tokio::sync::watch;

    use super::*;
    use crate::Identity;
    use crate::kit::sample;
    use crate::kit::stand_in::StandIn;

    #[tokio::test]
    async fn node_polls_while_it_fetches_documents() {
        let Input::Manifest { bytes, etag, documents } = sample::manifest(1) else { panic!() };
        let etag = etag.expect("the manifest has a tag");
        let document = documents.into_values().next().expect("the manifest has a document");
        let polls = Arc::new(watch::Sender::new(0));
        let (count, wait) = (polls.clone(), polls.clone());
        let manifest = move || async move {
            count.send_modify(|it| *it += 1);
            ([(CONTENT_TYPE, MEDIA_TYPE.to_owned()), (ETAG, etag)], bytes)
        };
        // The document comes only after so many polls.
        let content = move || async move {
            wait.subscribe().wait_for(|it| *it == POLLS).await.expect("the count goes on");
            document
        };
        let app = Router::new()
            .route("/api/v1/deployments", get(manifest))
            .route("/api/v1/deployments/{id}/{digest}", get(content))
            .fallback(any(|| async { StatusCode::OK }));
        let site = StandIn::serving(app, sample::authority()).await;
        let dir = tempfile::tempdir().expect("a directory");
        let identity =
            Identity { urls: vec![site.url.clone()], ..sample::identity(&site.authority) };
        let brain =
            Arc::new(Brain::open(&sample::config(dir.path()), &identity).expect("it opens"));
        let manager = Arc::new(Manager::new(&identity).expect("a way to the manager"));
        let own = sample::capabilities(&identity);
        let poll = Poll::new(brain.clone(), manager.clone(), Arc::new(sample::NoLogs), own);
        let mut poll = Poll { interval: Duration::from_millis(1), ..poll };

        let polled = tokio::time::timeout(Duration::from_secs(20), poll.poll()).await;

        polled.expect("the node polls until the document is there").expect("it is accepted");
        assert_eq!(brain.accepted_version_and_etag().0, Some(1));
        assert!(manager.is_reachable());
    }

    /// The first poll gets the manifest, the others show that the node lives.
    const POLLS: usize = 4;

    #[test]
    fn a_manager_that_was_away_hears_of_the_node_within_its_lease() {
        let mut backoff = Backoff::default();
        let delays: Vec<u128> = (0..8).map(|_| next_delay(&mut backoff).as_millis()).collect();
        assert_eq!(delays, [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000]);
        assert!(RETRY_LONGEST * 2 < Timing::default().lease);
        assert!(INTERVAL * 2 < Timing::default().lease, "also while documents are fetched");
    }
}
