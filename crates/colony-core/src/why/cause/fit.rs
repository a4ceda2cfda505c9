//! Causes that lie in the selection of nodes.

use serde::{Deserialize, Serialize};

use super::{Explanation, causes};
use crate::id::NodeName;
use crate::why::Owner;
use crate::why::text::words::{all, groups};

causes! {
    /// Why a deployment has no node, or too few.
    FitCause:
    /// The file names a node that has not joined.
    TargetNotJoined = "target-not-joined" { node: NodeName }
    NothingFits = "nothing-fits" { unfit: Vec<Unfitting> }
    TooFewFit = "too-few-fit" { replicas: u32, placed: Vec<NodeName>, unfit: Vec<Unfitting> }
    /// A node that has the deployment would not be selected again.
    LostEligibility = "lost-eligibility" { node: NodeName, reason: String }
}

/// Nodes that do not get a deployment, for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfitting {
    pub nodes: Vec<NodeName>,
    pub misfit: Misfit,
    pub reason: String,
}

/// The kind of reason that excludes a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Misfit {
    /// None: the node fits, but the site has not selected nodes since.
    None,
    Cordoned,
    NoCapabilities,
    Label,
    ProfileType,
    Constraints,
}

impl FitCause {
    pub(super) fn explain(&self) -> Explanation {
        match self {
            FitCause::TargetNotJoined { node } => Explanation::new(
                format!("its file names node {node}, which has not joined this site"),
                format!("it is placed when node {node} joins"),
            )
            .act(Owner::GitAuthor, format!("name another node, or let node {node} join")),
            FitCause::NothingFits { unfit } => {
                let (owner, act) =
                    opening(unfit, "change what the file asks for, or add a node that fits");
                Explanation::new(
                    format!("no node fits: {}", groups(unfit)),
                    "it is placed on the first node that fits",
                )
                .act(owner, act)
            }
            FitCause::TooFewFit { replicas, placed, unfit } => {
                let (owner, act) = opening(unfit, "ask for fewer replicas, or add nodes that fit");
                Explanation::new(
                    too_few(*replicas, placed, unfit),
                    "the next one is placed on the first node that fits",
                )
                .act(owner, act)
            }
            FitCause::LostEligibility { node, reason } => Explanation::new(
                format!("node {node} would not get it again: {reason}"),
                "it keeps running there; nothing is evicted",
            )
            .act(Owner::GitAuthor, "change what the file asks for, or choose another node"),
        }
    }
}

fn too_few(replicas: u32, placed: &[NodeName], unfit: &[Unfitting]) -> String {
    let rest = match unfit {
        [] => "the site has no more nodes".to_owned(),
        _ => groups(unfit),
    };
    format!("{replicas} replicas are wanted, {} placed ({}); {rest}", placed.len(), all(placed))
}

/// If a node can be opened for a deployment, the person responsible for the
/// node has to act before the author of the file.
fn opening(unfit: &[Unfitting], otherwise: &str) -> (Owner, String) {
    let of =
        |kind: Misfit| unfit.iter().find(|it| it.misfit == kind).and_then(|it| it.nodes.first());
    match (of(Misfit::Cordoned), of(Misfit::NoCapabilities)) {
        (Some(node), _) => (Owner::SiteEngineer, format!("uncordon node {node}")),
        (None, Some(node)) => {
            (Owner::DeviceOwner, format!("look at the logs of colony on node {node}"))
        }
        (None, None) => (Owner::GitAuthor, otherwise.to_owned()),
    }
}
