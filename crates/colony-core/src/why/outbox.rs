//! The answers of a site on their way to the central orchestrator.
//!
//! The *answer* for a key (the site, a node, a deployment, a file) is a list of
//! [`Why`]; each of these explains one subject that is not as it should be. An
//! empty list means that there is nothing to explain, and is not kept.
//!
//! A site computes the answers that a change may have touched, compares them
//! with the ones it sent before and sends those that differ. Nothing of this is
//! persisted at the site: after a start, and when the central orchestrator comes
//! back, all answers are sent again. Cost follows the change: a deployment that
//! runs as wanted has no answer and is not evaluated.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::event::HoldScope;
use crate::id::{DeploymentId, DeploymentName, NodeName};
use crate::site::view::deployment_path;
use crate::site::{
    Changed, Deployment, HeldHistory, HeldRemoval, Hold, RefusedFile, Site, SiteSettings,
};
use crate::time::Now;
use crate::why::{Surroundings, Why};

/// The subject of an answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AnswerKey {
    Site,
    Node(NodeName),
    Deployment(DeploymentId),
    /// A file that cannot be used, for a deployment the site does not have. Its
    /// name is that of the deployment, without folder and `.yaml`.
    File(DeploymentName),
}

/// Changed answers; an empty list means that the answer for this key is gone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerUpdate {
    /// A sequence of updates: each start of the local orchestrator begins one, and
    /// so does `AnswerOutbox::start_over`. Higher than all earlier ones.
    pub session: u64,
    /// Counts the updates of the orchestrator's process, without gaps.
    pub number: u64,
    /// The first update of a session: all answers that were sent before are
    /// void.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub complete: bool,
    pub changed: BTreeMap<AnswerKey, Vec<Why>>,
}

/// All answers of a site that are not empty.
pub fn answers(
    site: &Site,
    surroundings: &Surroundings,
    now: Now,
) -> BTreeMap<AnswerKey, Vec<Why>> {
    let keys = all_keys(site).into_iter();
    let answered = keys.map(|it| {
        let whys = answer(site, surroundings, &it, now);
        (it, whys)
    });
    answered.filter(|it| !it.1.is_empty()).collect()
}

/// The answers for one key.
fn answer(site: &Site, surroundings: &Surroundings, key: &AnswerKey, now: Now) -> Vec<Why> {
    match key {
        AnswerKey::Site => {
            let mut whys = super::site(site, now);
            whys.extend(surroundings.site(site));
            whys
        }
        AnswerKey::Node(node) if site.site_node(node).is_none() => Vec::new(),
        AnswerKey::Node(node) => {
            surroundings.node(node, super::node(site, node)).into_iter().collect()
        }
        AnswerKey::Deployment(id) => {
            let mut whys = super::deployment_by_id(site, id, now);
            whys.iter_mut().for_each(|it| surroundings.placement(it));
            whys
        }
        AnswerKey::File(name) if site.deployment_named(name).is_some() => Vec::new(),
        AnswerKey::File(name) => {
            let refused = super::site::refused(site, &deployment_path(site.name(), name));
            refused.map(|_| super::deployment(site, name, now)).unwrap_or_default()
        }
    }
}

fn all_keys(site: &Site) -> BTreeSet<AnswerKey> {
    let nodes = site.site_nodes().map(|it| AnswerKey::Node(it.name.clone()));
    let deployments = site.deployments().map(|it| AnswerKey::Deployment(it.id.clone()));
    let keys = std::iter::once(AnswerKey::Site).chain(nodes).chain(deployments);
    keys.chain(file_keys(site)).collect()
}

fn file_keys(site: &Site) -> impl Iterator<Item = AnswerKey> {
    let names = site.refused_files().keys().filter_map(|path| {
        let file = path.strip_prefix("deployments/")?.split('/').next_back()?;
        file.strip_suffix(".yaml")?.parse().ok()
    });
    names.map(AnswerKey::File)
}

/// Facts of the site as a whole. When one of them changes, all answers are
/// computed again.
#[derive(Debug, Clone, PartialEq)]
struct SiteFacts {
    /// Central has sent what runs at the site.
    seeded: bool,
    /// Git was read: the site serves manifests.
    ready: bool,
    /// The incarnation that replaced this orchestrator.
    fenced: Option<u32>,
    settings: SiteSettings,
    holds: BTreeMap<HoldScope, Hold>,
    /// Files that cannot be used, by path.
    refused: BTreeMap<String, RefusedFile>,
    /// A commit that removes too much at once and waits for a release.
    removal: Option<HeldRemoval>,
    /// A rewritten history that waits to be accepted.
    history: Option<HeldHistory>,
}

