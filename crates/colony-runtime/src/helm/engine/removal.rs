//! Releases that are replaced or removed, and the claims for volumes that Helm
//! leaves.

use colony_core::attempt::Failure;
use colony_core::margo::{ComponentName, DeploymentId, Digest};
use tracing::info;

use super::{HelmEngine, WORK_TIME};
use crate::helm::kube_error::KubeError;
use crate::helm::observation::Release;
use crate::helm::release::{self, ReleaseId};

/// The labels by which charts mark the objects of a release, the recommended
/// one and the former one.
const CLAIM_LABELS: [&str; 2] = ["app.kubernetes.io/instance", "release"];

impl HelmEngine {
    /// What is marked is no longer observed. The start that follows updates it
    /// in place, so that its workloads keep running until then and its data
    /// stays.
    pub(super) async fn mark_replaced(
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

    pub(super) async fn uninstall(
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
    pub(super) async fn purge(&self, deployment: &DeploymentId) -> Result<(), Failure> {
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

    pub(super) async fn uninstall_one(&self, release: &Release) -> Result<(), Failure> {
        let ReleaseId { name, namespace } = &release.id;
        let doing = format!("remove the release `{name}` in namespace `{namespace}`");
        let limit = format!("{}s", WORK_TIME.as_secs());
        let arguments = ["uninstall", name, "--namespace", namespace, "--wait"];
        let arguments = [&arguments[..], &["--ignore-not-found", "--timeout", &limit]].concat();
        self.run_helm(&doing, &arguments, WORK_TIME).await.map(drop)
    }
}
