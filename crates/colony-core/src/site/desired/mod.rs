//! Applies a commit: deployments that are added, changed, removed or invalid.
//!
//! A commit comes as the difference to the commit before it (its `base`), or
//! with all files of the site. A deployment is identified by the id in its file;
//! its name is that of the file. An operator has to release a commit that
//! removes too much at once, and to accept a rewritten history (`held.rs`).

pub(in crate::site) mod file;
pub(in crate::site) mod held;
pub(in crate::site) mod node_choice;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use colony_margo::Finding;

use crate::document::Document;
use crate::event::{Actor, Body};
use crate::id::{DeploymentId, DeploymentName, GitRevision, SiteName};
use crate::purge;
use crate::site::desired::file::{
    Commit, Content, deployment_name, deployment_path, finding, site_path,
};
use crate::site::rollout::Rollout;
use crate::site::step_context::StepContext;
use crate::site::{
    Deployment, HeldHistory, HeldRemoval, Phase, Refused, RefusedFile, SiteSettings,
};
use crate::time::Timestamp;

/// A removal of at least this many deployments, and more than half, is held.
const MASS_REMOVAL: usize = 3;

impl StepContext<'_> {
    /// Applies a commit, and makes the site ready if it is the first one.
    pub(in crate::site) fn commit(&mut self, commit: Commit) -> Result<(), Refused> {
        if self.site.phase == Phase::Unseeded {
            return Err(Refused::NotReady("what runs here is not known yet"));
        }
        self.check_history(&commit)?;
        if commit.base.is_some() && commit.base != self.site.git.revision {
            return Err(Refused::OtherBase { have: self.site.git.revision.clone() });
        }
        let before = self.site.git.revision.replace(commit.revision.clone());
        let held = self.site.git.rewritten.take().is_some();
        self.out.changed.meta = true;
        let revision = commit.revision.clone();
        // The branch was reset to the commit from before the rewrite.
        let is_reset = before.as_ref() == Some(&revision);
        let events_before = self.out.events.len();
        self.apply_files(commit);
        self.become_ready();
        // Central clears a held history on any event with another commit. If
        // there is no such event, it needs an explicit one.
        if held && (is_reset || self.out.events.len() == events_before) {
            self.emit(Actor::Local, Body::HistoryAccepted { commit: revision });
        }
        Ok(())
    }

    /// Refuses a commit that rewrites the history, until an operator accepts it.
    fn check_history(&mut self, commit: &Commit) -> Result<(), Refused> {
        let revision = commit.revision.clone();
        if !commit.rewritten || self.site.git.accepted.as_ref() == Some(&revision) {
            return Ok(());
        }
        if self.site.git.rewritten.as_ref().is_none_or(|it| it.commit != revision) {
            let held = HeldHistory { commit: revision.clone(), since: self.now.wall };
            self.site.git.rewritten = Some(held);
            self.emit(Actor::Local, Body::HistoryHeld { commit: revision.clone() });
        }
        Err(Refused::Rewritten { commit: revision })
    }

    /// Makes a seeded site ready: it has read all of Git, and serves manifests.
    fn become_ready(&mut self) {
        if self.site.phase == Phase::Seeded {
            self.site.phase = Phase::Ready;
            self.emit(Actor::Local, Body::Ready);
            let all: Vec<DeploymentId> = self.site.deployments.keys().cloned().collect();
            // The events of the last placements may not have reached central
            // before a takeover, so the seed may lack them.
            all.iter().for_each(|it| self.plan(it));
            self.queues_to_process.extend(all);
        }
    }

    fn apply_files(&mut self, commit: Commit) {
        let site = self.site.log.site.clone();
        let is_full = commit.base.is_none();
        let mut gone = BTreeSet::new();
        let mut in_commit = BTreeSet::new();
        let mut documents = BTreeMap::new();
        let mut marked = BTreeSet::new();
        for file in commit.files {
            in_commit.insert(file.path.clone());
            match file.content {
                Content::Deployment(document) => {
                    documents.insert(file.path, document);
                }
                Content::Site(settings) => self.apply_settings_file(&file.path, settings),
                Content::Refused(findings) => self.refuse_file(file.path, findings),
                Content::Purge(id) => _ = marked.insert(id),
                Content::Gone => {
                    gone.insert(file.path);
                }
            }
        }
        if is_full {
            gone.extend(self.known_paths(&site).filter(|it| !in_commit.contains(it)));
        }
        let unmarked = gone.iter().filter_map(|it| purge::marked(&site, it)).collect();
        self.take_marks(&marked, &unmarked);
        let mut removed = self.remove_files(&site, gone);
        let returned = documents.values().map(|it| it.id().clone()).collect();
        let replaced = self.replaced_ids(documents.values());
        for (path, document) in documents {
            self.apply_document(&path, document, &mut removed, &replaced);
        }
        self.remove_or_hold(removed, &returned, &commit.revision);
        for id in marked.union(&unmarked) {
            self.update_purges(id);
        }
    }

    /// The ids of deployments that another one replaces in the same file: other
    /// files of the commit may use them.
    fn replaced_ids<'a>(
        &self,
        documents: impl Iterator<Item = &'a Arc<Document>>,
    ) -> BTreeSet<DeploymentId> {
        let others = documents.filter_map(|it| {
            let before = self.site.index.names.get(&it.name)?;
            (before != it.id()).then(|| before.clone())
        });
        others.collect()
    }

    /// The paths of all files of the site that the site has read.
    fn known_paths(&self, site: &SiteName) -> impl Iterator<Item = String> + use<> {
        let in_git = self.site.deployments.values().filter(|it| !it.withdrawn);
        let paths = in_git.map(|it| deployment_path(site, &it.name));
        let settings = (self.site.settings != SiteSettings::default()).then(|| site_path(site));
        let refused = self.site.git.refused.keys().cloned();
        let marked = self.site.deployments.values().filter(|it| it.purge);
        let marks = marked.map(|it| purge::mark_path(site, &it.id));
        let all: Vec<String> = paths.chain(refused).chain(marks).chain(settings).collect();
        all.into_iter()
    }

    /// Forgets what was known of removed files; returns their deployments.
    fn remove_files(&mut self, site: &SiteName, gone: BTreeSet<String>) -> BTreeSet<DeploymentId> {
        let mut removed = BTreeSet::new();
        for path in gone {
            self.accept_file(&path);
            if path == site_path(site) {
                self.set_settings(SiteSettings::default());
            }
            let name = deployment_name(site, &path).ok();
            removed.extend(name.and_then(|it| self.site.index.names.get(&it).cloned()));
        }
        removed
    }

    fn apply_settings_file(&mut self, path: &str, settings: SiteSettings) {
        self.accept_file(path);
        self.set_settings(settings);
    }

    fn set_settings(&mut self, settings: SiteSettings) {
        if self.site.settings != settings {
            self.site.settings = settings;
            self.out.changed.meta = true;
            self.queues_to_process.extend(self.site.index.pending_work.iter().cloned());
        }
    }

    /// An invalid file changes only its findings; its deployment stays as it
    /// is. An event is emitted even if the findings are the same, because an
    /// operator may wait for the result of the commit.
    fn refuse_file(&mut self, path: String, findings: Vec<Finding>) {
        let fresh = RefusedFile { findings: findings.clone(), since: self.now.wall };
        let known = self.site.git.refused.entry(path.clone()).or_insert_with(|| fresh.clone());
        known.replace_with(fresh);
        self.emit(Actor::Local, Body::FileRefused { path, findings });
    }

    /// The file is usable, or gone: drops its findings.
    fn accept_file(&mut self, path: &str) {
        if self.site.git.refused.remove(path).is_some() {
            self.emit(Actor::Local, Body::FileAccepted { path: path.to_owned() });
        }
    }

    /// Accepts the document of a file, unless its id belongs to another
    /// deployment. Deployments that are not `removed` after all leave that set, and
    /// one that the document replaces enters it.
    fn apply_document(
        &mut self,
        path: &str,
        document: Arc<Document>,
        removed: &mut BTreeSet<DeploymentId>,
        replaced: &BTreeSet<DeploymentId>,
    ) {
        let id = document.id().clone();
        let id_is_free = removed.contains(&id) || replaced.contains(&id);
        if let Some(other) = self.other_owner_of_id(&document).filter(|_| !id_is_free) {
            let problem = format!("the id {id} is that of deployment `{other}`");
            let finding = finding(problem, "an id of its own".to_owned()).in_file(path);
            return self.refuse_file(path.to_owned(), vec![finding]);
        }
        self.accept_file(path);
        // Another id under the same name is another deployment.
        let before = self.site.index.names.insert(document.name.clone(), id.clone());
        removed.extend(before.filter(|it| *it != id));
        removed.remove(&id);
        self.free_previous_name(&id, &document.name);
        self.accept_revision(id, document);
    }

    /// The name of another live deployment that has this document's id.
    fn other_owner_of_id(&self, document: &Document) -> Option<DeploymentName> {
        let holder = self.site.deployments.get(document.id())?;
        (holder.name != document.name && !holder.withdrawn).then(|| holder.name.clone())
    }

    /// Frees the previous name of a deployment whose file was renamed.
    fn free_previous_name(&mut self, id: &DeploymentId, name: &DeploymentName) {
        let before = self.site.deployments.get(id).map(|it| it.name.clone());
        if let Some(before) = before.filter(|it| it != name)
            && self.site.index.names.get(&before) == Some(id)
        {
            self.site.index.names.remove(&before);
        }
    }

    /// Makes the revision of `document` the accepted one of its deployment.
    fn accept_revision(&mut self, id: DeploymentId, document: Arc<Document>) {
        let since = self.now.wall;
        let revision = document.revision.clone();
        let name = document.name.clone();
        let is_new = !self.site.deployments.contains_key(&id);
        let deployment = self
            .site
            .deployments
            .entry(id.clone())
            .or_insert_with(|| Deployment::new(document.clone(), since));
        let same = !is_new && deployment.accepted == revision && !deployment.withdrawn;
        if same && deployment.name == name {
            return;
        }
        let other_workload = deployment.accepted.workload != revision.workload;
        let commit = document.commit.clone().or_else(|| self.site.git.revision.clone());
        deployment.set_accepted(document, since, commit.clone());
        // Another strategy for the same workload may have fewer steps.
        let last_step = deployment.steps().saturating_sub(1);
        deployment.rollout.step = deployment.rollout.step.min(last_step);
        if other_workload {
            self.try_again(&id);
        }
        self.mark_changed(&id);
        let body = Body::DeploymentAccepted { deployment: id.clone(), name, revision, commit };
        self.emit(Actor::Local, body);
        self.update_purges(&id);
        self.adopt_policy(&id);
        self.plan(&id);
        self.emit_step_event(&id, Actor::Local);
    }

    /// Adopts another revision with the same workload, without a restart.
    fn adopt_policy(&mut self, id: &DeploymentId) {
        let Some(accepted) = self.site.deployments.get(id).map(|it| it.accepted.clone()) else {
            return;
        };
        for node in self.nodes_of(id) {
            let id = crate::id::PlacementId { deployment: id.clone(), node };
            let Some(placement) = self.site.placements.get_mut(&id) else { continue };
            if let Some(target) = placement.revisions.target.as_mut()
                && target.workload == accepted.workload
                && *target != accepted
            {
                *target = accepted.clone();
                self.out.changed.placements.insert(id);
            }
        }
    }

    /// Withdraws deployments, or holds the removal if it is suspiciously large.
    fn remove_or_hold(
        &mut self,
        removed: BTreeSet<DeploymentId>,
        returned: &BTreeSet<DeploymentId>,
        commit: &GitRevision,
    ) {
        let mut pending = removed;
        let held = self.site.git.removal.iter().flat_map(|it| &it.deployments);
        pending.extend(held.filter(|it| !returned.contains(it)).cloned());
        pending.retain(|it| self.site.deployments.get(it).is_some_and(|it| !it.withdrawn));
        // Counted only if needed: most commits remove nothing.
        let live = || self.site.deployments.values().filter(|it| !it.withdrawn).count();
        if pending.len() >= MASS_REMOVAL && pending.len() * 2 > live() {
            let held = self.site.git.removal.as_ref().map(|it| &it.deployments);
            if held != Some(&pending) {
                self.site.git.removal = Some(HeldRemoval {
                    commit: commit.clone(),
                    deployments: pending.clone(),
                    since: self.now.wall,
                });
                let deployments = pending.into_iter().collect();
                let body = Body::RemovalHeld { commit: commit.clone(), deployments };
                self.emit(Actor::Local, body);
            }
            return;
        }
        if self.site.git.removal.take().is_some() {
            self.emit(Actor::Local, Body::RemovalReleased);
        }
        for id in pending {
            self.withdraw_deployment(&id, Actor::Local);
        }
    }

    pub(in crate::site) fn withdraw_deployment(&mut self, id: &DeploymentId, actor: Actor) {
        let Some(deployment) = self.site.deployments.get_mut(id) else { return };
        deployment.withdrawn = true;
        // If the file comes back, every node that still has a placement keeps
        // it, including nodes that the previous file did not select.
        deployment.nodes.clone_from(&deployment.placed);
        deployment.rollout = Rollout::default();
        deployment.since = self.now.wall;
        let (name, purge) = (deployment.name.clone(), deployment.purge);
        self.mark_changed(id);
        self.emit(actor, Body::DeploymentWithdrawn { deployment: id.clone(), name, purge });
        self.update_index_of_deployment(id);
    }
}

impl Deployment {
    /// Sets the accepted revision, and drops the state of the rollout before it as
    /// far as it does not apply to this one.
    fn set_accepted(
        &mut self,
        document: Arc<Document>,
        since: Timestamp,
        commit: Option<GitRevision>,
    ) {
        let revision = document.revision.clone();
        self.rolled_back.take_if(|it| !it.survives(&self.accepted, &revision));
        if self.accepted.workload != revision.workload {
            self.since = since;
            self.rollout = Rollout::default();
            self.rejected.retain(|_, it| it.workload == revision.workload);
        }
        if self.accepted != revision {
            // The changed steps may not need a promotion.
            self.rollout.awaits_promotion_since = None;
        }
        self.stopped.take_if(|it| it.workload != revision.workload);
        self.name = document.name.clone();
        self.withdrawn = false;
        self.commit = commit;
        self.accepted = revision.clone();
        self.documents.insert(revision.blob, document);
    }
}