impl SiteFacts {
    fn of(site: &Site) -> SiteFacts {
        SiteFacts {
            seeded: site.is_seeded(),
            ready: site.is_ready(),
            fenced: site.fenced_by(),
            settings: site.settings().clone(),
            holds: site.holds().clone(),
            refused: site.refused_files().clone(),
            removal: site.held_removal().cloned(),
            history: site.held_history().cloned(),
        }
    }
}

/// The answers of a site, and which of them have to be sent.
#[derive(Debug, Clone, Default)]
pub struct AnswerOutbox {
    session: u64,
    /// The number of the last update that was built.
    number: u64,
    /// The answers that are not empty.
    current: BTreeMap<AnswerKey, Vec<Why>>,
    /// Keys whose current answer the central orchestrator does not have, without
    /// those in `unacknowledged`.
    unsent: BTreeSet<AnswerKey>,
    /// The update that was sent and not acknowledged.
    unacknowledged: Option<AnswerUpdate>,
    /// The next update voids what was sent before.
    voids_earlier: bool,
    site_facts: Option<SiteFacts>,
    surroundings: Surroundings,
}

impl AnswerOutbox {
    /// `session` must be higher than in every earlier run. The caller passes the
    /// site's monotonic clock, which is persisted: after a start it continues
    /// where the last run ended.
    pub fn new(session: u64) -> AnswerOutbox {
        AnswerOutbox { session, voids_earlier: true, ..AnswerOutbox::default() }
    }

    /// The answers as they were last computed.
    pub fn current(&self) -> &BTreeMap<AnswerKey, Vec<Why>> {
        &self.current
    }

    /// Computes the answers that depend on rows in `changed`, or on surroundings
    /// that differ from those of the last call.
    pub fn refresh(
        &mut self,
        site: &Site,
        surroundings: &Surroundings,
        changed: &Changed,
        now: Now,
    ) {
        let whole = SiteFacts::of(site);
        let keys = match self.site_facts.as_ref() == Some(&whole) {
            true => self.affected_keys(site, surroundings, changed),
            false => all_keys(site).into_iter().chain(self.current.keys().cloned()).collect(),
        };
        self.site_facts = Some(whole);
        self.surroundings.clone_from(surroundings);
        keys.into_iter().for_each(|it| self.compute(site, it, now));
    }

    /// Recomputes all answers that are not empty, and that of the site: some change
    /// with time alone.
    pub fn refresh_nonempty(&mut self, site: &Site, now: Now) {
        let keys: Vec<AnswerKey> = self.current.keys().cloned().collect();
        keys.into_iter().chain([AnswerKey::Site]).for_each(|it| self.compute(site, it, now));
    }

    fn affected_keys(
        &self,
        site: &Site,
        surroundings: &Surroundings,
        changed: &Changed,
    ) -> BTreeSet<AnswerKey> {
        let mut keys = BTreeSet::from([AnswerKey::Site]);
        // A deployment with a refused file may have come or gone; these are
        // few.
        let files = self.current.keys().filter(|it| matches!(it, AnswerKey::File(_)));
        keys.extend(files.cloned().chain(file_keys(site)));
        let placed = changed.placements.iter().map(|it| it.deployment.clone());
        let deployments: BTreeSet<DeploymentId> =
            changed.deployments.iter().cloned().chain(placed).collect();
        // The answer for a node says whether a change waits for it.
        let nodes =
            deployments.iter().filter_map(|it| site.deployment(it)).flat_map(|it| it.placed());
        let nodes = nodes.chain(changed.placements.iter().map(|it| &it.node));
        let nodes = nodes.map(|it| AnswerKey::Node(it.clone()));
        keys.extend(nodes.filter(|it| self.current.contains_key(it)));
        keys.extend(deployments.into_iter().map(AnswerKey::Deployment));
        let (before, after) = (&self.surroundings.unready, &surroundings.unready);
        let no_longer = before.iter().filter(|it| after.get(it.0) != Some(it.1));
        let newly = after.iter().filter(|it| before.get(it.0) != Some(it.1));
        let nodes: BTreeSet<&NodeName> =
            changed.site_nodes.iter().chain(no_longer.chain(newly).map(|it| it.0)).collect();
        if nodes.is_empty() {
            return keys;
        }
        let on_node = |it: &&Deployment| nodes.iter().any(|node| it.placed().contains(*node));
        let concerned = |it: &&Deployment| on_node(it) || lacks_replicas(it);
        keys.extend(
            site.deployments().filter(concerned).map(|it| AnswerKey::Deployment(it.id.clone())),
        );
        keys.extend(nodes.into_iter().map(|it| AnswerKey::Node(it.clone())));
        keys
    }

