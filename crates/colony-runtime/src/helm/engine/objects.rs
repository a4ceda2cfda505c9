//! Objects of releases that were deleted by hand.
//!
//! Workloads are observed. Of the other objects only their existence is
//! checked, at intervals and by their metadata: what is in them is not read.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use colony_core::attempt::Failure;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{debug, info};

use super::HelmEngine;
use super::installation::RENDER_TIME;
use crate::helm::kube_error::KubeError;
use crate::helm::manifest::{ObjectRef, kept_objects};
use crate::helm::observation::{MANAGED, Release};
use crate::helm::release::ReleaseId;

/// The time between two checks of the objects of a release.
const INTERVAL: Duration = Duration::from_secs(20);
/// Of how many releases the objects are read in one look, after a restart.
const READS: usize = 5;

/// What was found at the last check of each release.
#[derive(Debug, Default)]
pub(super) struct ObjectChecks(Mutex<BTreeMap<ReleaseId, Check>>);

#[derive(Debug, Clone)]
struct Check {
    /// The record of the revision with these objects.
    record: String,
    /// `None` if they could not be read.
    objects: Option<Vec<ObjectRef>>,
    at: Instant,
    is_damaged: bool,
}

impl ObjectChecks {
    fn of(&self, release: &Release) -> Option<Check> {
        let check = self.0.lock().get(&release.id).cloned();
        check.filter(|it| it.record == release.record)
    }

    fn keep(&self, releases: &[Release]) {
        let known: BTreeSet<&ReleaseId> = releases.iter().map(|it| &it.id).collect();
        self.0.lock().retain(|id, _| known.contains(id));
    }
}

impl HelmEngine {
    /// The releases that lack an object which this node installed. A release
    /// that cannot be checked counts as whole until the next check.
    pub(super) async fn damaged(&self, releases: &[Release]) -> BTreeSet<ReleaseId> {
        self.checks.keep(releases);
        let (mut damaged, mut reads) = (BTreeSet::new(), READS);
        for release in releases.iter().filter(|it| it.is_ours() && !it.replaced) {
            if self.is_damaged(release, &mut reads).await {
                damaged.insert(release.id.clone());
            }
        }
        damaged
    }

    async fn is_damaged(&self, release: &Release, reads: &mut usize) -> bool {
        let last = self.checks.of(release);
        if let Some(check) = last.as_ref().filter(|it| it.at.elapsed() < INTERVAL) {
            return check.is_damaged;
        }
        let objects = match last.and_then(|it| it.objects) {
            Some(objects) => Some(objects),
            None if *reads == 0 => return false,
            None => {
                *reads -= 1;
                let objects = self.objects_of(release).await;
                objects.inspect_err(|it| debug!("{}", it.message)).ok()
            }
        };
        let missing = self.missing(objects.as_deref().unwrap_or_default()).await;
        if let Some(object) = missing {
            let (kind, name) = (&object.kind, &object.name);
            info!(release = release.id.name, kind, name, "an object of the release is gone");
        }
        let (record, at, is_damaged) = (release.record.clone(), Instant::now(), missing.is_some());
        let check = Check { record, objects, at, is_damaged };
        self.checks.0.lock().insert(release.id.clone(), check);
        is_damaged
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
