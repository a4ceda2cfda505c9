//! The answers of a site on their way to the central orchestrator.
//!
//! A site computes the answers that a change may have touched, compares them
//! with the ones it sent before and sends those that differ. Nothing of this is
//! persisted at the site: after a start, and when the central orchestrator comes
//! back, all answers are sent again. Cost follows the change: a deployment that
//! runs as wanted has no answer and is not looked at.

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
    /// A file that cannot be used, for a deployment the site does not have.
    File(DeploymentName),
}

/// Changed answers; an empty list means that all is as it should be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerUpdate {
    /// The run of the local orchestrator, and the number of the update in it.
    pub session: u64,
    pub number: u64,
    /// All answers that were sent before are void.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub complete: bool,
    pub changed: BTreeMap<AnswerKey, Vec<Why>>,
}

/// All answers of a site that are not empty.
pub fn answers(site: &Site, outside: &Surroundings, now: Now) -> BTreeMap<AnswerKey, Vec<Why>> {
    let keys = all_keys(site).into_iter();
    let answered = keys.map(|it| {
        let whys = answer(site, outside, &it, now);
        (it, whys)
    });
    answered.filter(|it| !it.1.is_empty()).collect()
}

/// The answers for one key.
fn answer(site: &Site, outside: &Surroundings, key: &AnswerKey, now: Now) -> Vec<Why> {
    match key {
        AnswerKey::Site => {
            let mut whys = super::site(site, now);
            whys.extend(outside.site(site));
            whys
        }
        AnswerKey::Node(node) if site.site_node(node).is_none() => Vec::new(),
        AnswerKey::Node(node) => outside.node(node, super::node(site, node)).into_iter().collect(),
        AnswerKey::Deployment(id) => {
            let mut whys = super::deployment_by_id(site, id, now);
            whys.iter_mut().for_each(|it| outside.placement(it));
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

/// Facts of the whole site that any answer may depend on.
#[derive(Debug, Clone, PartialEq)]
struct Whole {
    seeded: bool,
    ready: bool,
    fenced: Option<u32>,
    settings: SiteSettings,
    holds: BTreeMap<HoldScope, Hold>,
    refused: BTreeMap<String, RefusedFile>,
    removal: Option<HeldRemoval>,
    history: Option<HeldHistory>,
}

impl Whole {
    fn of(site: &Site) -> Whole {
        Whole {
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
    /// The number of the last update that was made.
    number: u64,
    /// The answers that are not empty.
    current: BTreeMap<AnswerKey, Vec<Why>>,
    /// Keys whose current answer the central orchestrator does not have.
    unsent: BTreeSet<AnswerKey>,
    /// The update that was sent and not acknowledged.
    open: Option<AnswerUpdate>,
    /// The next update voids what was sent before.
    complete: bool,
    whole: Option<Whole>,
    outside: Surroundings,
}

impl AnswerOutbox {
    /// `session` must be higher than in every earlier run: the site's own
    /// clock, which continues where the last run ended.
    pub fn new(session: u64) -> AnswerOutbox {
        AnswerOutbox { session, complete: true, ..AnswerOutbox::default() }
    }

    /// The answers as they were last computed.
    pub fn current(&self) -> &BTreeMap<AnswerKey, Vec<Why>> {
        &self.current
    }

    /// Computes the answers that `changed` may have touched.
    pub fn refresh(&mut self, site: &Site, outside: &Surroundings, changed: &Changed, now: Now) {
        let whole = Whole::of(site);
        let keys = match self.whole.as_ref() == Some(&whole) {
            true => self.touched(site, outside, changed),
            false => all_keys(site).into_iter().chain(self.current.keys().cloned()).collect(),
        };
        self.whole = Some(whole);
        self.outside.clone_from(outside);
        keys.into_iter().for_each(|it| self.compute(site, it, now));
    }

    /// Recomputes all current answers: some change with time alone.
    pub fn refresh_all(&mut self, site: &Site, now: Now) {
        let keys: Vec<AnswerKey> = self.current.keys().cloned().collect();
        keys.into_iter().chain([AnswerKey::Site]).for_each(|it| self.compute(site, it, now));
    }

    fn touched(
        &self,
        site: &Site,
        outside: &Surroundings,
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
        let on = deployments.iter().filter_map(|it| site.deployment(it)).flat_map(|it| it.placed());
        let on = on.chain(changed.placements.iter().map(|it| &it.node));
        let on = on.map(|it| AnswerKey::Node(it.clone()));
        keys.extend(on.filter(|it| self.current.contains_key(it)));
        keys.extend(deployments.into_iter().map(AnswerKey::Deployment));
        let unready =
            self.outside.unready.iter().filter(|it| outside.unready.get(it.0) != Some(it.1));
        let newly =
            outside.unready.iter().filter(|it| self.outside.unready.get(it.0) != Some(it.1));
        let nodes: BTreeSet<&NodeName> =
            changed.site_nodes.iter().chain(unready.chain(newly).map(|it| it.0)).collect();
        if nodes.is_empty() {
            return keys;
        }
        let on_node = |it: &&Deployment| nodes.iter().any(|node| it.placed().contains(*node));
        let open = |it: &&Deployment| on_node(it) || is_short(it);
        keys.extend(site.deployments().filter(open).map(|it| AnswerKey::Deployment(it.id.clone())));
        keys.extend(nodes.into_iter().map(|it| AnswerKey::Node(it.clone())));
        keys
    }

    fn compute(&mut self, site: &Site, key: AnswerKey, now: Now) {
        let whys = answer(site, &self.outside, &key, now);
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
        if self.open.is_none() {
            self.open = self.make(bytes);
        }
        self.open.clone()
    }

    fn make(&mut self, bytes: usize) -> Option<AnswerUpdate> {
        if self.complete {
            self.unsent = self.current.keys().cloned().collect();
        }
        if self.unsent.is_empty() && !self.complete {
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
        let complete = std::mem::take(&mut self.complete);
        Some(AnswerUpdate { session: self.session, number: self.number, complete, changed })
    }

    /// The central orchestrator has stored the update of this number.
    pub fn acknowledged(&mut self, number: u64) {
        self.open.take_if(|it| it.number == number);
    }

    /// The central orchestrator has acknowledged every answer there is.
    pub fn is_settled(&self) -> bool {
        self.open.is_none() && self.unsent.is_empty() && !self.complete
    }

    /// The central orchestrator lacks an earlier update, or may have been
    /// restored: everything is sent again, in another session, so that a late
    /// update of this session cannot be mistaken for part of the next.
    pub fn start_over(&mut self) {
        (self.open, self.complete) = (None, true);
        self.session = self.session.wrapping_add(1);
    }

    pub fn session(&self) -> u64 {
        self.session
    }
}

/// Another node could get it.
fn is_short(deployment: &Deployment) -> bool {
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
