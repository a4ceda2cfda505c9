//! Helm and a cluster as a container engine of the node.

mod hooks;
mod installation;
mod objects;
mod removal;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::margo::{DeploymentId, Digest};
use colony_core::node::{Action, Container, Prepared};
use futures_util::future::join;
use tokio_util::sync::CancellationToken;

use crate::config::{Config, EngineInfo, EngineKind, Facts, PullProgress};
use crate::containers::scope::Scope;
use crate::engine::Engine;
use crate::error::Error;
use crate::file;
use crate::helm::api::KubeApi;
use crate::helm::engine::objects::ObjectChecks;
use crate::helm::facts::facts;
use crate::helm::kube_error::KubeError;
use crate::helm::observation::{self, Release};
use crate::helm::program::Helm;
use crate::helm::release::{self, ReleaseId};
use crate::helm::watch;
use crate::job::Job;
use crate::logs::{LogPage, LogQuery};
use crate::news::News;
use crate::oci::archive::{Archives, disk};
use crate::oci::registry::Registry;

/// Where Helm keeps its records, in all namespaces.
const SECRETS: &str = "/api/v1/secrets";
/// How long hooks and the removal of a release may take.
const WORK_TIME: Duration = Duration::from_secs(300);
/// How often the API server is asked for while Helm runs, and how many answers
/// in a row may be missing.
const OUTAGE_CHECK: Duration = Duration::from_secs(5);
const OUTAGE: u32 = 3;

pub(crate) struct HelmEngine {
    pub(in crate::helm) api: KubeApi,
    helm: Helm,
    info: EngineInfo,
    config: Config,
    scope: Scope,
    charts: Archives,
    news: News,
    /// Records of operations that were under way at the first look: an earlier
    /// process of the node began them, and no process will end them.
    left_behind: OnceLock<BTreeSet<String>>,
    checks: ObjectChecks,
}

/// Finds the cluster and `helm`. Nothing on the cluster changes.
pub(crate) async fn connect(
    kubeconfig: Option<&Path>,
    config: Config,
    registry: Arc<Registry>,
) -> Result<Arc<dyn Engine>, Error> {
    let folder = |source| Error::Folder { path: config.dir.clone(), source };
    file::make_private(&config.dir).await.map_err(folder)?;
    let scope = Scope::open(config.node.clone(), &config.identity, &config.dir).await;
    let scope = scope.map_err(folder)?;
    let helm = Helm::find(config.helm.as_deref(), kubeconfig, &config.dir);
    let helm = helm.map_err(|it| Error::NoEngine { tried: vec![format!("kubernetes ({it})")] })?;
    let api = KubeApi::connect(kubeconfig).await?;
    let version = api.version().await;
    let version =
        version.map_err(|it| Error::NoEngine { tried: vec![format!("{} ({it})", api.address)] })?;
    let address = api.address.clone();
    let info = EngineInfo { kind: EngineKind::Kubernetes, version, address };
    let charts = Archives::charts(registry, &config.dir);
    let (news, checks) = (News::default(), ObjectChecks::default());
    let left_behind = OnceLock::new();
    Ok(Arc::new(HelmEngine { api, helm, info, config, scope, charts, news, left_behind, checks }))
}

#[async_trait]
impl Engine for HelmEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    async fn ping(&self) -> Result<(), Error> {
        let address = &self.info.address;
        self.api
            .version()
            .await
            .map(drop)
            .map_err(|it| Error::Engine { address: address.clone(), source: Box::new(it) })
    }

    async fn perform(&self, action: &Action, job: Option<&Job>) -> Result<Prepared, Failure> {
        match (action, job) {
            (Action::Prepare { refresh, .. }, Some(job)) => {
                return self.prepare(job, *refresh).await;
            }
            (Action::Start { .. }, Some(job)) => self.start(job).await?,
            (Action::Clear { deployment, component, gone: true, .. }, _) => {
                self.uninstall(deployment, Some(component)).await?;
            }
            (Action::Clear { deployment, component, keep, gone: false }, _) => {
                self.mark_replaced(deployment, component, *keep).await?;
            }
            (Action::Stage { .. }, _) => {
                let message = "a Helm release cannot run beside its previous version: blue-green needs compose";
                return Err(Failure::new(Code::NotEligible, message));
            }
            // Nothing is ever staged.
            (Action::Unstage { .. }, _) => {}
            (Action::Remove { deployment, purge: true, .. }, _) => self.purge(deployment).await?,
            (Action::Remove { deployment, purge: false, .. }, _) => {
                self.uninstall(deployment, None).await?;
            }
            // These have a job, or its absence was an error.
            (Action::Prepare { .. } | Action::Start { .. }, None) => {}
        }
        Ok(Prepared::default())
    }

    async fn observe(&self, known: &BTreeSet<DeploymentId>) -> Result<Vec<Container>, Failure> {
        self.news.look();
        let observed = self.observed(known).await;
        observed.map_err(|it| it.failed("look at the releases of this node"))
    }

    async fn changed(&self) {
        self.news.since_look().await;
    }

    async fn run(&self, stop: CancellationToken) {
        let records = release::records(self.scope.identities(), None);
        let watch = watch::watch(&self.api, &self.news, &records);
        stop.run_until_cancelled(join(watch, self.check_objects())).await;
    }

    async fn collect(&self, needed: &BTreeSet<Digest>) -> Result<(), Failure> {
        let needed = needed.iter().map(Digest::hex).collect();
        file::keep_folders(&self.config.dir.join("charts"), &needed).await.map_err(|it| disk(&it))
    }

    async fn logs(&self, deployment: &DeploymentId, query: &LogQuery) -> Result<LogPage, Failure> {
        self.read_logs(deployment, query).await
    }

    async fn facts(&self) -> Facts {
        facts(&self.api.list("/api/v1/nodes", "").await.unwrap_or_default())
    }

    /// The nodes of the cluster fetch images; they report no progress.
    fn progress(&self) -> Vec<PullProgress> {
        Vec::new()
    }

    async fn pulling(&self) {
        std::future::pending().await
    }
}

