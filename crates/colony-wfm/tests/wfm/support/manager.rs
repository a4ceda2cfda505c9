//! A manager that holds one manifest for every client and notes what it receives.

use std::sync::Mutex;

use async_trait::async_trait;
use colony_margo::problem::TryLater;
use colony_margo::{
    Capabilities, DeploymentStatus, DeviceId, Digest, Problem, ProblemType, bundle, canonical,
};
use colony_wfm::{
    Authority, CurrentManifest, Have, Joined, LogAnswer, Manager, ManagerRequests, NodeReport,
    SpiffeId,
};
use serde_json::json;
use tokio::sync::{Notify, watch};

use super::{DAY, now};

pub(crate) const ID: &str = "6f1c2a34-0d5e-4b7a-9c11-2f8e7d6a5b40";

/// The manager `a` of a site.
pub(crate) struct Fake {
    pub(crate) authority: Authority,
    pub(crate) state: Mutex<State>,
    changed: Notify,
    /// How often a client began to wait.
    waits: watch::Sender<usize>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) version: u64,
    pub(crate) text: String,
    pub(crate) asks: ManagerRequests,
    pub(crate) ready: bool,
    /// A change that comes just after the manifest was read.
    pub(crate) sudden: Option<String>,
    pub(crate) heard: Vec<String>,
    pub(crate) devices: Vec<DeviceId>,
}

impl Fake {
    pub(crate) fn new(authority: Authority, text: &str) -> Fake {
        let state = State { version: 1, text: text.into(), ready: true, ..State::default() };
        let (state, changed) = (Mutex::new(state), Notify::new());
        Fake { authority, state, changed, waits: watch::Sender::new(0) }
    }

    pub(crate) fn set(&self, text: &str) {
        self.change(|it| {
            it.text = text.into();
            it.version += 1;
        });
    }

    pub(crate) fn change(&self, with: impl FnOnce(&mut State)) {
        with(&mut self.state.lock().unwrap());
        self.changed.notify_waiters();
    }

    /// Tells everybody to look although nothing is different.
    pub(crate) fn stir(&self) {
        self.changed.notify_waiters();
    }

    /// Returns when a client waits for the `n`th time.
    pub(crate) async fn waited(&self, n: usize) {
        self.waits.subscribe().wait_for(|it| *it >= n).await.unwrap();
    }

    pub(crate) fn received(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().heard)
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(self.state.lock().unwrap().text.as_bytes())
    }

    pub(crate) fn packed(&self) -> Vec<u8> {
        let text = self.state.lock().unwrap().text.clone();
        bundle::pack([(&ID.parse().unwrap(), text.as_bytes())])
    }

    fn hear(&self, what: String) {
        self.state.lock().unwrap().heard.push(what);
    }

    fn held(&self) -> CurrentManifest {
        let (digest, packed) = (self.digest(), Digest::of(&self.packed()));
        let state = self.state.lock().unwrap();
        let manifest = json!({
            "manifestVersion": state.version,
            "bundle": {
                "mediaType": "application/vnd.margo.bundle.v1+tar+gzip",
                "digest": packed,
                "url": format!("/api/v1/bundles/{packed}"),
            },
            "deployments": [{
                "deploymentId": ID,
                "digest": digest,
                "url": format!("/api/v1/deployments/{ID}/{digest}"),
            }],
        });
        let bytes = canonical::to_vec(&manifest);
        CurrentManifest { etag: Digest::of(&bytes), bytes, asks: state.asks.clone() }
    }
}

#[async_trait]
impl Manager for Fake {
    fn accepts(&self, id: &SpiffeId, _key: Option<Digest>) -> Result<String, Problem> {
        match id.as_wfm_client() {
            Some(("a", client)) if client != "retired" => Ok(client.to_owned()),
            Some(_) | None => Err(Problem::new(ProblemType::NotAuthorized).detail(id.to_string())),
        }
    }

    async fn manifest(&self, client: &str, have: Have) -> Result<CurrentManifest, Problem> {
        if !self.state.lock().unwrap().ready {
            return Err(Problem::try_later(TryLater::Unavailable, 7));
        }
        self.hear(format!("{client} has {:?}", have.version));
        let held = self.held();
        let sudden = self.state.lock().unwrap().sudden.take();
        if let Some(text) = sudden {
            self.set(&text);
        }
        Ok(held)
    }

    async fn changed(&self, _client: &str) {
        let changed = self.changed.notified();
        self.waits.send_modify(|it| *it += 1);
        changed.await;
    }

    async fn document(&self, client: &str, id: &str, digest: &Digest) -> Result<Vec<u8>, Problem> {
        self.hear(format!("{client} fetches {id}"));
        let state = self.state.lock().unwrap();
        match (id, Digest::of(state.text.as_bytes()) == *digest) {
            (ID, true) => Ok(state.text.clone().into_bytes()),
            _ => Err(Problem::new(ProblemType::DeploymentNotFound)),
        }
    }

    async fn bundle(&self, _client: &str, digest: &Digest) -> Result<Vec<u8>, Problem> {
        let packed = self.packed();
        let found = Digest::of(&packed) == *digest;
        found.then_some(packed).ok_or_else(|| Problem::new(ProblemType::InvalidBundle))
    }

    async fn capabilities_put(
        &self,
        client: &str,
        device: DeviceId,
        body: Capabilities,
    ) -> Result<bool, Problem> {
        self.hear(format!("{client} is {device} by {}", body.properties().vendor));
        let mut state = self.state.lock().unwrap();
        let created = !state.devices.contains(&device);
        state.devices.push(device);
        Ok(created)
    }

    async fn capabilities_delete(&self, _client: &str, device: DeviceId) -> Result<(), Problem> {
        let mut state = self.state.lock().unwrap();
        let before = state.devices.len();
        state.devices.retain(|it| *it != device);
        let found = state.devices.len() < before;
        found.then_some(()).ok_or_else(|| Problem::new(ProblemType::DeviceNotFound))
    }

    async fn status(&self, client: &str, status: DeploymentStatus) -> Result<(), Problem> {
        self.hear(format!("{client}: {} {}", status.deployment_id, status.status.state));
        Ok(())
    }

    async fn logs(&self, client: &str, request: &str, answer: LogAnswer) -> Result<(), Problem> {
        self.hear(format!("{client} logs {request}: {} lines", answer.lines.len()));
        Ok(())
    }

    async fn health(&self, client: &str, report: NodeReport) -> Result<(), Problem> {
        let NodeReport { ready, reasons, progress } = report;
        self.hear(format!("{client} ready {ready} {reasons:?} pulls {}", progress.len()));
        Ok(())
    }

    async fn renew(&self, client: &str, csr: &str) -> Result<Joined, Problem> {
        let id = SpiffeId::wfm_client(self.authority.trust_domain(), "a", client);
        let chain = self.authority.sign(csr, &id.unwrap(), &[], now(), DAY);
        let chain = chain
            .map_err(|error| Problem::new(ProblemType::InvalidRequest).detail(error.to_string()))?;
        let roots = self.authority.root_pem().to_owned();
        Ok(Joined { chain, roots, name: client.to_owned(), site: "a".into() })
    }
}
