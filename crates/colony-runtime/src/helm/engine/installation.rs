//! Rendering, installing and updating a release.

use std::path::{Path, PathBuf};
use std::time::Duration;

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::node::Prepared;
use tracing::info;

use super::{HelmEngine, WORK_TIME};
use crate::file;
use crate::helm::kube_error::KubeError;
use crate::helm::manifest::lasting_workloads;
use crate::helm::observation::{RELEASE, Release};
use crate::helm::release::{self, Origin, ReleaseId};
use crate::helm::values::values;
use crate::job::Job;
use crate::oci::archive::{Stored, disk};

/// How long `helm` may take to render a chart.
pub(super) const RENDER_TIME: Duration = Duration::from_secs(60);
/// How many records Helm keeps of a release.
const HISTORY: &str = "5";
/// How many interrupted operations are discarded at one start. If another one
/// is left, Helm refuses the start and names it.
const REPAIRS: u32 = 5;
const VALUES: &str = "values.json";
/// What Helm prints if the cluster does not know a kind.
const KINDS_MISSING: [&str; 2] = ["no matches for kind", "ensure CRDs are installed"];

impl HelmEngine {
    /// Fetches and renders the chart. Returns its workloads that should keep
    /// running.
    pub(super) async fn prepare(&self, job: &Job, refresh: bool) -> Result<Prepared, Failure> {
        if refresh {
            self.charts.refresh(job).await;
        }
        let (id, chart) =
            (ReleaseId::of(job, &self.config.policy.namespaces)?, self.charts.stored(job).await?);
        let values = self.write_values(job, &chart).await?;
        let before = self.release_at(&id).await?;
        let manifest = self.render(job, &id, &chart, &values, before.as_ref()).await?;
        let invalid = |it| Failure::new(Code::InvalidConfig, it);
        let mut services = lasting_workloads(&manifest).map_err(invalid)?;
        services.insert(RELEASE.to_owned());
        let mark = release::chart_mark(&chart.digest.hex());
        let made_before = |it: &Release| {
            it.origin.fingerprint == job.fingerprint && it.origin.chart != mark && !it.replaced
        };
        Ok(Prepared { services, outdated: refresh && before.as_ref().is_some_and(made_before) })
    }

    /// The objects of the chart, as far as they fit the cluster. A first
    /// installation creates the kinds that a chart brings in its folder `crds`,
    /// but a dry run does not, so such a chart cannot be validated before.
    async fn render(
        &self,
        job: &Job,
        id: &ReleaseId,
        chart: &Stored,
        values: &Path,
        before: Option<&Release>,
    ) -> Result<String, Failure> {
        let doing = format!("render the chart of `{}`", job.component);
        let mut arguments = vec!["template", &id.name, text(&chart.path)?, "--no-hooks"];
        arguments.extend(["--namespace", &id.namespace, "--values", text(values)?]);
        if before.is_some() {
            arguments.push("--is-upgrade");
        }
        let validated = [&arguments[..], &["--validate"]].concat();
        let failure = match self.run_helm(&doing, &validated, RENDER_TIME).await {
            Ok(manifest) => return Ok(manifest),
            Err(failure) => failure,
        };
        let installed = before.is_some_and(|it| it.was_deployed);
        let lacks_kinds = KINDS_MISSING.iter().any(|it| failure.message.contains(it));
        if installed || !lacks_kinds || !self.brings_kinds(chart).await? {
            return Err(failure);
        }
        let failed = |it: KubeError| it.failed(&doing);
        let version = self.api.version().await.map_err(failed)?;
        let apis = self.api.groups().await.map_err(failed)?.join(",");
        arguments.extend(["--kube-version", &version, "--api-versions", &apis]);
        self.run_helm(&doing, &arguments, RENDER_TIME).await
    }

    /// The chart has definitions of kinds in its folder `crds`.
    async fn brings_kinds(&self, chart: &Stored) -> Result<bool, Failure> {
        let arguments = ["show", "crds", text(&chart.path)?];
        let shown = self.run_helm("read the kinds of the chart", &arguments, RENDER_TIME).await?;
        Ok(shown.contains("CustomResourceDefinition"))
    }

    /// Installs or updates the release. Hooks are waited for, workloads are
    /// not: their state is observed.
    pub(super) async fn start(&self, job: &Job) -> Result<(), Failure> {
        let (id, chart) =
            (ReleaseId::of(job, &self.config.policy.namespaces)?, self.charts.stored(job).await?);
        let values = self.write_values(job, &chart).await?;
        self.note_left_behind().await.map_err(|it| it.failed("look for releases"))?;
        let before = self.repair(&id).await?;
        let origin = Origin::of(job, &chart.digest.hex());
        let revision = before.map_or(1, |it| it.version + 1);
        let labels = origin.labels(self.config.node.as_str(), &self.config.identity, revision);
        let labels: Vec<String> = labels.iter().map(|(key, it)| format!("{key}={it}")).collect();
        let labels = labels.join(",");
        let limit = job.subject.component.properties.timeout.map_or(WORK_TIME, |it| it.duration());
        let seconds = format!("{}s", limit.as_secs().max(1));
        let mut arguments = vec!["upgrade", "--install", &id.name, text(&chart.path)?];
        arguments.extend(["--namespace", &id.namespace, "--create-namespace"]);
        // Without values of its own an update would keep those of the revision before.
        arguments.extend(["--values", text(&values)?, "--reset-values", "--labels", &labels]);
        arguments.extend(["--history-max", HISTORY, "--timeout", &seconds]);
        let doing = format!("install the release `{}` in namespace `{}`", id.name, id.namespace);
        match self.run_helm(&doing, &arguments, limit).await {
            Ok(_) => Ok(()),
            Err(failure) => Err(self.explained(&id, failure).await),
        }
    }

    /// Makes a release fit for `helm upgrade`, and returns what is left of it:
    /// an interrupted operation is discarded, an interrupted removal is
    /// finished, and a release that never was deployed is removed, as Helm
    /// refuses all three.
    async fn repair(&self, id: &ReleaseId) -> Result<Option<Release>, Failure> {
        let failed = |it: KubeError| it.failed("repair an interrupted release");
        for _ in 0..REPAIRS {
            let newest = self.release_at(id).await?;
            let Some(release) = newest.filter(Release::is_pending) else { break };
            info!(release = id.name, "discarding an interrupted operation: {}", release.status);
            self.api.delete(&release.record_path()).await.map_err(failed)?;
        }
        match self.release_at(id).await? {
            Some(release) if release.is_leaving() || !release.was_deployed => {
                info!(release = id.name, "removing what is left of it: {}", release.status);
                self.uninstall_one(&release).await?;
                Ok(None)
            }
            other => Ok(other),
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
