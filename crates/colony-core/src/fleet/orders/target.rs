//! The changes that central wants at a site, until the site has accepted them.

use serde::{Deserialize, Serialize};

use crate::fleet::events::projection_writer::ProjectionWriter;
use crate::fleet::{Fleet, RowKey, UnknownSite};
use crate::id::{BlobId, DeploymentName, GitRevision, SiteName};
use crate::site::{deployment_name, deployment_path};
use crate::time::Timestamp;

/// The maximum length of a stored diff, in characters.
const DIFF_LIMIT: usize = 16_384;
/// The maximum length of a stored reason, in characters.
const REASON_LIMIT: usize = 2_048;

/// The progress of central's change of one deployment at one site.
///
/// A `blob` of `None` is the removal of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "target", rename_all = "kebab-case")]
pub enum Target {
    Planned {
        since: Timestamp,
    },
    /// Pushed; the site has not reported it yet.
    Committed {
        git: GitRevision,
        blob: Option<BlobId>,
        since: Timestamp,
    },
    /// The site has accepted it; dropped when the site accepts something else.
    Accepted {
        git: GitRevision,
        blob: Option<BlobId>,
        since: Timestamp,
    },
    /// Git held something else than was expected: nothing was written.
    Conflict {
        expected: Option<BlobId>,
        found: Option<BlobId>,
        diff: String,
        since: Timestamp,
    },
    /// Git rejected the change: nothing was written.
    Refused {
        /// The content of the file, which stays until another writer changes
        /// it.
        expected: Option<BlobId>,
        reason: String,
        since: Timestamp,
    },
}

impl Fleet {
    /// A plan wants to write the file.
    pub fn target_planned(
        &mut self,
        site: &SiteName,
        name: &DeploymentName,
        now: Timestamp,
    ) -> Result<(), UnknownSite> {
        self.writer(site)?.set_target(name, Target::Planned { since: now });
        Ok(())
    }

    /// The push that wrote the file, or removed it, has succeeded.
    ///
    /// If another writer changed the file before the site saw this commit, the
    /// caller calls `target_cleared`: central's change was overruled.
    pub fn target_committed(
        &mut self,
        site: &SiteName,
        name: &DeploymentName,
        git: GitRevision,
        blob: Option<BlobId>,
        now: Timestamp,
    ) -> Result<(), UnknownSite> {
        let mut writer = self.writer(site)?;
        let refused = writer.view.files.contains_key(&deployment_path(site, name));
        if blob.is_none() && !refused && writer.is_nowhere(name) {
            writer.drop_target(name);
            return Ok(());
        }
        // The event of the site may arrive before central records the commit.
        let target = match writer.is_there(name, blob.as_ref()) && !(refused && blob.is_none()) {
            true => Target::Accepted { git, blob, since: now },
            false => Target::Committed { git, blob, since: now },
        };
        writer.set_target(name, target);
        Ok(())
    }

    /// The file was not what the write expected; it was left alone.
    pub fn target_conflict(
        &mut self,
        site: &SiteName,
        name: &DeploymentName,
        (expected, found): (Option<BlobId>, Option<BlobId>),
        diff: &str,
        now: Timestamp,
    ) -> Result<(), UnknownSite> {
        let diff = diff.chars().take(DIFF_LIMIT).collect();
        let target = Target::Conflict { expected, found, diff, since: now };
        self.writer(site)?.set_target(name, target);
        Ok(())
    }

    /// Git rejected the file, by its rules or by those of its server.
    pub fn target_refused(
        &mut self,
        site: &SiteName,
        name: &DeploymentName,
        expected: Option<BlobId>,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), UnknownSite> {
        let reason = reason.chars().take(REASON_LIMIT).collect();
        let target = Target::Refused { expected, reason, since: now };
        self.writer(site)?.set_target(name, target);
        Ok(())
    }

    /// Central no longer wants a change there.
    pub fn target_cleared(
        &mut self,
        site: &SiteName,
        name: &DeploymentName,
    ) -> Result<(), UnknownSite> {
        self.writer(site)?.drop_target(name);
        Ok(())
    }
}

impl ProjectionWriter<'_> {
    fn set_target(&mut self, name: &DeploymentName, target: Target) {
        self.view.targets.insert(name.clone(), target);
        self.link(name);
        let name = name.clone();
        self.mark(|site| RowKey::Target(site, name));
    }

    fn drop_target(&mut self, name: &DeploymentName) {
        if self.view.targets.remove(name).is_some() {
            self.unlink(name);
            let name = name.clone();
            self.mark(|site| RowKey::Target(site, name));
        }
    }

    /// The site has no deployment of that name, not even one that is being
    /// removed.
    fn is_nowhere(&self, name: &DeploymentName) -> bool {
        self.view.deployments_named(name).next().is_none()
    }

    /// The site no longer refuses a file: a removal of it may have reached its end.
    pub(in crate::fleet) fn target_file_accepted(&mut self, path: &str) {
        let Ok(name) = deployment_name(self.site, path) else { return };
        let Some(Target::Committed { git, blob: None, since }) = self.view.targets.get(&name)
        else {
            return;
        };
        let (git, since) = (git.clone(), *since);
        if self.is_nowhere(&name) {
            self.drop_target(&name);
        } else if self.is_there(&name, None) {
            self.set_target(&name, Target::Accepted { git, blob: None, since });
        }
    }

    fn is_there(&self, name: &DeploymentName, blob: Option<&BlobId>) -> bool {
        let live = self.view.deployments_named(name).find(|it| !it.withdrawn);
        live.map(|it| &it.accepted.blob) == blob
    }

    /// The site accepted `taken` from Git, or the removal of the file.
    pub(in crate::fleet) fn target_accepted(
        &mut self,
        name: &DeploymentName,
        taken: Option<&BlobId>,
        at: Timestamp,
    ) {
        match self.view.targets.get(name) {
            Some(Target::Committed { git, blob, .. }) if blob.as_ref() == taken => {
                let (git, blob) = (git.clone(), blob.clone());
                self.set_target(name, Target::Accepted { git, blob, since: at });
            }
            Some(Target::Accepted { blob, .. }) if blob.as_ref() != taken => self.drop_target(name),
            _ => {}
        }
    }

    /// Nothing is left of the deployment: a removal has reached its end.
    pub(in crate::fleet) fn target_gone(&mut self, name: &DeploymentName) {
        if matches!(self.view.targets.get(name), Some(Target::Accepted { blob: None, .. })) {
            self.drop_target(name);
        }
    }
}
