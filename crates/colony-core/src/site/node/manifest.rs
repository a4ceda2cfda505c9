//! The manifest of each node: a function of the placements, with a version.
//!
//! Versions only increase: `incarnation · 2^26 + n`. Several changes within one
//! call of `Site::step` share one version, because no node can fetch a manifest
//! in between.
//!
//! The manifest *lists* deployments by digest; the *offer* of a placement is its
//! entry there, and the manifest version since which it exists.

use colony_margo::{Digest, ManifestVersion, StateManifest};

use crate::document::EXTENSION;
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

/// What the site requests from a node in its next response, because it lacks it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportRequests {
    /// The node has to send its capabilities.
    pub capabilities: bool,
    /// Deployments for which a report is missing.
    pub deployments: Vec<DeploymentId>,
}

impl ReportRequests {
    pub fn is_empty(&self) -> bool {
        *self == ReportRequests::default()
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
        let (mut manifest, bundle) = StateManifest::new(version, &listed);
        if !site_node.cleanup.is_empty() {
            manifest.extensions.insert(EXTENSION, site_node.cleanup.to_extension());
        }
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
    pub fn report_requests(&self, node: &NodeName) -> ReportRequests {
        let holds = self.site_nodes.get(node).map_or(0, |it| it.holds);
        let lacking =
            |it: &PlacementId| self.placements.get(it).is_some_and(|it| lacks_report(it, holds));
        let placed = self.placed_on(node).into_iter().filter(lacking);
        ReportRequests {
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
        Some(document.wire(node, placement.attempt_number(), placement.staging.target_side()))
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
        let wire = Digest::of(&document.wire(&node, number, placement.staging.target_side()));
        let since = self.raise_version(&node);
        placement.offer = Offer::Listed { wire, since };
        if let Some(site_node) = self.site.site_nodes.get_mut(&node) {
            site_node.listed.insert(deployment, wire);
        }
    }

    /// Removes the placement from its node's manifest.
    pub(in crate::site) fn withdraw(&mut self, placement: &mut Placement) {
        let PlacementId { deployment, node } = placement.id.clone();
        let since = match placement.offer {
            Offer::Listed { .. } => self.raise_version(&node),
            // Offered by an earlier local orchestrator, if at all.
            Offer::Never => self.site.site_nodes.get(&node).map_or(0, |it| it.version),
            Offer::Withdrawn { .. } => return,
        };
        placement.offer = Offer::Withdrawn { since };
        if let Some(site_node) = self.site.site_nodes.get_mut(&node) {
            site_node.listed.remove(&deployment);
        }
    }

    /// Raises the version of the node's manifest, once per call of `Site::step`, and
    /// returns it.
    pub(in crate::site) fn raise_version(&mut self, node: &NodeName) -> u64 {
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
        let is_unknown = have.version > site_node.version
            || (have.version == site_node.version && self.is_other_content(node, have.etag));
        // No version follows the highest one, which no orchestrator issues.
        let next = ManifestVersion::new(have.version).and_then(ManifestVersion::next);
        let Some(next) = next.ok().filter(|_| is_unknown && self.site.phase == Phase::Ready) else {
            return;
        };
        let Some(site_node) = self.site.site_nodes.get_mut(node) else { return };
        site_node.version = next.get();
        site_node.etag = None;
        let version = site_node.version;
        self.raised.insert(node.clone());
        self.out.changed.site_nodes.insert(node.clone());
        self.emit(Actor::Local, Body::VersionRaised { node: node.clone(), version });
        self.lose_attempts(node);
        self.move_offers_to(node, version);
        self.update_index_of_node(node);
    }

    /// Raises the manifest version for a node that lost its state, and moves all
    /// offers to it: earlier reports become stale.
    pub(in crate::site) fn void_earlier_reports(&mut self, node: &NodeName) {
        let version = self.raise_version(node);
        self.move_offers_to(node, version);
        self.update_index_of_node(node);
    }

    /// The node has another content under the current version than this
    /// orchestrator would send.
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
    fn move_offers_to(&mut self, node: &NodeName, version: u64) {
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
fn lacks_report(placement: &Placement, holds: u64) -> bool {
    let state = placement.state();
    let offered = placement.offer().since().is_some_and(|it| it <= holds);
    let unheard = state.is_in_progress() && placement.report == 0;
    unheard && offered || matches!(state, State::Unknown(_) | State::Deleting)
}