impl HelmEngine {
    /// The release of this node at a place. A release that is not ours is
    /// never touched.
    async fn release_at(&self, id: &ReleaseId) -> Result<Option<Release>, Failure> {
        let failed = |it: KubeError| it.failed("look for the release");
        let path = format!("/api/v1/namespaces/{}/secrets", id.namespace);
        let selector = format!("owner=helm,name={}", id.name);
        let records = self.api.list_metadata(&path, &selector).await.map_err(failed)?;
        let ours =
            |it: &String| self.scope.identities().any(|id| release::identity_mark(id) == *it);
        let foreign = |it: &crate::helm::api::Named| {
            !it.metadata.labels.get(release::IDENTITY).is_some_and(ours)
        };
        if records.iter().any(foreign) {
            let message = format!(
                "the namespace `{}` has a release `{}` that was not installed by this node",
                id.namespace, id.name
            );
            return Err(Failure::new(Code::EngineError, message));
        }
        Ok(observation::newest(records).into_iter().next())
    }

    /// Releases of this node, all or those of a deployment.
    pub(in crate::helm) async fn releases(
        &self,
        deployment: Option<&DeploymentId>,
    ) -> Result<Vec<Release>, KubeError> {
        let selector = release::records(self.scope.identities(), deployment);
        Ok(observation::newest(self.api.list_metadata(SECRETS, &selector).await?))
    }

    /// Records that are pending at the first look. An operator works on a pending
    /// revision that was made by hand.
    fn left_behind_of(&self, releases: &[Release]) -> &BTreeSet<String> {
        let pending = || releases.iter().filter(|it| it.is_pending() && !it.by_hand);
        self.left_behind.get_or_init(|| pending().map(Release::record_path).collect())
    }

    /// Looks once before this process begins an operation of its own.
    async fn note_left_behind(&self) -> Result<(), KubeError> {
        if self.left_behind.get().is_none() {
            self.left_behind_of(&self.releases(None).await?);
        }
        Ok(())
    }

    async fn observed(&self, known: &BTreeSet<DeploymentId>) -> Result<Vec<Container>, KubeError> {
        let mut releases = self.releases(None).await?;
        let left_behind = self.left_behind_of(&releases);
        for release in &mut releases {
            release.is_left_behind = left_behind.contains(&release.record_path());
        }
        // Of a deployment that is not wanted, everything has to be seen.
        releases.retain(|it| !it.replaced || !known.contains(&it.origin.deployment));
        let namespaces = releases.iter().map(|it| it.id.namespace.as_str()).collect();
        let workloads = observation::workloads(&self.api, namespaces).await?;
        let mut all = Vec::new();
        for release in &releases {
            let own = workloads.get(&release.id).map_or(&[][..], Vec::as_slice);
            let is_damaged = self.checks.is_damaged(release);
            all.extend(observation::containers(&self.api, release, is_damaged, own).await?);
        }
        Ok(all)
    }

    /// Runs Helm. If the API server does not answer after a failure, that is the
    /// cause: what Helm prints then may look like a fault of the chart. Helm that
    /// waits for a hook does not notice that the API server is gone: it is
    /// ended, and the next start discards what it left.
    async fn run_helm(
        &self,
        doing: &str,
        arguments: &[&str],
        limit: Duration,
    ) -> Result<String, Failure> {
        let failure = tokio::select! {
            done = self.helm.run(doing, arguments, limit) => match done {
                Ok(output) => return Ok(output),
                Err(failure) => failure,
            },
            error = self.outage() => return Err(error.failed(doing)),
        };
        match self.api.version().await {
            Err(error) if error.is_outage() => Err(error.failed(doing)),
            Ok(_) | Err(_) => Err(failure),
        }
    }

    /// Resolves when the API server is away.
    async fn outage(&self) -> KubeError {
        let mut missing = 0;
        loop {
            tokio::time::sleep(OUTAGE_CHECK).await;
            match self.api.version().await {
                Err(error) if error.is_outage() => {
                    missing += 1;
                    if missing == OUTAGE {
                        return error;
                    }
                }
                Ok(_) | Err(_) => missing = 0,
            }
        }
    }
}

impl fmt::Debug for HelmEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HelmEngine")
            .field("node", &self.config.node)
            .field("engine", &self.info)
            .finish_non_exhaustive()
    }
}
