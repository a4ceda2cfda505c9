//! The manifest of each node: a function of the placements, with a version.
//!
//! Versions only increase: `incarnation · 2^26 + n`. Several changes within one
//! step share one version, because no node can fetch a manifest in between.

use colony_margo::{Digest, ManifestVersion, StateManifest};

use crate::event::{Actor, Body};
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::site::step_context::StepContext;
use crate::site::{Have, Offer, Phase, Placement, Refused, Site, SiteNode};
use crate::state::State;

/// Everything a node may fetch.
#[derive(Debug, Clone)]
pub struct NodeManifest {
    pub version: u64,
    /// The exact body; `etag` is its digest.
    pub bytes: Vec<u8>,
    pub etag: Digest,
    pub bundle: Option<Vec<u8>>,
    pub documents: Vec<(DeploymentId, Digest, Vec<u8>)>,
}

/// The reports that the site lacks and requests in its next response to a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asks {
    pub capabilities: bool,
    /// Deployments for which a report is missing.
    pub deployments: Vec<DeploymentId>,
}

impl Asks {
    pub fn is_empty(&self) -> bool {
        *self == Asks::default()
    }
}

impl Site {
    /// The manifest of `node`; refused until the site knows what should run.
    pub fn manifest(&self, node: &NodeName) -> Result<NodeManifest, Refused> {
        match self.phase {
            Phase::Unseeded => return Err(Refused::NotReady("what runs here is not known yet")),
            Phase::Seeded => return Err(Refused::NotReady("Git is not read yet")),
            Phase::Fenced { .. } if self.git.revision.is_none() => {
                return Err(Refused::NotReady("Git is not read yet"));
            }
            Phase::Ready | Phase::Fenced { .. } => {}
        }
        let site_node =
            self.site_nodes.get(node).ok_or_else(|| Refused::UnknownNode(node.clone()))?;
        let version = ManifestVersion::new(site_node.version)
            .map_err(|_| Refused::NotReady("the manifest versions are used up"))?;
        let listed =
            site_node.listed.keys().filter_map(|it| Some((it.clone(), self.wire(it, node)?)));
        let listed: Vec<(DeploymentId, Vec<u8>)> = listed.collect();
        let (manifest, bundle) = StateManifest::new(version, &listed);
        let bytes = manifest.to_bytes();
        let documents =
            listed.into_iter().map(|(id, text)| (id, Digest::of(&text), text)).collect();
        Ok(NodeManifest {
            version: site_node.version,
            etag: Digest::of(&bytes),
            bytes,
            bundle,
            documents,
        })
    }

    /// What a polling node should report again, because a report was lost or
    /// never sent.
    pub fn asks(&self, node: &NodeName) -> Asks {
        let holds = self.site_nodes.get(node).map_or(0, |it| it.holds);
        let open = |it: &PlacementId| self.placements.get(it).is_some_and(|it| is_open(it, holds));
        let placed = self.placed_on(node).into_iter().filter(open);
        Asks {
            capabilities: self
                .site_nodes
                .get(node)
                .is_some_and(SiteNode::is_asked_for_capabilities),
            deployments: placed.map(|it| it.deployment).collect(),
        }
    }

    /// The document of a placement as it is sent to its node.
    fn wire(&self, deployment: &DeploymentId, node: &NodeName) -> Option<Vec<u8>> {
        let id = PlacementId { deployment: deployment.clone(), node: node.clone() };
        let placement = self.placements.get(&id)?;
        let target = placement.revisions.target.as_ref()?;
        let document = self.deployments.get(deployment)?.document(target)?;
        Some(document.wire(node, placement.attempt_number(), placement.staging.wire_phase()))
    }
}

