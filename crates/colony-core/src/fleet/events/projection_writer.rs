//! Writes the view of a site and marks every row it touches.

use std::collections::{BTreeMap, BTreeSet};

use colony_margo::Finding;

use crate::event::{Actor, Event, HoldScope, Presence};
use crate::fleet::shared::Shared;
use crate::fleet::view::Holds;
use crate::fleet::{Changed, Effect, NodeView, RowKey, SiteView};
use crate::id::{DeploymentId, DeploymentName, GitRevision, NodeName, SiteName};
use crate::site::{HeldHistory, HeldRemoval, Hold, RefusedFile};
use crate::time::Timestamp;
use crate::why::AnswerKey;

/// One site, open for writing.
pub(in crate::fleet) struct ProjectionWriter<'a> {
    pub(in crate::fleet) site: &'a SiteName,
    pub(in crate::fleet) view: &'a mut SiteView,
    names: &'a mut BTreeMap<DeploymentName, Shared<BTreeSet<SiteName>>>,
    pub(in crate::fleet) changed: &'a mut Changed,
    pub(in crate::fleet) effects: Vec<Effect>,
}

impl<'a> ProjectionWriter<'a> {
    pub(in crate::fleet) fn new(
        site: &'a SiteName,
        view: &'a mut SiteView,
        names: &'a mut BTreeMap<DeploymentName, Shared<BTreeSet<SiteName>>>,
        changed: &'a mut Changed,
    ) -> ProjectionWriter<'a> {
        ProjectionWriter { site, view, names, changed, effects: Vec::new() }
    }

    pub(in crate::fleet) fn mark(&mut self, key: impl FnOnce(SiteName) -> RowKey) {
        self.changed.mark(key(self.site.clone()));
    }

    pub(in crate::fleet) fn record_contact(&mut self, now: Timestamp) {
        self.view.head.last_heard = Some(now);
        self.mark(RowKey::Site);
    }

    /// A deployment of that name exists or is planned at this site.
    pub(in crate::fleet) fn link(&mut self, name: &DeploymentName) {
        let sites = self.names.entry(name.clone()).or_default();
        if !sites.contains(self.site) {
            sites.insert(self.site.clone());
        }
    }

    /// Drops the name here if no deployment, target or refused file has it.
    pub(in crate::fleet) fn unlink(&mut self, name: &DeploymentName) {
        let file = AnswerKey::File(name.clone());
        let known = self.view.names.contains_key(name) || self.view.answers.contains_key(&file);
        if known || self.view.central_changes.contains_key(name) {
            return;
        }
        if let Some(sites) = self.names.get_mut(name) {
            sites.remove(self.site);
            if sites.is_empty() {
                self.names.remove(name);
            }
        }
    }

    pub(in crate::fleet) fn node(
        &mut self,
        event: &Event,
        node: &NodeName,
        write: impl FnOnce(&mut NodeView),
    ) {
        let fresh = || NodeView {
            presence: Presence::Joined,
            since: event.at,
            cordoned: false,
            capabilities: None,
        };
        write(self.view.nodes.entry(node.clone()).or_insert_with(fresh));
        let node = node.clone();
        self.mark(|site| RowKey::Node(site, node));
    }

    pub(in crate::fleet) fn node_presence(
        &mut self,
        event: &Event,
        node: &NodeName,
        presence: Presence,
    ) {
        self.node(event, node, |it| (it.presence, it.since) = (presence, event.at));
    }

    pub(in crate::fleet) fn node_retired(&mut self, node: &NodeName) {
        self.view.nodes.remove(node);
        let all = self.view.deployments.values_mut();
        let touched = all.filter_map(|it| it.rejected.remove(node).map(|_| it.id.clone()));
        for id in touched.collect::<Vec<_>>() {
            self.mark(|site| RowKey::Deployment(site, id));
        }
        let node = node.clone();
        self.mark(|site| RowKey::Node(site, node));
    }

    pub(in crate::fleet) fn held(&mut self, event: &Event, scope: &HoldScope, note: &str) {
        let by = match &event.actor {
            Actor::Operator(name) => name.clone(),
            Actor::Local | Actor::Node(_) => event.actor.to_string(),
        };
        let hold = Hold { by, note: note.to_owned(), since: event.at };
        self.view.holds.holds.insert(scope.clone(), hold);
        self.mark(RowKey::Holds);
    }

    pub(in crate::fleet) fn hold_released(&mut self, scope: &HoldScope) {
        self.view.holds.holds.remove(scope);
        self.mark(RowKey::Holds);
    }

    /// Changes the holds of Git changes that wait for an operator.
    pub(in crate::fleet) fn wait(&mut self, write: impl FnOnce(&mut Holds)) {
        write(&mut self.view.holds);
        self.mark(RowKey::Holds);
    }

    pub(in crate::fleet) fn removal_held(
        &mut self,
        event: &Event,
        commit: &GitRevision,
        removed: &[DeploymentId],
    ) {
        let (commit, deployments) = (commit.clone(), removed.iter().cloned().collect());
        let held = HeldRemoval { commit, deployments, since: event.at };
        self.wait(|it| it.removal = Some(held));
    }

    pub(in crate::fleet) fn history_held(&mut self, event: &Event, commit: &GitRevision) {
        let held = HeldHistory { commit: commit.clone(), since: event.at };
        self.wait(|it| it.history = Some(held));
    }

    pub(in crate::fleet) fn file_refused(
        &mut self,
        event: &Event,
        path: &str,
        findings: &[Finding],
    ) {
        let refused = RefusedFile { findings: findings.to_vec(), since: event.at };
        let known = self.view.files.entry(path.to_owned()).or_insert_with(|| refused.clone());
        known.replace_with(refused);
        let path = path.to_owned();
        self.mark(|site| RowKey::File(site, path));
    }

    pub(in crate::fleet) fn file_accepted(&mut self, path: &str) {
        self.view.files.remove(path);
        self.mark(|site| RowKey::File(site, path.to_owned()));
        self.change_file_accepted(path);
    }
}
