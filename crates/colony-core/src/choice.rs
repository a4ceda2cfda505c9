//! Which nodes a deployment runs on. A site decides by this rule, and a plan
//! uses it to predict the decision.
//!
//! Placements are sticky: a node that has the deployment keeps it as long as
//! the target and the selector of the file allow it. A node that loses its
//! eligibility later is a finding for `why`, not an eviction. Left out on
//! purpose: when a placement starts (the guards decide), and the revision.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use colony_margo::Capabilities;
use serde_json::Value;

use crate::document::{Document, Target};
use crate::id::NodeName;

/// A node as the choice sees it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    pub name: &'a NodeName,
    /// The lease of the node has not expired.
    pub online: bool,
    pub cordoned: bool,
    /// `None` before its first report.
    pub capabilities: Option<&'a Capabilities>,
    /// How many deployments are placed on it, including those being removed.
    pub placed: usize,
    /// The node runs the wanted revision.
    pub settled: bool,
}

/// The nodes of a site, for one deployment.
///
/// A trait and not a list, because a site chooses nodes after every change:
/// reading one node costs a look-up, and all nodes are read only if the
/// deployment can get more of them.
pub trait Candidates {
    fn candidate(&self, node: &NodeName) -> Option<Candidate<'_>>;

    /// All nodes, by name.
    fn candidates(&self) -> impl Iterator<Item = Candidate<'_>>;
}

/// The chosen nodes of a deployment, compared with its current nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice<'a> {
    pub keep: Vec<&'a NodeName>,
    /// The best node first.
    pub add: Vec<&'a NodeName>,
    pub remove: Vec<&'a NodeName>,
    /// Replicas without a node; 0 if every matching node gets the deployment.
    pub missing: usize,
}

impl Choice<'_> {
    /// The nodes that the deployment should run on.
    pub fn nodes(&self) -> BTreeSet<NodeName> {
        self.keep.iter().chain(&self.add).map(|it| (*it).clone()).collect()
    }
}

/// Chooses the nodes of a deployment that is on `current`.
///
/// Nodes that run the wanted revision keep the deployment first, then nodes
/// that are online. Further nodes are ranked by (online, fewest deployments,
/// name).
pub fn choose<'a>(
    document: &Document,
    current: &'a BTreeSet<NodeName>,
    nodes: &'a impl Candidates,
) -> Choice<'a> {
    let wanted = document.settings.replicas.map(|it| it as usize);
    let limit = wanted.unwrap_or(usize::MAX);
    let mut keep: Vec<Candidate<'a>> =
        current.iter().filter_map(|it| nodes.candidate(it)).collect();
    keep.retain(|it| is_selected(document, it));
    keep.sort_by_key(|it| (!it.settled, !it.online, it.name));
    keep.truncate(limit);
    let keep: Vec<&NodeName> = keep.into_iter().map(|it| it.name).collect();
    let add: Vec<&NodeName> = match limit - keep.len() {
        0 => Vec::new(),
        free => additions(document, current, nodes).take(free).collect(),
    };
    let missing = wanted.map_or(0, |it| it - keep.len() - add.len());
    let remove = removals(current, &keep);
    Choice { keep, add, remove, missing }
}

fn removals<'a>(current: &'a BTreeSet<NodeName>, keep: &[&NodeName]) -> Vec<&'a NodeName> {
    if keep.len() == current.len() {
        return Vec::new();
    }
    let keep: BTreeSet<&NodeName> = keep.iter().copied().collect();
    current.iter().filter(|it| !keep.contains(it)).collect()
}

/// Further nodes that may get the deployment, the best first. The fitness of a
/// node is evaluated lazily, when the caller takes the next one.
fn additions<'a>(
    document: &Document,
    current: &BTreeSet<NodeName>,
    nodes: &'a impl Candidates,
) -> impl Iterator<Item = &'a NodeName> {
    let others: Vec<Candidate<'a>> =
        nodes.candidates().filter(|it| !current.contains(it.name)).collect();
    let rank = |(at, it): (usize, &Candidate<'_>)| Reverse((!it.online, it.placed, at));
    let mut ranking: BinaryHeap<_> = others.iter().enumerate().map(rank).collect();
    let next = move || ranking.pop().and_then(|Reverse((_, _, at))| others.get(at).copied());
    std::iter::from_fn(next).filter(|it| fitness(document, it).is_ok()).map(|it| it.name)
}

