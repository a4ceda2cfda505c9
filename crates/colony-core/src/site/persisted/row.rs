//! The persisted rows of a site, and how a site is restored from them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use colony_margo::{Capabilities, Digest};

use crate::attempt::Revision;
use crate::document::Document;
use crate::event::{HoldScope, Log, Presence};
use crate::id::{BlobId, DeploymentId, DeploymentName, GitRevision, NodeName, PlacementId};
use crate::purge::Cleanup;
use crate::site::deployment::{Rejected, Stopped};
use crate::site::placement::registry::timers;
use crate::site::rollout::Rollout;
use crate::site::rollout::index::RolloutIndex;
use crate::site::timer::Timer;
use crate::site::{
    Deployment, GitState, HeldHistory, HeldRemoval, Hold, Index, Offer, Phase, Placement,
    Quarantine, RefusedFile, RolledBack, RowKey, Site, SiteNode, SiteSettings, Timing,
};
use crate::time::{Monotonic, Timestamp};

/// One persisted row.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "kebab-case")]
pub enum Row {
    Meta(Box<MetaRow>),
    Deployment(Box<DeploymentRow>),
    Placement(Box<Placement>),
    SiteNode(Box<SiteNodeRow>),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MetaRow {
    log: Log,
    clock: Monotonic,
    phase: Phase,
    settings: SiteSettings,
    git: Option<GitRevision>,
    refused: BTreeMap<String, RefusedFile>,
    removal: Option<HeldRemoval>,
    history: Option<HeldHistory>,
    accepted: Option<GitRevision>,
    holds: Vec<(HoldScope, Hold)>,
    commands_done: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeploymentRow {
    id: DeploymentId,
    name: DeploymentName,
    #[serde(rename = "wanted")]
    accepted: Revision,
    withdrawn: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    purge: bool,
    #[serde(rename = "good")]
    last_converged: Option<Revision>,
    #[serde(rename = "good_before")]
    converged_before: Option<Revision>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    proven: Vec<Digest>,
    quarantine: Vec<Quarantine>,
    rejected: BTreeMap<NodeName, Rejected>,
    stopped: Option<Stopped>,
    #[serde(default)]
    rollout: Rollout,
    went_back: Option<RolledBack>,
    commit: Option<GitRevision>,
    nodes: BTreeSet<NodeName>,
    since: Timestamp,
    documents: Vec<(BlobId, DeploymentName, String)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SiteNodeRow {
    name: NodeName,
    joined: Timestamp,
    presence: Presence,
    #[serde(default)]
    since: Timestamp,
    last_heard: Timestamp,
    /// The same on the monotonic clock of the site, which measures soaks.
    /// Stored only for offline nodes; for all others the restore counts as
    /// contact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    heard: Option<Monotonic>,
    capabilities: Option<Capabilities>,
    cordoned: bool,
    version: u64,
}

/// Why a site cannot be restored from persisted rows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    #[error("the stored row of the site is missing")]
    NoMeta,
    #[error("deployment {0} has no readable document")]
    Document(DeploymentId),
}

impl Site {
    /// The row to write under `key`; `None` if it is to be deleted.
    pub fn row(&self, key: &RowKey) -> Option<Row> {
        Some(match key {
            RowKey::Meta => Row::Meta(Box::new(self.meta_row())),
            RowKey::Deployment(id) => {
                Row::Deployment(Box::new(deployment_row(self.deployments.get(id)?)))
            }
            RowKey::Placement(id) => Row::Placement(Box::new(self.placements.get(id)?.clone())),
            RowKey::SiteNode(node) => {
                Row::SiteNode(Box::new(member_row(self.site_nodes.get(node)?)))
            }
        })
    }

    fn meta_row(&self) -> MetaRow {
        MetaRow {
            log: self.log.clone(),
            clock: self.clock,
            phase: self.phase,
            settings: self.settings.clone(),
            git: self.git.revision.clone(),
            refused: self.git.refused.clone(),
            removal: self.git.removal.clone(),
            history: self.git.rewritten.clone(),
            accepted: self.git.accepted.clone(),
            holds: self.holds.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
            commands_done: self.commands_done,
        }
    }

    /// Restores a site from its rows. A node that was online gets a full lease
    /// before it counts as offline.
    pub fn restore(
        rows: impl IntoIterator<Item = Row>,
        timing: Timing,
    ) -> Result<Site, RestoreError> {
        let (mut meta, mut deployments) = (None, Vec::new());
        let (mut placements, mut site_nodes) = (Vec::new(), Vec::new());
        for row in rows {
            match row {
                Row::Meta(row) => meta = Some(row),
                Row::Deployment(row) => deployments.push(row),
                Row::Placement(row) => placements.push(*row),
                Row::SiteNode(row) => site_nodes.push(row),
            }
        }
        let mut site = from_meta(*meta.ok_or(RestoreError::NoMeta)?, timing);
        for row in site_nodes {
            site.restore_member(*row);
        }
        for row in deployments {
            site.restore_deployment(*row)?;
        }
        for placement in placements {
            site.restore_placement(placement);
        }
        site.restore_rollout_indexes();
        Ok(site)
    }

    fn restore_member(&mut self, row: SiteNodeRow) {
        let site_node = SiteNode {
            name: row.name.clone(),
            joined: row.joined,
            presence: row.presence,
            since: row.since,
            last_heard: row.heard.unwrap_or(self.clock),
            last_heard_wall: row.last_heard,
            capabilities: row.capabilities.map(Arc::new),
            capabilities_confirmed: false,
            cordoned: row.cordoned,
            version: row.version,
            holds: 0,
            listed: BTreeMap::new(),
            placed: BTreeSet::new(),
            cleanup: Cleanup::default(),
            etag: None,
        };
        if site_node.is_online() {
            let at = self.clock.after(self.timing.suspect);
            self.index.timers.set(at, Timer::Presence(row.name.clone()));
        }
        self.site_nodes.insert(row.name, site_node);
    }

    fn restore_deployment(&mut self, row: DeploymentRow) -> Result<(), RestoreError> {
        let site = self.log.site.clone();
        let parse = |(blob, name, text): (BlobId, DeploymentName, String)| {
            let document = Document::parse(&site, &name, &blob, text.as_bytes()).ok()?;
            Some((blob, Arc::new(document)))
        };
        let documents: Option<BTreeMap<_, _>> = row.documents.into_iter().map(parse).collect();
        let documents = documents.ok_or_else(|| RestoreError::Document(row.id.clone()))?;
        if !row.withdrawn {
            self.index.names.insert(row.name.clone(), row.id.clone());
        }
        let deployment = Deployment {
            id: row.id.clone(),
            name: row.name,
            accepted: row.accepted,
            withdrawn: row.withdrawn,
            purge: row.purge,
            last_converged: row.last_converged,
            converged_before: row.converged_before,
            proven: row.proven,
            quarantine: row.quarantine.into_iter().map(|it| (it.revision.workload, it)).collect(),
            rejected: row.rejected,
            stopped: row.stopped,
            rollout: row.rollout,
            rolled_back: row.went_back,
            commit: row.commit,
            nodes: row.nodes,
            since: row.since,
            documents,
            placed: BTreeSet::new(),
            rollout_index: RolloutIndex::default(),
        };
        if deployment.rollout.soaking_since.is_some() {
            self.index.timers.set(self.clock, Timer::Rollout(row.id.clone()));
        }
        self.deployments.insert(row.id, deployment);
        Ok(())
    }

    fn restore_placement(&mut self, placement: Placement) {
        let PlacementId { deployment, node } = placement.id.clone();
        if let Some(owner) = self.deployments.get_mut(&deployment) {
            owner.placed.insert(node.clone());
        }
        if let Some(site_node) = self.site_nodes.get_mut(&node) {
            site_node.placed.insert(deployment.clone());
            if let Offer::Listed { wire, .. } = placement.offer {
                site_node.listed.insert(deployment, wire);
            }
        }
        for (at, timer) in timers(&placement) {
            self.index.timers.set(at, timer);
        }
        let id = placement.id.clone();
        self.placements.insert(id.clone(), placement);
        self.set_cleanup(&id);
    }

    fn restore_rollout_indexes(&mut self) {
        let all: Vec<_> =
            self.placements.values().map(|it| (it.id.clone(), self.placement_flags(it))).collect();
        for (id, flags) in all {
            if let Some(deployment) = self.deployments.get_mut(&id.deployment) {
                deployment.rollout_index.set(&id.node, flags);
            }
        }
        let pending_work = self.deployments.values().filter(|it| !it.rollout_index.is_idle());
        self.index.pending_work = pending_work.map(|it| it.id.clone()).collect();
        let soaks = self.deployments.values().filter(|it| it.rollout.soaking_since.is_some());
        self.index.moved_soaks = soaks.map(|it| it.id.clone()).collect();
        for id in &self.index.moved_soaks {
            self.index.timers.set(self.clock, Timer::Rollout(id.clone()));
        }
        if !self.index.pending_work.is_empty() {
            self.index.timers.set(self.clock, Timer::Window);
        }
    }
}

fn from_meta(meta: MetaRow, timing: Timing) -> Site {
    let mut site = Site::new(meta.log.site.clone(), meta.log.incarnation, timing);
    site.log = meta.log;
    site.clock = meta.clock;
    site.phase = meta.phase;
    site.settings = meta.settings;
    site.git = GitState {
        revision: meta.git,
        refused: meta.refused,
        removal: meta.removal,
        rewritten: meta.history,
        accepted: meta.accepted,
    };
    site.holds = meta.holds.into_iter().collect();
    site.commands_done = meta.commands_done;
    site.index = Index::default();
    site.index.timers.saved = site.clock;
    site
}

fn deployment_row(deployment: &Deployment) -> DeploymentRow {
    let text =
        |(blob, it): (&BlobId, &Arc<Document>)| (blob.clone(), it.name.clone(), it.text.clone());
    DeploymentRow {
        id: deployment.id.clone(),
        name: deployment.name.clone(),
        accepted: deployment.accepted.clone(),
        withdrawn: deployment.withdrawn,
        purge: deployment.purge,
        last_converged: deployment.last_converged.clone(),
        converged_before: deployment.converged_before.clone(),
        proven: deployment.proven.clone(),
        quarantine: deployment.quarantine.values().cloned().collect(),
        rejected: deployment.rejected.clone(),
        stopped: deployment.stopped.clone(),
        rollout: deployment.rollout.clone(),
        went_back: deployment.rolled_back.clone(),
        commit: deployment.commit.clone(),
        nodes: deployment.nodes.clone(),
        since: deployment.since,
        documents: deployment.documents.iter().map(text).collect(),
    }
}

fn member_row(site_node: &SiteNode) -> SiteNodeRow {
    SiteNodeRow {
        name: site_node.name.clone(),
        joined: site_node.joined,
        presence: site_node.presence,
        since: site_node.since,
        last_heard: site_node.last_heard_wall,
        heard: (site_node.presence == Presence::Offline).then_some(site_node.last_heard),
        capabilities: site_node.capabilities().cloned(),
        cordoned: site_node.cordoned,
        version: site_node.version,
    }
}
