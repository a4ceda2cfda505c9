//! Releases that are replaced or removed, and the claims for volumes that Helm
//! leaves.

use colony_core::attempt::Failure;
use colony_core::margo::{ComponentName, DeploymentId, Digest};
use serde_json::json;
use tracing::{debug, info};

use super::{HelmEngine, WORK_TIME};
use crate::helm::api::{Metadata, Named};
use crate::helm::kube_error::KubeError;
use crate::helm::observation::Release;
use crate::helm::release::{self, ReleaseId};

/// Claims in all namespaces.
const CLAIMS: &str = "/api/v1/persistentvolumeclaims";
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
            self.mark_claims(release).await;
            self.uninstall_one(release).await?;
        }
        Ok(())
    }

    /// Removes the releases with the claims for volumes that Helm leaves: those
    /// of stateful sets, and those that a chart keeps. The cluster deletes a
    /// claim when no pod uses it, and the volume with it if its storage class
    /// says so. The claims go first, because only the releases say which they
    /// are, or the marks of an earlier removal.
    pub(super) async fn purge(&self, deployment: &DeploymentId) -> Result<(), Failure> {
        let failed = |it: KubeError| it.failed("look for the releases to remove");
        let releases = self.releases(Some(deployment)).await.map_err(failed)?;
        for release in &releases {
            self.delete_claims(&release.id).await?;
            self.uninstall_one(release).await?;
            // A pod that was restarted meanwhile may have claimed again.
            self.delete_claims(&release.id).await?;
        }
        let failed = |it: KubeError| it.failed("look for claims for volumes of the deployment");
        let selector = release::selector(self.scope.identities(), Some(deployment));
        let marked = self.api.list_metadata(CLAIMS, &selector).await.map_err(failed)?;
        self.delete_all(&marked).await
    }

    /// Marks the claims that a release leaves, for a purge of its deployment
    /// that may come later. An account that may not do this can still remove.
    async fn mark_claims(&self, release: &Release) {
        let claims = self.claims(&release.id).await.unwrap_or_else(|error| {
            debug!(release = release.id.name, "could not look for its claims: {error}");
            Vec::new()
        });
        let labels = json!({
            release::IDENTITY: release::identity_mark(&self.config.identity),
            release::DEPLOYMENT: release.origin.deployment,
        });
        for claim in claims {
            if let Err(error) = self.api.label(&claim_path(&claim), labels.clone()).await {
                debug!(claim = claim.metadata.name, "could not mark a claim: {error}");
            }
        }
    }

    async fn delete_claims(&self, id: &ReleaseId) -> Result<(), Failure> {
        let failed = |it: KubeError| it.failed("look for claims for volumes of the release");
        self.delete_all(&self.claims(id).await.map_err(failed)?).await
    }

    async fn claims(&self, id: &ReleaseId) -> Result<Vec<Named>, KubeError> {
        let path = format!("/api/v1/namespaces/{}/persistentvolumeclaims", id.namespace);
        let mut all = Vec::new();
        for label in CLAIM_LABELS {
            let selector = format!("{label}={}", id.name);
            all.extend(self.api.list_metadata(&path, &selector).await?);
        }
        Ok(all)
    }

    async fn delete_all(&self, claims: &[Named]) -> Result<(), Failure> {
        for claim in claims {
            let Metadata { name, namespace, .. } = &claim.metadata;
            info!(namespace, claim = name, "deleting a claim for a volume");
            let failed = |it: KubeError| it.failed(&format!("delete the claim `{name}`"));
            self.api.delete(&claim_path(claim)).await.map_err(failed)?;
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

fn claim_path(claim: &Named) -> String {
    let Metadata { name, namespace, .. } = &claim.metadata;
    format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}")
}