/// Why a node does not get a deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// The target names another node.
    NotNamed,
    /// A label is missing or has another value.
    Label {
        key: String,
        wanted: String,
    },
    NoCapabilities,
    ProfileType(String),
    Constraints(Vec<String>),
    Cordoned,
}

impl Unfit {
    /// The target or the selector of the deployment's file excludes the node.
    pub fn is_choice(&self) -> bool {
        matches!(self, Unfit::NotNamed | Unfit::Label { .. })
    }

    /// The reason as a predicate of the node; `None` if the file names another
    /// node.
    pub fn text(&self, capabilities: Option<&Capabilities>) -> Option<String> {
        Some(match self {
            Unfit::NotNamed => return None,
            Unfit::Label { key, wanted } => {
                format!("needs label {key}={wanted}, device {}", label_text(capabilities, key))
            }
            Unfit::NoCapabilities => "has not reported its capabilities yet".to_owned(),
            Unfit::ProfileType(kind) => {
                format!("needs profile type {kind}, device supports {}", supported(capabilities))
            }
            Unfit::Constraints(mismatches) => mismatches.join("; "),
            Unfit::Cordoned => "would fit but is cordoned".to_owned(),
        })
    }
}

/// Whether a node may get `document`, or the first reason why not.
pub fn fitness(document: &Document, node: &Candidate<'_>) -> Result<(), Unfit> {
    if let Target::Node(named) = &document.target
        && named != node.name
    {
        return Err(Unfit::NotNamed);
    }
    let Some(capabilities) = node.capabilities else { return Err(Unfit::NoCapabilities) };
    for (key, wanted) in &document.settings.selector {
        let label = capabilities.labels().get(key);
        if !label.is_some_and(|it| label_is(it, wanted)) {
            return Err(Unfit::Label { key: key.clone(), wanted: wanted.clone() });
        }
    }
    let profile = &document.spec.spec.profile;
    if !capabilities.supports(&profile.kind) {
        return Err(Unfit::ProfileType(profile.kind.clone()));
    }
    let constraints = profile.constraints.as_ref();
    constraints
        .map_or(Ok(()), |it| it.evaluate(capabilities))
        .map_err(|it| Unfit::Constraints(it.iter().map(ToString::to_string).collect()))?;
    if node.cordoned { Err(Unfit::Cordoned) } else { Ok(()) }
}

/// The deployment's file does not exclude the node.
fn is_selected(document: &Document, node: &Candidate<'_>) -> bool {
    fitness(document, node).err().is_none_or(|it| !it.is_choice())
}

/// Whether the reported capabilities of a device contain all of these labels.
pub fn has_labels(capabilities: Option<&Capabilities>, labels: &BTreeMap<String, String>) -> bool {
    let Some(own) = capabilities.map(|it| it.labels()) else { return false };
    labels.iter().all(|(key, wanted)| own.get(key).is_some_and(|it| label_is(it, wanted)))
}

fn label_is(label: &Value, wanted: &str) -> bool {
    match label {
        Value::String(text) => text == wanted,
        Value::Array(items) => items.iter().any(|it| label_is(it, wanted)),
        Value::Bool(value) => wanted.parse() == Ok(*value),
        Value::Number(value) => *value.to_string() == *wanted,
        Value::Null | Value::Object(_) => false,
    }
}

fn label_text(capabilities: Option<&Capabilities>, key: &str) -> String {
    match capabilities.and_then(|it| it.labels().get(key)) {
        None => "has no such label".to_owned(),
        Some(Value::String(text)) => format!("has {key}={text}"),
        Some(value) => format!("has {key}={value}"),
    }
}

fn supported(capabilities: Option<&Capabilities>) -> String {
    let types = capabilities.map(|it| &it.properties().supported_deployment_types);
    match types.filter(|it| !it.is_empty()) {
        Some(types) => types.join(", "),
        None => "none".to_owned(),
    }
}
