//! What each node is offered: a function of the placements, and its version.
//!
//! Versions only rise: `incarnation · 2^26 + n`. Several changes within one
//! step share one version, because nobody can have seen the ones between.

use colony_margo::{Digest, ManifestVersion, StateManifest};

use crate::event::{Actor, Body};
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::site::turn::Turn;
use crate::site::{Have, Member, Offer, Phase, Placement, Refused, Site};
use crate::state::State;

/// Everything a node may fetch.
#[derive(Debug, Clone)]
pub struct NodeManifest {
    pub version: u64,
    /// The exact body, and the digest of it.
    pub bytes: Vec<u8>,
    pub etag: Digest,
    pub bundle: Option<Vec<u8>>,
    pub documents: Vec<(DeploymentId, Digest, Vec<u8>)>,
}

/// What an LO does not know of a node and asks for with its next answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asks {
    pub capabilities: bool,
    /// Deployments whose state is not known.
    pub deployments: Vec<DeploymentId>,
}

impl Asks {
    pub fn is_empty(&self) -> bool {
        *self == Asks::default()
    }
}

impl Site {
    /// The manifest of `node`, once the site knows what should run.
    pub fn manifest(&self, node: &NodeName) -> Result<NodeManifest, Refused> {
        match self.phase {
            Phase::Unseeded => return Err(Refused::NotReady("what runs here is not known yet")),
            Phase::Seeded => return Err(Refused::NotReady("Git is not read yet")),
            Phase::Fenced { .. } if self.git.revision.is_none() => {
                return Err(Refused::NotReady("Git is not read yet"));
            }
            Phase::Ready | Phase::Fenced { .. } => {}
        }
        let member = self.members.get(node).ok_or_else(|| Refused::UnknownNode(node.clone()))?;
        let version = ManifestVersion::new(member.version)
            .map_err(|_| Refused::NotReady("the manifest versions are used up"))?;
        let listed = member.listed.keys().filter_map(|it| Some((it.clone(), self.wire(it, node)?)));
        let listed: Vec<(DeploymentId, Vec<u8>)> = listed.collect();
        let (manifest, bundle) = StateManifest::new(version, &listed);
        let bytes = manifest.to_bytes();
        let documents =
            listed.into_iter().map(|(id, text)| (id, Digest::of(&text), text)).collect();
        Ok(NodeManifest {
            version: member.version,
            etag: Digest::of(&bytes),
            bytes,
            bundle,
            documents,
        })
    }

    /// What a polling node should say again: an answer was lost, or never came.
    pub fn asks(&self, node: &NodeName) -> Asks {
        let holds = self.members.get(node).map_or(0, |it| it.holds);
        let open = |it: &PlacementId| self.placements.get(it).is_some_and(|it| is_open(it, holds));
        let placed = self.placed_on(node).into_iter().filter(open);
        Asks {
            capabilities: self.members.get(node).is_some_and(Member::is_asked_for_capabilities),
            deployments: placed.map(|it| it.deployment).collect(),
        }
    }

    /// The document of a placement as its node is sent it.
    fn wire(&self, deployment: &DeploymentId, node: &NodeName) -> Option<Vec<u8>> {
        let id = PlacementId { deployment: deployment.clone(), node: node.clone() };
        let placement = self.placements.get(&id)?;
        let target = placement.revisions.target.as_ref()?;
        let document = self.deployments.get(deployment)?.document(target)?;
        Some(document.wire(node, placement.attempt_number(), placement.phase))
    }
}

