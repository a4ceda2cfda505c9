//! Objects of releases that were deleted by hand.
//!
//! Workloads are observed. Of the other objects only their existence is
//! checked, at intervals and by their metadata: what is in them is not read.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use colony_core::attempt::Failure;
use parking_lot::Mutex;
use tracing::{debug, info};

use super::HelmEngine;
use super::installation::RENDER_TIME;
use crate::helm::kube_error::KubeError;
use crate::helm::manifest::{ObjectRef, kept_objects};
use crate::helm::observation::{MANAGED, Release};
use crate::helm::release::ReleaseId;

/// The time between two checks of the objects of a release.
const INTERVAL: Duration = Duration::from_secs(20);

/// What was found at the last check of each release.
#[derive(Debug, Default)]
pub(super) struct ObjectChecks(Mutex<BTreeMap<ReleaseId, Check>>);

#[derive(Debug, Clone)]
struct Check {
    /// The record of the revision with these objects.
    record: String,
    objects: Vec<ObjectRef>,
    is_damaged: bool,
}

impl ObjectChecks {
    fn of(&self, release: &Release) -> Option<Check> {
        let check = self.0.lock().get(&release.id).cloned();
        check.filter(|it| it.record == release.record)
    }

    /// Whether the release lacked an object at the last check of its revision.
    pub(super) fn is_damaged(&self, release: &Release) -> bool {
        self.of(release).is_some_and(|it| it.is_damaged)
    }

    fn keep(&self, releases: &[Release]) {
        let known: BTreeSet<&ReleaseId> = releases.iter().map(|it| &it.id).collect();
        self.0.lock().retain(|id, _| known.contains(id));
    }
}

impl HelmEngine {
    /// Checks the objects of all releases at intervals, until it is dropped.
    /// Not in an observation: Helm may take seconds to name them.
    pub(super) async fn check_objects(&self) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let Ok(releases) = self.releases(None).await else { continue };
            self.checks.keep(&releases);
            for release in releases.iter().filter(|it| it.is_ours() && !it.replaced) {
                self.check(release).await;
            }
        }
    }

    /// A release that cannot be checked counts as whole until the next check.
    async fn check(&self, release: &Release) {
        let last = self.checks.of(release);
        let was_damaged = last.as_ref().is_some_and(|it| it.is_damaged);
        let objects = match last {
            Some(check) => Ok(check.objects),
            None => self.objects_of(release).await,
        };
        let Ok(objects) = objects.inspect_err(|it| debug!("{}", it.message)) else { return };
        let missing = self.missing(&objects).await;
        if let Some(object) = missing {
            let (kind, name) = (&object.kind, &object.name);
            info!(release = release.id.name, kind, name, "an object of the release is gone");
        }
        let (record, is_damaged) = (release.record.clone(), missing.is_some());
        let check = Check { record, objects, is_damaged };
        self.checks.0.lock().insert(release.id.clone(), check);
        if is_damaged != was_damaged {
            self.news.notify();
        }
    }

    async fn objects_of(&self, release: &Release) -> Result<Vec<ObjectRef>, Failure> {
        let ReleaseId { name, namespace } = &release.id;
        let revision = release.version.to_string();
        let arguments = ["get", "manifest", name, "--namespace", namespace];
        let arguments = [&arguments[..], &["--revision", &revision]].concat();
        let doing = format!("read the objects of the release `{name}`");
        let manifest = self.run_helm(&doing, &arguments, RENDER_TIME).await?;
        let invalid = |it: String| Failure::new(colony_core::code::Code::EngineError, it);
        kept_objects(&manifest, namespace).map_err(invalid)
    }

    /// The first object that does not exist. What the account may not list is
    /// not checked.
    async fn missing<'a>(&self, objects: &'a [ObjectRef]) -> Option<&'a ObjectRef> {
        for same in objects.chunk_by(|a, b| a.list == b.list) {
            let Ok(there) = self.api.list_metadata(&same[0].list, MANAGED).await else { continue };
            let there: BTreeSet<String> = there.into_iter().map(|it| it.metadata.name).collect();
            for object in same.iter().filter(|it| !there.contains(&it.name)) {
                if self.is_gone(object).await {
                    return Some(object);
                }
            }
        }
        None
    }

    /// Whether it is gone, and did not only lose the label of Helm.
    async fn is_gone(&self, object: &ObjectRef) -> bool {
        let one = self.api.metadata(&format!("{}/{}", object.list, object.name)).await;
        matches!(one, Err(KubeError::Rejected { status: 404, .. }))
    }
}
