//! What is persisted of a site, and how it is put together again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use colony_margo::{Capabilities, Digest};

use crate::attempt::Revision;
use crate::document::Document;
use crate::event::{HoldScope, Log, Presence};
use crate::id::{BlobId, DeploymentId, DeploymentName, GitRevision, NodeName, PlacementId};
use crate::site::deployment::{Rejected, Stopped};
use crate::site::lanes::Lanes;
use crate::site::registry::timers;
use crate::site::rollout::Rollout;
use crate::site::timer::Timer;
use crate::site::{
    Deployment, GitState, HeldHistory, HeldRemoval, Hold, Index, Member, Offer, Phase, Placement,
    Quarantine, RefusedFile, RolledBack, RowKey, Site, SiteSettings, Timing,
};
use crate::time::{Mono, Wall};

/// One persisted record.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "kebab-case")]
pub enum Row {
    Meta(Box<MetaRow>),
    Deployment(Box<DeploymentRow>),
    Placement(Box<Placement>),
    Member(Box<MemberRow>),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MetaRow {
    log: Log,
    clock: Mono,
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
    wanted: Revision,
    withdrawn: bool,
    good: Option<Revision>,
    good_before: Option<Revision>,
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
    since: Wall,
    documents: Vec<(BlobId, DeploymentName, String)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MemberRow {
    name: NodeName,
    joined: Wall,
    presence: Presence,
    #[serde(default)]
    since: Wall,
    last_heard: Wall,
    /// The same of a node that is offline by the site's own clock, which a soak
    /// is measured with. All others are heard from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    heard: Option<Mono>,
    capabilities: Option<Capabilities>,
    cordoned: bool,
    version: u64,
}

/// Why persisted rows do not make a site.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    #[error("the record of the site itself is missing")]
    NoMeta,
    #[error("deployment {0} has no readable document")]
    Document(DeploymentId),
}

impl Site {
    /// The record to write under `key`; `None` if it is to be deleted.
    pub fn row(&self, key: &RowKey) -> Option<Row> {
        Some(match key {
            RowKey::Meta => Row::Meta(Box::new(self.meta_row())),
            RowKey::Deployment(id) => {
                Row::Deployment(Box::new(deployment_row(self.deployments.get(id)?)))
            }
            RowKey::Placement(id) => Row::Placement(Box::new(self.placements.get(id)?.clone())),
            RowKey::Member(node) => Row::Member(Box::new(member_row(self.members.get(node)?))),
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

    /// Puts a site together from its records. Nobody is offline for one lease.
    pub fn restore(
        rows: impl IntoIterator<Item = Row>,
        timing: Timing,
    ) -> Result<Site, RestoreError> {
        let (mut meta, mut deployments) = (None, Vec::new());
        let (mut placements, mut members) = (Vec::new(), Vec::new());
        for row in rows {
            match row {
                Row::Meta(row) => meta = Some(row),
                Row::Deployment(row) => deployments.push(row),
                Row::Placement(row) => placements.push(*row),
                Row::Member(row) => members.push(row),
            }
        }
        let mut site = from_meta(*meta.ok_or(RestoreError::NoMeta)?, timing);
        for row in members {
            site.restore_member(*row);
        }
        for row in deployments {
            site.restore_deployment(*row)?;
        }
        for placement in placements {
            site.restore_placement(placement);
        }
        site.restore_lanes();
        Ok(site)
    }

    fn restore_member(&mut self, row: MemberRow) {
        let member = Member {
            name: row.name.clone(),
            joined: row.joined,
            presence: row.presence,
            since: row.since,
            last_heard: row.heard.unwrap_or(self.clock),
            last_heard_wall: row.last_heard,
            capabilities: row.capabilities.map(Arc::new),
            vouched: false,
            cordoned: row.cordoned,
            version: row.version,
            holds: 0,
            listed: BTreeMap::new(),
            placed: BTreeSet::new(),
            etag: None,
        };
        if member.is_online() {
            let at = self.clock.after(self.timing.suspect);
            self.index.timers.set(at, Timer::Presence(row.name.clone()));
        }
        self.members.insert(row.name, member);
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
            wanted: row.wanted,
            withdrawn: row.withdrawn,
            good: row.good,
            good_before: row.good_before,
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
            lanes: Lanes::default(),
        };
        if deployment.rollout.soaking.is_some() {
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
        if let Some(member) = self.members.get_mut(&node) {
            member.placed.insert(deployment.clone());
            if let Offer::Listed { wire, .. } = placement.offer {
                member.listed.insert(deployment, wire);
            }
        }
        for (at, timer) in timers(&placement) {
            self.index.timers.set(at, timer);
        }
        self.placements.insert(placement.id.clone(), placement);
    }

    fn restore_lanes(&mut self) {
        let standings: Vec<_> =
            self.placements.values().map(|it| (it.id.clone(), self.standing(it))).collect();
        for (id, standing) in standings {
            if let Some(deployment) = self.deployments.get_mut(&id.deployment) {
                deployment.lanes.set(&id.node, standing);
            }
        }
        let hungry = self.deployments.values().filter(|it| !it.lanes.is_idle());
        self.index.hungry = hungry.map(|it| it.id.clone()).collect();
        if !self.index.hungry.is_empty() {
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
        wanted: deployment.wanted.clone(),
        withdrawn: deployment.withdrawn,
        good: deployment.good.clone(),
        good_before: deployment.good_before.clone(),
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

fn member_row(member: &Member) -> MemberRow {
    MemberRow {
        name: member.name.clone(),
        joined: member.joined,
        presence: member.presence,
        since: member.since,
        last_heard: member.last_heard_wall,
        heard: (member.presence == Presence::Offline).then_some(member.last_heard),
        capabilities: member.capabilities().cloned(),
        cordoned: member.cordoned,
        version: member.version,
    }
}