    fn compute(&mut self, site: &Site, key: AnswerKey, now: Now) {
        let whys = answer(site, &self.surroundings, &key, now);
        let same = match self.current.get(&key) {
            Some(known) => *known == whys,
            None => whys.is_empty(),
        };
        if same {
            return;
        }
        self.unsent.insert(key.clone());
        match whys.is_empty() {
            true => drop(self.current.remove(&key)),
            false => drop(self.current.insert(key, whys)),
        }
    }

    /// The next update, at most about `bytes` long; the same one until it is
    /// acknowledged. `None` if the central orchestrator has all answers.
    pub fn next(&mut self, bytes: usize) -> Option<AnswerUpdate> {
        if self.unacknowledged.is_none() {
            self.unacknowledged = self.next_update(bytes);
        }
        self.unacknowledged.clone()
    }

    fn next_update(&mut self, bytes: usize) -> Option<AnswerUpdate> {
        if self.voids_earlier {
            self.unsent = self.current.keys().cloned().collect();
        }
        if self.unsent.is_empty() && !self.voids_earlier {
            return None;
        }
        let (mut changed, mut size) = (BTreeMap::new(), 0);
        while let Some(key) = self.unsent.pop_first() {
            let whys = self.current.get(&key).cloned().unwrap_or_default();
            size += serde_json::to_vec(&whys).map_or(0, |it| it.len());
            changed.insert(key, whys);
            if size >= bytes {
                break;
            }
        }
        self.number += 1;
        let complete = std::mem::take(&mut self.voids_earlier);
        Some(AnswerUpdate { session: self.session, number: self.number, complete, changed })
    }

    /// Records that the central orchestrator has stored this update.
    pub fn acknowledged(&mut self, number: u64) {
        self.unacknowledged.take_if(|it| it.number == number);
    }

    /// The central orchestrator has acknowledged every answer there is.
    pub fn is_settled(&self) -> bool {
        self.unacknowledged.is_none() && self.unsent.is_empty() && !self.voids_earlier
    }

    /// The central orchestrator lacks an earlier update, or may have been
    /// restored: everything is sent again, in another session, so that a late
    /// update of this session cannot be mistaken for part of the next.
    pub fn start_over(&mut self) {
        (self.unacknowledged, self.voids_earlier) = (None, true);
        self.session = self.session.wrapping_add(1);
    }

    pub fn session(&self) -> u64 {
        self.session
    }
}

/// Fewer nodes are selected than replicas are wanted, so that a node that
/// changes may be selected, too.
fn lacks_replicas(deployment: &Deployment) -> bool {
    let replicas = deployment.policy().and_then(|it| it.settings.replicas);
    let wanted = replicas.map_or(1, |it| it as usize);
    deployment.nodes().len() < wanted
}

impl fmt::Display for AnswerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnswerKey::Site => f.write_str("site"),
            AnswerKey::Node(node) => write!(f, "node/{node}"),
            AnswerKey::Deployment(id) => write!(f, "deployment/{id}"),
            AnswerKey::File(name) => write!(f, "file/{name}"),
        }
    }
}

/// A text that is not an answer key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not `site`, `node/<name>`, `deployment/<id>` or `file/<name>`")]
pub struct AnswerKeyError(String);

impl FromStr for AnswerKey {
    type Err = AnswerKeyError;

    fn from_str(text: &str) -> Result<AnswerKey, AnswerKeyError> {
        let key = match text.split_once('/') {
            None if text == "site" => Some(AnswerKey::Site),
            Some(("node", name)) => name.parse().ok().map(AnswerKey::Node),
            Some(("deployment", id)) => id.parse().ok().map(AnswerKey::Deployment),
            Some(("file", name)) => name.parse().ok().map(AnswerKey::File),
            Some(_) | None => None,
        };
        key.ok_or_else(|| AnswerKeyError(text.to_owned()))
    }
}

impl TryFrom<String> for AnswerKey {
    type Error = AnswerKeyError;

    fn try_from(text: String) -> Result<AnswerKey, AnswerKeyError> {
        text.parse()
    }
}

impl From<AnswerKey> for String {
    fn from(key: AnswerKey) -> String {
        key.to_string()
    }
}
