//! Events about the deployments of a site: accepted, renamed, withdrawn, gone.

use crate::attempt::Revision;
use crate::event::Event;
use crate::fleet::events::projection_writer::ProjectionWriter;
use crate::fleet::view::DeploymentView;
use crate::fleet::{Archive, RowKey};
use crate::id::{DeploymentId, DeploymentName};

impl ProjectionWriter<'_> {
    /// Changes a deployment of the view. An unknown id is ignored: the site
    /// never accepted it.
    pub(in crate::fleet) fn deployment(
        &mut self,
        id: &DeploymentId,
        write: impl FnOnce(&mut DeploymentView),
    ) {
        if let Some(deployment) = self.view.deployments.get_mut(id) {
            write(deployment);
            self.mark(|site| RowKey::Deployment(site, id.clone()));
        }
    }

    pub(in crate::fleet) fn accepted(
        &mut self,
        event: &Event,
        id: &DeploymentId,
        name: &DeploymentName,
        revision: &Revision,
    ) {
        self.rename(id, name);
        let fresh = || blank(event, id, name, revision);
        let deployment = self.view.deployments.entry(id.clone()).or_insert_with(fresh);
        deployment.take(event, name, revision);
        self.mark(|site| RowKey::Deployment(site, id.clone()));
        self.removal_undone(id);
        self.adopt_policy(id, revision);
        self.change_accepted(name, Some(&revision.blob), event.at);
    }

    fn rename(&mut self, id: &DeploymentId, name: &DeploymentName) {
        let before = self.view.deployments.get(id).map(|it| it.name.clone());
        if let Some(before) = before.filter(|it| it != name) {
            self.unname(id, &before);
        }
        self.view.names.entry(name.clone()).or_default().insert(id.clone());
        self.link(name);
    }

    fn unname(&mut self, id: &DeploymentId, name: &DeploymentName) {
        if let Some(ids) = self.view.names.get_mut(name) {
            ids.remove(id);
            if ids.is_empty() {
                self.view.names.remove(name);
            }
        }
        self.unlink(name);
    }

    /// Placements with the same workload adopt the revision: such a file
    /// restarts nothing, and the site emits no event for the placements.
    fn adopt_policy(&mut self, id: &DeploymentId, revision: &Revision) {
        let mut adopted = Vec::new();
        for placement in self.view.placements.get_mut(id).into_iter().flat_map(|it| it.values_mut())
        {
            if let Some(target) = placement.revisions.target.as_mut()
                && target.workload == revision.workload
                && target != revision
            {
                target.clone_from(revision);
                adopted.push(placement.id.clone());
            }
        }
        for id in adopted {
            self.mark(|site| RowKey::Placement(site, id));
        }
    }

    pub(in crate::fleet) fn withdrawn(&mut self, event: &Event, id: &DeploymentId) {
        self.deployment(id, |it| {
            (it.withdrawn, it.since, it.rollout) = (true, event.at, None);
        });
        self.removal_undone(id);
        let name = self.view.deployments.get(id).map(|it| it.name.clone());
        let planned = name.as_ref().and_then(|it| self.view.removal_planned(it));
        let began = Some(planned.unwrap_or(event.at));
        let archive = Archive { name: name.clone(), began, last: event.at, ..Archive::default() };
        self.view.archives.insert(id.clone(), archive);
        self.mark(|site| RowKey::Archive(site, id.clone()));
        // While another id has the same name, the file is not removed from Git.
        let alone = |it: &DeploymentName| self.view.deployments_named(it).all(|it| it.withdrawn);
        if let Some(name) = name.filter(alone) {
            self.change_accepted(&name, None, event.at);
        }
        self.forget_if_gone(id);
    }

    /// The deployment no longer waits for the release of a held removal.
    fn removal_undone(&mut self, id: &DeploymentId) {
        let Some(removal) = self.view.holds.removal.as_mut() else { return };
        if !removal.deployments.remove(id) {
            return;
        }
        self.view.holds.removal.take_if(|it| it.deployments.is_empty());
        self.mark(RowKey::Holds);
    }

    /// Drops a withdrawn deployment without placements. The site drops it, too,
    /// and emits no event for that.
    pub(in crate::fleet) fn forget_if_gone(&mut self, id: &DeploymentId) {
        let gone = self.view.deployments.get(id).is_some_and(|it| it.withdrawn);
        if !gone || self.view.placements.contains_key(id) {
            return;
        }
        if let Some(deployment) = self.view.deployments.remove(id) {
            self.change_gone(&deployment.name);
            self.unname(id, &deployment.name);
            self.mark(|site| RowKey::Deployment(site, id.clone()));
        }
    }
}

impl DeploymentView {
    fn take(&mut self, event: &Event, name: &DeploymentName, revision: &Revision) {
        let workload = revision.workload;
        if self.accepted != *revision {
            // The steps may differ: the site reports again which one is open.
            self.rollout.take_if(|it| it.paused.is_none());
        }
        if self.accepted.workload != workload {
            self.since = event.at;
            self.rollout = None;
            self.rejected.retain(|_, it| it.workload == workload);
        }
        self.stopped.take_if(|it| it.workload != workload);
        self.rolled_back.take_if(|it| !it.survives(&self.accepted, revision));
        self.name.clone_from(name);
        self.withdrawn = false;
        self.accepted.clone_from(revision);
    }
}

fn blank(
    event: &Event,
    id: &DeploymentId,
    name: &DeploymentName,
    revision: &Revision,
) -> DeploymentView {
    DeploymentView {
        id: id.clone(),
        name: name.clone(),
        accepted: revision.clone(),
        since: event.at,
        commit: None,
        withdrawn: false,
        last_converged: None,
        quarantine: Default::default(),
        rejected: Default::default(),
        stopped: None,
        rollout: None,
        rolled_back: None,
    }
}