impl Turn<'_> {
    /// Lists the placement's target in its node's manifest.
    pub(super) fn offer(&mut self, placement: &mut Placement) {
        let PlacementId { deployment, node } = placement.id.clone();
        let Some(target) = placement.revisions.target.as_ref() else { return };
        let document = self.site.deployments.get(&deployment).and_then(|it| it.document(target));
        let Some(document) = document else { return };
        let number = placement.attempt_number();
        let wire = Digest::of(&document.wire(&node, number, placement.phase));
        let since = self.raise(&node);
        placement.offer = Offer::Listed { wire, since };
        if let Some(member) = self.site.members.get_mut(&node) {
            member.listed.insert(deployment, wire);
        }
    }

    /// Takes the placement out of its node's manifest.
    pub(super) fn withdraw(&mut self, placement: &mut Placement) {
        let PlacementId { deployment, node } = placement.id.clone();
        let since = match placement.offer {
            Offer::Listed { .. } => self.raise(&node),
            // Offered by an orchestrator before this one, if at all.
            Offer::Never => self.site.members.get(&node).map_or(0, |it| it.version),
            Offer::Withdrawn { .. } => return,
        };
        placement.offer = Offer::Withdrawn { since };
        if let Some(member) = self.site.members.get_mut(&node) {
            member.listed.remove(&deployment);
        }
    }

    /// The version of the node's manifest that this step makes.
    fn raise(&mut self, node: &NodeName) -> u64 {
        let Some(member) = self.site.members.get_mut(node) else { return 0 };
        if self.raised.insert(node.clone()) {
            member.version += 1;
            member.etag = None;
            self.out.changed.members.insert(node.clone());
        }
        member.version
    }

    /// Goes above a version the node has seen and this LO has no memory of.
    pub(super) fn compare_versions(&mut self, node: &NodeName, have: Have) {
        let Some(member) = self.site.members.get(node) else { return };
        let foreign = have.version > member.version
            || (have.version == member.version && self.is_other_content(node, have.etag));
        // Above the last version there is nothing to go to; no orchestrator gave it.
        let above = ManifestVersion::new(have.version).and_then(ManifestVersion::next);
        let Some(above) = above.ok().filter(|_| foreign && self.site.phase == Phase::Ready) else {
            return;
        };
        let Some(member) = self.site.members.get_mut(node) else { return };
        member.version = above.get();
        member.etag = None;
        let version = member.version;
        self.raised.insert(node.clone());
        self.out.changed.members.insert(node.clone());
        self.emit(Actor::Local, Body::VersionRaised { node: node.clone(), version });
        self.lose_attempts(node);
        self.offer_again(node, version);
        self.reclassify_node(node);
    }

    /// The node has no memory: what it said before is older than this manifest.
    pub(super) fn offer_anew(&mut self, node: &NodeName) {
        let version = self.raise(node);
        self.offer_again(node, version);
        self.reclassify_node(node);
    }

    fn is_other_content(&mut self, node: &NodeName, etag: Option<Digest>) -> bool {
        let Some(etag) = etag else { return false };
        let known = self.site.members.get(node).and_then(|it| it.etag);
        let own = known.or_else(|| self.site.manifest(node).ok().map(|it| it.etag));
        if let Some(member) = self.site.members.get_mut(node) {
            member.etag = own;
        }
        own.is_some_and(|it| it != etag)
    }

    /// Reports from before the jump speak of offers nobody remembers.
    fn offer_again(&mut self, node: &NodeName, version: u64) {
        for id in self.site.placed_on(node) {
            let Some(placement) = self.site.placements.get_mut(&id) else { continue };
            match &mut placement.offer {
                Offer::Never => continue,
                Offer::Listed { since, .. } | Offer::Withdrawn { since } => *since = version,
            }
            self.out.changed.placements.insert(id);
        }
    }
}

/// The site waits for a report that the node may not know it owes. A node that
/// joined again and kept its state may hold the very document it is offered
/// (the attempts of a new placement start at 1 again), and then has no news.
/// So the site also asks for a placement without a single report whose node
/// says that it holds the manifest with the offer.
fn is_open(placement: &Placement, holds: u64) -> bool {
    let state = placement.state();
    let offered = placement.offer().since().is_some_and(|it| it <= holds);
    let unheard = state.is_in_flight() && placement.report == 0;
    unheard && offered || matches!(state, State::Unknown(_) | State::Deleting)
}