impl StepContext<'_> {
    /// Lists the placement's target in its node's manifest.
    pub(in crate::site) fn offer(&mut self, placement: &mut Placement) {
        let PlacementId { deployment, node } = placement.id.clone();
        let Some(target) = placement.revisions.target.as_ref() else { return };
        let document = self.site.deployments.get(&deployment).and_then(|it| it.document(target));
        let Some(document) = document else { return };
        let number = placement.attempt_number();
        let wire = Digest::of(&document.wire(&node, number, placement.staging.wire_phase()));
        let since = self.raise(&node);
        placement.offer = Offer::Listed { wire, since };
        if let Some(site_node) = self.site.site_nodes.get_mut(&node) {
            site_node.listed.insert(deployment, wire);
        }
    }

    /// Removes the placement from its node's manifest.
    pub(in crate::site) fn withdraw(&mut self, placement: &mut Placement) {
        let PlacementId { deployment, node } = placement.id.clone();
        let since = match placement.offer {
            Offer::Listed { .. } => self.raise(&node),
            // Offered by an earlier local orchestrator, if at all.
            Offer::Never => self.site.site_nodes.get(&node).map_or(0, |it| it.version),
            Offer::Withdrawn { .. } => return,
        };
        placement.offer = Offer::Withdrawn { since };
        if let Some(site_node) = self.site.site_nodes.get_mut(&node) {
            site_node.listed.remove(&deployment);
        }
    }

    /// Raises the version of the node's manifest, once per step, and returns
    /// it.
    fn raise(&mut self, node: &NodeName) -> u64 {
        let Some(site_node) = self.site.site_nodes.get_mut(node) else { return 0 };
        if self.raised.insert(node.clone()) {
            site_node.version += 1;
            site_node.etag = None;
            self.out.changed.site_nodes.insert(node.clone());
        }
        site_node.version
    }

    /// Raises the manifest version if the node holds one that this local
    /// orchestrator does not know: a higher version, or other content under the
    /// same version. The node would refuse any manifest that is not above it.
    pub(in crate::site) fn compare_versions(&mut self, node: &NodeName, have: Have) {
        let Some(site_node) = self.site.site_nodes.get(node) else { return };
        let foreign = have.version > site_node.version
            || (have.version == site_node.version && self.is_other_content(node, have.etag));
        // No version follows the last one, which no orchestrator issues.
        let above = ManifestVersion::new(have.version).and_then(ManifestVersion::next);
        let Some(above) = above.ok().filter(|_| foreign && self.site.phase == Phase::Ready) else {
            return;
        };
        let Some(site_node) = self.site.site_nodes.get_mut(node) else { return };
        site_node.version = above.get();
        site_node.etag = None;
        let version = site_node.version;
        self.raised.insert(node.clone());
        self.out.changed.site_nodes.insert(node.clone());
        self.emit(Actor::Local, Body::VersionRaised { node: node.clone(), version });
        self.lose_attempts(node);
        self.offer_again(node, version);
        self.reclassify_node(node);
    }

    /// Raises the manifest version for a node that lost its state: its earlier
    /// reports become stale.
    pub(in crate::site) fn offer_anew(&mut self, node: &NodeName) {
        let version = self.raise(node);
        self.offer_again(node, version);
        self.reclassify_node(node);
    }

    fn is_other_content(&mut self, node: &NodeName, etag: Option<Digest>) -> bool {
        let Some(etag) = etag else { return false };
        let known = self.site.site_nodes.get(node).and_then(|it| it.etag);
        let own = known.or_else(|| self.site.manifest(node).ok().map(|it| it.etag));
        if let Some(site_node) = self.site.site_nodes.get_mut(node) {
            site_node.etag = own;
        }
        own.is_some_and(|it| it != etag)
    }

    /// Moves the offers to `version`: reports from before it refer to offers
    /// that are no longer known.
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

/// The site waits for a report that the node may have no reason to send. A node
/// that joined again and kept its state may already hold the document it is
/// offered, because the attempts of a recreated placement start at 1 again. So
/// the site also requests a report for a placement that has none, once the node
/// reports to hold the manifest with the offer.
fn is_open(placement: &Placement, holds: u64) -> bool {
    let state = placement.state();
    let offered = placement.offer().since().is_some_and(|it| it <= holds);
    let unheard = state.is_in_progress() && placement.report == 0;
    unheard && offered || matches!(state, State::Unknown(_) | State::Deleting)
}
