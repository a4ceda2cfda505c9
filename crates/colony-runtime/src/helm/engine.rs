//! Helm and a cluster as a container engine of the node.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::margo::{ComponentName, DeploymentId, Digest};
use colony_core::node::{Action, Container, Prepared};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::config::{Config, EngineInfo, EngineKind, Facts, PullProgress};
use crate::containers::scope::Scope;
use crate::engine::Engine;
use crate::error::Error;
use crate::file;
use crate::helm::api::KubeApi;
use crate::helm::facts::facts;
use crate::helm::kube_error::KubeError;
use crate::helm::manifest::lasting_workloads;
use crate::helm::observation::{self, RELEASE, Release};
use crate::helm::program::Helm;
use crate::helm::release::{self, Origin, ReleaseId};
use crate::helm::values::values;
use crate::helm::watch;
use crate::job::Job;
use crate::logs::{LogPage, LogQuery};
use crate::news::News;
use crate::oci::archive::{Archives, Stored, disk};
use crate::oci::registry::Registry;

/// Where Helm keeps its records, in all namespaces.
const SECRETS: &str = "/api/v1/secrets";
/// How long `helm` may take to render a chart.
const RENDER_TIME: Duration = Duration::from_secs(60);
/// How long hooks and the removal of a release may take.
const WORK_TIME: Duration = Duration::from_secs(300);
/// The labels by which charts mark the objects of a release, the recommended
/// one and the former one.
const CLAIM_LABELS: [&str; 2] = ["app.kubernetes.io/instance", "release"];
/// How many records Helm keeps of a release.
const HISTORY: &str = "5";
/// How many interrupted operations are discarded at one start. If another one
/// is left, Helm refuses the start and names it.
const REPAIRS: u32 = 5;
const VALUES: &str = "values.json";
/// How often the API server is asked for while Helm runs, and how many answers
/// in a row may be missing.
const OUTAGE_CHECK: Duration = Duration::from_secs(5);
const OUTAGE: u32 = 3;

pub(crate) struct HelmEngine {
    pub(super) api: KubeApi,
    helm: Helm,
    info: EngineInfo,
    config: Config,
    scope: Scope,
    charts: Archives,
    news: News,
    /// Records of operations that were under way at the first look: an earlier
    /// process of the node began them, and no process will end them.
    left_behind: OnceLock<BTreeSet<String>>,
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
    let news = News::default();
    let left_behind = OnceLock::new();
    Ok(Arc::new(HelmEngine { api, helm, info, config, scope, charts, news, left_behind }))
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
        let records = observation::selector(self.scope.identities(), None);
        stop.run_until_cancelled(watch::watch(&self.api, &self.news, &records)).await;
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
    /// Fetches and renders the chart. Returns its workloads that should keep
    /// running.
    async fn prepare(&self, job: &Job, refresh: bool) -> Result<Prepared, Failure> {
        if refresh {
            self.charts.refresh(job).await;
        }
        let (id, chart) =
            (ReleaseId::of(job, &self.config.policy.namespaces)?, self.charts.stored(job).await?);
        let values = self.write_values(job, &chart).await?;
        let before = self.release_at(&id).await?;
        let mut arguments =
            vec!["template", &id.name, text(&chart.path)?, "--validate", "--no-hooks"];
        arguments.extend(["--namespace", &id.namespace, "--values", text(&values)?]);
        if before.is_some() {
            arguments.push("--is-upgrade");
        }
        let doing = format!("render the chart of `{}`", job.component);
        let manifest = self.run_helm(&doing, &arguments, RENDER_TIME).await?;
        let invalid = |it| Failure::new(Code::InvalidConfig, it);
        let mut services = lasting_workloads(&manifest).map_err(invalid)?;
        services.insert(RELEASE.to_owned());
        let mark = release::chart_mark(&chart.digest.hex());
        let made_before = |it: &Release| {
            it.origin.fingerprint == job.fingerprint && it.origin.chart != mark && !it.replaced
        };
        Ok(Prepared { services, outdated: refresh && before.as_ref().is_some_and(made_before) })
    }

    /// Installs or updates the release. Hooks are waited for, workloads are
    /// not: their state is observed.
    async fn start(&self, job: &Job) -> Result<(), Failure> {
        let (id, chart) =
            (ReleaseId::of(job, &self.config.policy.namespaces)?, self.charts.stored(job).await?);
        let values = self.write_values(job, &chart).await?;
        self.repair(&id).await?;
        let origin = Origin::of(job, &chart.digest.hex());
        let labels = origin.labels(self.config.node.as_str(), &self.config.identity);
        let labels: Vec<String> = labels.iter().map(|(key, it)| format!("{key}={it}")).collect();
        let labels = labels.join(",");
        let limit = job.subject.component.properties.timeout.map_or(WORK_TIME, |it| it.duration());
        let seconds = format!("{}s", limit.as_secs().max(1));
        let mut arguments = vec!["upgrade", "--install", &id.name, text(&chart.path)?];
        arguments.extend(["--namespace", &id.namespace, "--create-namespace"]);
        arguments.extend(["--values", text(&values)?, "--labels", &labels]);
        arguments.extend(["--history-max", HISTORY, "--timeout", &seconds]);
        let doing = format!("install the release `{}` in namespace `{}`", id.name, id.namespace);
        self.run_helm(&doing, &arguments, limit).await.map(drop)
    }

