//! The projection of the centre against the site itself.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::attempt::Revisions;
use colony_core::event::Presence;
use colony_core::fleet::SiteView;
use colony_core::id::{BlobId, DeploymentId, NodeName, PlacementId};
use colony_core::site::Site;
use colony_core::state::State;
use colony_margo::Digest;

use crate::check::{Rule, Verdict};
use crate::words;
use crate::world::World;

/// What both must agree on.
#[derive(Debug, PartialEq, Eq)]
struct Picture {
    placements: BTreeMap<PlacementId, (State, u32, Revisions)>,
    deployments: BTreeMap<DeploymentId, Want>,
    nodes: BTreeMap<NodeName, Presence>,
    ready: bool,
    commands: u64,
}

#[derive(Debug, PartialEq, Eq)]
struct Want {
    blob: BlobId,
    withdrawn: bool,
    good: Option<BlobId>,
    refused: BTreeSet<Digest>,
}

impl World {
    /// The centre has been told everything, and believes what is.
    pub(crate) fn check_belief(&self) -> Verdict {
        let Some(view) = self.central.core.site(&self.site) else { return Ok(()) };
        if self.lacks_seed() {
            return Ok(());
        }
        let (theirs, mine) = (of_view(view), of_site(&self.local.core));
        if theirs != mine {
            return Err((Rule::Belief, difference(&theirs, &mine)));
        }
        let mut all = view.placements.values().flat_map(|it| it.values());
        let flag = all.find_map(|it| it.flagged.as_ref().map(ToString::to_string));
        flag.map_or(Ok(()), |it| Err((Rule::Belief, it)))
    }
}

fn of_site(site: &Site) -> Picture {
    let placement = |it: &colony_core::site::Placement| {
        (it.id.clone(), (it.state(), it.attempt_number(), it.revisions.clone()))
    };
    let deployment = |it: &colony_core::site::Deployment| {
        let want = Want {
            blob: it.wanted().blob.clone(),
            withdrawn: it.is_withdrawn(),
            good: it.good().map(|it| it.blob.clone()),
            refused: it.quarantine().keys().copied().collect(),
        };
        (it.id.clone(), want)
    };
    Picture {
        placements: site.placements().map(placement).collect(),
        deployments: site.deployments().map(deployment).collect(),
        nodes: site.members().map(|it| (it.name.clone(), it.presence())).collect(),
        ready: site.is_ready(),
        commands: site.commands_done(),
    }
}

fn of_view(view: &SiteView) -> Picture {
    let all = view.placements.values().flat_map(|it| it.values());
    let placement = |it: &colony_core::fleet::PlacementView| {
        (it.id.clone(), (it.state, it.attempt, it.revisions.clone()))
    };
    let deployment = |it: &colony_core::fleet::DeploymentView| {
        let want = Want {
            blob: it.accepted.blob.clone(),
            withdrawn: it.withdrawn,
            good: it.good.as_ref().map(|it| it.blob.clone()),
            refused: it.quarantine.keys().copied().collect(),
        };
        (it.id.clone(), want)
    };
    Picture {
        placements: all.map(placement).collect(),
        deployments: view.deployments.values().map(deployment).collect(),
        nodes: view.nodes.iter().map(|(name, it)| (name.clone(), it.presence)).collect(),
        ready: view.head.ready,
        commands: view.head.commands_done,
    }
}

/// The first thing they do not agree on.
fn difference(theirs: &Picture, mine: &Picture) -> String {
    let states = |it: &Picture| {
        let states = it.placements.iter().map(|(id, it)| (id.clone(), it.0)).collect();
        words::states(&states)
    };
    if states(theirs) != states(mine) {
        return format!("CO believes {}, LO has {}", states(theirs), states(mine));
    }
    let parts = |it: &Picture| {
        [
            format!("{:?}", it.placements),
            format!("{:?}", it.deployments),
            format!("{:?}", it.nodes),
            format!("ready {}, command {}", it.ready, it.commands),
        ]
    };
    let pairs = parts(theirs).into_iter().zip(parts(mine));
    let first = pairs.into_iter().find(|it| it.0 != it.1);
    first.map_or(String::new(), |it| format!("CO believes {}, LO has {}", it.0, it.1))
}
