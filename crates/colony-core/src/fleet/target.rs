//! What CO itself wants at a site, until the site has it.

use serde::{Deserialize, Serialize};

use crate::fleet::pen::Pen;
use crate::fleet::{Fleet, RowKey, UnknownSite};
use crate::id::{BlobId, DeploymentName, GitRevision, SiteName};
use crate::site::{deployment_name, deployment_path};
use crate::time::Wall;

/// The most of a diff that is kept.
const DIFF_LIMIT: usize = 16_384;
/// The most of a reason that is kept.
const REASON_LIMIT: usize = 2_048;

/// How far CO's own wish for one deployment at one site has come.
///
/// A `blob` of `None` is the removal of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "target", rename_all = "kebab-case")]
pub enum Target {
    Planned {
        since: Wall,
    },
    /// Pushed; the site has not said that it saw it.
    Committed {
        git: GitRevision,
        blob: Option<BlobId>,
        since: Wall,
    },
    /// The site has taken it; dropped when the site takes something else.
    Accepted {
        git: GitRevision,
        blob: Option<BlobId>,
        since: Wall,
    },
    /// Git held something else than was expected: nothing was written.
    Conflict {
        expected: Option<BlobId>,
        found: Option<BlobId>,
        diff: String,
        since: Wall,
    },
    /// Git does not take what was to be written: nothing was written.
    Refused {
        /// What the file held, and still holds until somebody else writes it.
        expected: Option<BlobId>,
        reason: String,
        since: Wall,
    },
}

impl Fleet {
    /// A plan wants to write the file.
    pub fn target_planned(
        &mut self,
        site: &SiteName,
        name: &DeploymentName,
        now: Wall,
    ) -> Result<(), UnknownSite> {
        self.pen(site)?.set_target(name, Target::Planned { since: now });
        Ok(())
    }

    /// The push that wrote the file, or removed it, has succeeded.
    ///
    /// Who sees that somebody else wrote the file before the site saw this
    /// commit calls `target_cleared`: CO's wish was overruled.
    pub fn target_committed(
        &mut self,
        site: &SiteName,
        name: &DeploymentName,
        git: GitRevision,
        blob: Option<BlobId>,
        now: Wall,
    ) -> Result<(), UnknownSite> {
        let mut pen = self.pen(site)?;
        let refused = pen.view.files.contains_key(&deployment_path(site, name));
        if blob.is_none() && !refused && pen.is_nowhere(name) {
            pen.drop_target(name);
            return Ok(());
        }
        // The site may have been quicker than CO's own record.
        let target = match pen.is_there(name, blob.as_ref()) && !(refused && blob.is_none()) {
            true => Target::Accepted { git, blob, since: now },
            false => Target::Committed { git, blob, since: now },
        };
        pen.set_target(name, target);
        Ok(())
    }

    /// The file was not what the write expected; it was left alone.
    pub fn target_conflict(
        &mut self,
        site: &SiteName,
        name: &DeploymentName,
        (expected, found): (Option<BlobId>, Option<BlobId>),
        diff: &str,
        now: Wall,
    ) -> Result<(), UnknownSite> {
        let diff = diff.chars().take(DIFF_LIMIT).collect();
        let target = Target::Conflict { expected, found, diff, since: now };
        self.pen(site)?.set_target(name, target);
        Ok(())
    }

    /// Git refused the file, by its rules or by those of its server.
    pub fn target_refused(
        &mut self,
        site: &SiteName,
        name: &DeploymentName,
        expected: Option<BlobId>,
        reason: &str,
        now: Wall,
    ) -> Result<(), UnknownSite> {
        let reason = reason.chars().take(REASON_LIMIT).collect();
        let target = Target::Refused { expected, reason, since: now };
        self.pen(site)?.set_target(name, target);
        Ok(())
    }

    /// CO wants nothing of its own there any more.
    pub fn target_cleared(
        &mut self,
        site: &SiteName,
        name: &DeploymentName,
    ) -> Result<(), UnknownSite> {
        self.pen(site)?.drop_target(name);
        Ok(())
    }
}

impl Pen<'_> {
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

    /// The site has nothing of the deployment, not even on its way out.
    fn is_nowhere(&self, name: &DeploymentName) -> bool {
        self.view.deployments_named(name).next().is_none()
    }

    /// The site no longer refuses a file: a removal of it may have reached its end.
    pub(super) fn target_file_accepted(&mut self, path: &str) {
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

    /// The site took `blob` from Git, or its removal.
    pub(super) fn target_accepted(
        &mut self,
        name: &DeploymentName,
        taken: Option<&BlobId>,
        at: Wall,
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
    pub(super) fn target_gone(&mut self, name: &DeploymentName) {
        if matches!(self.view.targets.get(name), Some(Target::Accepted { blob: None, .. })) {
            self.drop_target(name);
        }
    }
}
