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

/// A change that central makes to the file of one deployment at one site, and
/// how far it got: planned, written to Git, accepted by the site.
///
/// A `blob` of `None` is the removal of the file. Stored rows call it `target`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "target", rename_all = "kebab-case")]
pub enum CentralChange {
    /// Waits to be written to Git.
    Planned { since: Timestamp },
    /// Pushed; the site has not reported it yet.
    Committed { git: GitRevision, blob: Option<BlobId>, since: Timestamp },
    /// The site has accepted it; dropped when the site accepts something else.
    Accepted { git: GitRevision, blob: Option<BlobId>, since: Timestamp },
    /// Git held something else than was expected: nothing was written.
    Conflict { expected: Option<BlobId>, found: Option<BlobId>, diff: String, since: Timestamp },
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
    /// A plan is going to write the file.
    pub fn change_planned(
        &mut self,
        site: &SiteName,
        name: &DeploymentName,
        now: Timestamp,
    ) -> Result<(), UnknownSite> {
        self.writer(site)?.set_change(name, CentralChange::Planned { since: now });
        Ok(())
    }

    /// The push that wrote the file, or removed it, has succeeded.
    ///
    /// If another writer changed the file before the site saw this commit, the
    /// caller calls `change_dropped`: central's change was overruled.
    pub fn change_committed(
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
            writer.drop_change(name);
            return Ok(());
        }
        // The event of the site may arrive before central records the commit.
        let change = match writer.is_there(name, blob.as_ref()) && !(refused && blob.is_none()) {
            true => CentralChange::Accepted { git, blob, since: now },
            false => CentralChange::Committed { git, blob, since: now },
        };
        writer.set_change(name, change);
        Ok(())
    }

    /// The file was not what the write expected; it was left alone.
    pub fn change_conflict(
        &mut self,
        site: &SiteName,
        name: &DeploymentName,
        (expected, found): (Option<BlobId>, Option<BlobId>),
        diff: &str,
        now: Timestamp,
    ) -> Result<(), UnknownSite> {
        let diff = diff.chars().take(DIFF_LIMIT).collect();
        let change = CentralChange::Conflict { expected, found, diff, since: now };
        self.writer(site)?.set_change(name, change);
        Ok(())
    }

    /// Git rejected the file, by its rules or by those of its server.
    pub fn change_refused(
        &mut self,
        site: &SiteName,
        name: &DeploymentName,
        expected: Option<BlobId>,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), UnknownSite> {
        let reason = reason.chars().take(REASON_LIMIT).collect();
        let change = CentralChange::Refused { expected, reason, since: now };
        self.writer(site)?.set_change(name, change);
        Ok(())
    }

    /// Central no longer wants a change there.
    pub fn change_dropped(
        &mut self,
        site: &SiteName,
        name: &DeploymentName,
    ) -> Result<(), UnknownSite> {
        self.writer(site)?.drop_change(name);
        Ok(())
    }
}

impl ProjectionWriter<'_> {
    fn set_change(&mut self, name: &DeploymentName, change: CentralChange) {
        self.view.central_changes.insert(name.clone(), change);
        self.link(name);
        let name = name.clone();
        self.mark(|site| RowKey::Target(site, name));
    }

    fn drop_change(&mut self, name: &DeploymentName) {
        if self.view.central_changes.remove(name).is_some() {
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
    pub(in crate::fleet) fn change_file_accepted(&mut self, path: &str) {
        let Ok(name) = deployment_name(self.site, path) else { return };
        let Some(CentralChange::Committed { git, blob: None, since }) =
            self.view.central_changes.get(&name)
        else {
            return;
        };
        let (git, since) = (git.clone(), *since);
        if self.is_nowhere(&name) {
            self.drop_change(&name);
        } else if self.is_there(&name, None) {
            self.set_change(&name, CentralChange::Accepted { git, blob: None, since });
        }
    }

    fn is_there(&self, name: &DeploymentName, blob: Option<&BlobId>) -> bool {
        let live = self.view.deployments_named(name).find(|it| !it.withdrawn);
        live.map(|it| &it.accepted.blob) == blob
    }

    /// The site accepted `taken` from Git, or the removal of the file.
    pub(in crate::fleet) fn change_accepted(
        &mut self,
        name: &DeploymentName,
        taken: Option<&BlobId>,
        at: Timestamp,
    ) {
        match self.view.central_changes.get(name) {
            Some(CentralChange::Committed { git, blob, .. }) if blob.as_ref() == taken => {
                let (git, blob) = (git.clone(), blob.clone());
                self.set_change(name, CentralChange::Accepted { git, blob, since: at });
            }
            Some(CentralChange::Accepted { blob, .. }) if blob.as_ref() != taken => {
                self.drop_change(name)
            }
            _ => {}
        }
    }

    /// Nothing is left of the deployment: a removal has reached its end.
    pub(in crate::fleet) fn change_gone(&mut self, name: &DeploymentName) {
        if matches!(
            self.view.central_changes.get(name),
            Some(CentralChange::Accepted { blob: None, .. })
        ) {
            self.drop_change(name);
        }
    }
}