    /// Makes a release fit for `helm upgrade`: an interrupted operation is
    /// discarded, and one that never succeeded is removed, as Helm refuses
    /// both.
    async fn repair(&self, id: &ReleaseId) -> Result<(), Failure> {
        let failed = |it: KubeError| it.failed("repair an interrupted release");
        for _ in 0..REPAIRS {
            let newest = self.release_at(id).await?;
            let Some(release) = newest.filter(Release::is_pending) else { break };
            info!(release = id.name, "discarding an interrupted operation: {}", release.status);
            self.api.delete(&release.record_path()).await.map_err(failed)?;
        }
        match self.release_at(id).await? {
            Some(release) if !release.was_deployed => self.uninstall_one(&release).await,
            _ => Ok(()),
        }
    }

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
    pub(super) async fn releases(
        &self,
        deployment: Option<&DeploymentId>,
    ) -> Result<Vec<Release>, KubeError> {
        let selector = observation::selector(self.scope.identities(), deployment);
        Ok(observation::newest(self.api.list_metadata(SECRETS, &selector).await?))
    }

    async fn observed(&self, known: &BTreeSet<DeploymentId>) -> Result<Vec<Container>, KubeError> {
        let mut releases = self.releases(None).await?;
        let pending = || releases.iter().filter(|it| it.is_pending()).map(Release::record_path);
        let left_behind = self.left_behind.get_or_init(|| pending().collect());
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
            all.extend(observation::containers(&self.api, release, own).await?);
        }
        Ok(all)
    }

    /// What is marked is no longer observed. The start that follows updates it
    /// in place, so that its workloads keep running until then and its data
    /// stays.
    async fn mark_replaced(
        &self,
        deployment: &DeploymentId,
        component: &ComponentName,
        keep: Option<Digest>,
    ) -> Result<(), Failure> {
        let failed = |it: KubeError| it.failed("mark the release that is replaced");
        let releases = self.releases(Some(deployment)).await.map_err(failed)?;
        let other = |it: &&Release| {
            it.origin.component == *component && Some(it.origin.fingerprint) != keep
        };
        for release in releases.iter().filter(other) {
            let path = release.record_path();
            self.api.annotate(&path, release::REPLACED, "true").await.map_err(failed)?;
        }
        Ok(())
    }

    async fn uninstall(
        &self,
        deployment: &DeploymentId,
        component: Option<&ComponentName>,
    ) -> Result<(), Failure> {
        let failed = |it: KubeError| it.failed("look for the releases to remove");
        let releases = self.releases(Some(deployment)).await.map_err(failed)?;
        let selected = |it: &&Release| component.is_none_or(|name| it.origin.component == *name);
        for release in releases.iter().filter(selected) {
            self.uninstall_one(release).await?;
        }
        Ok(())
    }

    /// Removes the releases with the claims for volumes that Helm leaves: those
    /// of stateful sets, and those that a chart keeps. The cluster deletes a
    /// claim when no pod uses it, and the volume with it if its storage class
    /// says so. The claims go first, because only the releases say which they
    /// are.
    async fn purge(&self, deployment: &DeploymentId) -> Result<(), Failure> {
        let failed = |it: KubeError| it.failed("look for the releases to remove");
        let releases = self.releases(Some(deployment)).await.map_err(failed)?;
        for release in &releases {
            self.delete_claims(&release.id).await?;
            self.uninstall_one(release).await?;
            // A pod that was restarted meanwhile may have claimed again.
            self.delete_claims(&release.id).await?;
        }
        Ok(())
    }

    async fn delete_claims(&self, id: &ReleaseId) -> Result<(), Failure> {
        let failed = |it: KubeError| it.failed("delete the claims for volumes of the release");
        let path = format!("/api/v1/namespaces/{}/persistentvolumeclaims", id.namespace);
        for label in CLAIM_LABELS {
            let selector = format!("{label}={}", id.name);
            for claim in self.api.list_metadata(&path, &selector).await.map_err(failed)? {
                let name = &claim.metadata.name;
                info!(release = id.name, claim = name, "deleting a claim for a volume");
                self.api.delete(&format!("{path}/{name}")).await.map_err(failed)?;
            }
        }
        Ok(())
    }

    async fn uninstall_one(&self, release: &Release) -> Result<(), Failure> {
        let ReleaseId { name, namespace } = &release.id;
        let doing = format!("remove the release `{name}` in namespace `{namespace}`");
        let limit = format!("{}s", WORK_TIME.as_secs());
        let arguments = ["uninstall", name, "--namespace", namespace, "--wait"];
        let arguments = [&arguments[..], &["--ignore-not-found", "--timeout", &limit]].concat();
        self.run_helm(&doing, &arguments, WORK_TIME).await.map(drop)
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

    /// The values of the job, in a file beside its chart.
    async fn write_values(&self, job: &Job, chart: &Stored) -> Result<PathBuf, Failure> {
        let invalid = |it| Failure::new(Code::InvalidConfig, it);
        let values = values(job.targets()).map_err(invalid)?;
        let path = chart.path.with_file_name(VALUES);
        let bytes = serde_json::to_vec_pretty(&values).unwrap_or_default();
        file::replace(&path, bytes, 0o600).await.map_err(|it| disk(&it))?;
        Ok(path)
    }
}

fn text(path: &Path) -> Result<&str, Failure> {
    let message = || format!("the path {} is not valid UTF-8", path.display());
    path.to_str().ok_or_else(|| Failure::new(Code::EngineError, message()))
}

impl fmt::Debug for HelmEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HelmEngine")
            .field("node", &self.config.node)
            .field("engine", &self.info)
            .finish_non_exhaustive()
    }
}
