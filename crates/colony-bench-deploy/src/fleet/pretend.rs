//! A node without an engine: it speaks to the site as a real one does, over
//! mTLS with a real node's certificate, and says that all it is given runs.
//!
//! For what only the site's side is weighed of: a hundred containers with a
//! health check each would keep two cores busy with something else.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use tokio::task::JoinSet;

use colony_wfm::margo::status::{ColonyStatus, Overall, State};
use colony_wfm::margo::{DeploymentId, DeploymentStatus, Digest, ManifestVersion, StateManifest};
use colony_wfm::{Client, Credentials, Link, ManagerRequests, NodeReport, Poll, Trust, tls};

use crate::clock;

/// How long a real node lets the site hold its question.
const WAIT: Duration = Duration::from_secs(10);

/// Nodes that run until they are dropped.
#[derive(Debug, Default)]
pub(crate) struct Crowd(JoinSet<anyhow::Result<()>>);

impl Crowd {
    /// Goes on as the node whose identity is in `dir` and which has ended.
    pub(crate) fn add(&mut self, dir: &Path) -> anyhow::Result<()> {
        let client = client(dir)?;
        self.0.spawn(Pretender::new(client).run());
        Ok(())
    }

    /// An error if one of them has given up.
    pub(crate) fn check(&mut self) -> anyhow::Result<()> {
        match self.0.try_join_next() {
            None => Ok(()),
            Some(ended) => ended?.context("a pretended node gave up"),
        }
    }
}

fn client(dir: &Path) -> anyhow::Result<Client> {
    let credentials = Credentials::load(dir)?;
    let credentials =
        credentials.with_context(|| format!("no node joined in {}", dir.display()))?;
    let site: serde_json::Value = serde_json::from_slice(&std::fs::read(dir.join("site.json"))?)?;
    let url = site["urls"][0].as_str().context("the site has no address")?;
    let trust = Trust::Roots { pem: &credentials.roots_pem, expect: credentials.manager()? };
    Ok(Client::new(Link::new(url, tls::client_config(Some(&credentials), trust)?)?))
}

struct Pretender {
    client: Client,
    version: ManifestVersion,
    etag: Option<String>,
    /// What runs, if one believes it.
    held: BTreeMap<DeploymentId, Digest>,
    /// Reports under way. A node sends them while its question is held, so it
    /// has two connections.
    reports: JoinSet<anyhow::Result<()>>,
}

impl Pretender {
    fn new(client: Client) -> Pretender {
        let (version, held) = (ManifestVersion::FIRST, BTreeMap::new());
        Pretender { client, version, etag: None, held, reports: JoinSet::new() }
    }

    async fn run(mut self) -> anyhow::Result<()> {
        loop {
            while let Some(reported) = self.reports.try_join_next() {
                reported??;
            }
            let version = self.etag.as_ref().map(|_| self.version.get());
            match self.client.manifest(self.etag.as_deref(), version, WAIT).await? {
                Poll::Unchanged { asks } => self.asked(asks).await?,
                Poll::Manifest { bytes, etag, asks } => {
                    self.taken(&bytes).await?;
                    self.etag = etag;
                    self.asked(asks).await?;
                }
            }
        }
    }

    /// Fetches what is new, as a node would, and reports on it.
    async fn taken(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let manifest = StateManifest::parse(bytes)?;
        self.version = manifest.manifest_version;
        let wanted = manifest.deployments.iter().map(|it| (it.deployment_id.clone(), it.digest));
        let wanted: BTreeMap<DeploymentId, Digest> = wanted.collect();
        let before = std::mem::replace(&mut self.held, wanted.clone());
        for id in before.keys().filter(|it| !wanted.contains_key(it)) {
            self.report(id, &[State::Removed]);
        }
        for (id, digest) in wanted.iter().filter(|it| before.get(it.0) != Some(it.1)) {
            self.client.document(id, digest).await?;
            self.report(id, &[State::Installing, State::Installed]);
        }
        Ok(())
    }

    async fn asked(&mut self, asks: ManagerRequests) -> anyhow::Result<()> {
        for id in asks.deployments {
            if self.held.contains_key(&id) {
                self.report(&id, &[State::Installed]);
            }
        }
        if asks.health {
            self.client.health(&NodeReport { ready: true, ..NodeReport::default() }).await?;
        }
        Ok(())
    }

    fn report(&mut self, id: &DeploymentId, states: &[State]) {
        let status = |state| status(id, self.version, state);
        let reports: Vec<DeploymentStatus> = states.iter().copied().map(status).collect();
        let client = self.client.clone();
        self.reports.spawn(async move {
            for mut report in reports {
                report.colony = Some(ColonyStatus { report: number(), ..ColonyStatus::default() });
                client.status(&report).await?;
            }
            Ok(())
        });
    }
}

fn status(id: &DeploymentId, version: ManifestVersion, state: State) -> DeploymentStatus {
    DeploymentStatus {
        deployment_id: id.to_string(),
        device_id: None,
        adopted_manifest_version: version,
        status: Overall { state, error: None },
        components: Vec::new(),
        colony: None,
    }
}

/// By the clock, as a node does that has lost its disk.
fn number() -> Option<u64> {
    u64::try_from(clock::wall()).ok().map(|it| it / 10)
}
