//! The seed: the state of a site for the orchestrator that takes it over.

use crate::attempt::Revision;
use crate::fleet::RolloutView;
use crate::fleet::view::{DeploymentView, NodeView, PlacementView};
use crate::fleet::{Fleet, SiteView, UnknownSite};
use crate::id::{BlobId, DeploymentId, DeploymentName, NodeName, SiteName};
use crate::site::{Seed, SeedDeployment, SeedNode, SeedPlacement};

/// A seed, and the deployments that could not be part of it.
#[derive(Debug, Clone)]
pub struct Seeded {
    pub seed: Seed,
    pub left_out: Vec<LeftOut>,
}

/// A deployment that is not part of the seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub deployment: DeploymentId,
    /// `None` if the site never reported that it accepted the deployment.
    pub name: Option<DeploymentName>,
    /// The blobs that Git does not have.
    pub missing: Vec<BlobId>,
}

impl Fleet {
    /// Builds the seed of `site`; `texts` finds a file's content in Git.
    pub fn seed(
        &self,
        site: &SiteName,
        texts: impl Fn(&BlobId) -> Option<String>,
    ) -> Result<Seeded, UnknownSite> {
        let view = self.sites.get(site).ok_or_else(|| UnknownSite(site.clone()))?;
        let mut seed = view.seed_frame();
        let mut left_out = Vec::new();
        for deployment in view.deployments.values() {
            match view.seed_deployment(deployment, &texts) {
                Ok(it) => {
                    seed.deployments.push(it);
                    seed.placements.extend(view.placements_of(&deployment.id).map(seed_placement));
                }
                Err(it) => left_out.push(it),
            }
        }
        left_out.extend(view.orphans());
        Ok(Seeded { seed, left_out })
    }
}

impl SiteView {
    fn seed_frame(&self) -> Seed {
        let node = |(name, node): (&NodeName, &NodeView)| SeedNode {
            name: name.clone(),
            cordoned: node.cordoned,
            capabilities: node.capabilities.clone(),
            since: Some(node.since),
        };
        Seed {
            nodes: self.nodes.iter().map(node).collect(),
            holds: self.holds.holds.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
            commands_done: self.head.commands_done,
            ..Seed::default()
        }
    }

    fn seed_deployment(
        &self,
        deployment: &DeploymentView,
        texts: &impl Fn(&BlobId) -> Option<String>,
    ) -> Result<SeedDeployment, LeftOut> {
        let placed = self.placements_of(&deployment.id).flat_map(|it| it.revisions.iter());
        let own = std::iter::once(&deployment.accepted).chain(&deployment.last_converged);
        let mut blobs: Vec<BlobId> = own.chain(placed).map(blob).collect();
        blobs.sort();
        blobs.dedup();
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for blob in blobs {
            match texts(&blob) {
                Some(text) => found.push((blob, text)),
                None => missing.push(blob),
            }
        }
        let (id, name) = (deployment.id.clone(), deployment.name.clone());
        if !missing.is_empty() {
            return Err(LeftOut { deployment: id, name: Some(name), missing });
        }
        Ok(SeedDeployment {
            id,
            name,
            accepted: deployment.accepted.clone(),
            last_converged: deployment.last_converged.clone(),
            withdrawn: deployment.withdrawn,
            quarantine: deployment.quarantine.values().cloned().collect(),
            rejected: deployment.rejected.clone(),
            stopped: deployment.stopped.clone(),
            rollout: deployment.rollout.as_ref().map(RolloutView::seed).unwrap_or_default(),
            rolled_back: deployment.rolled_back.clone(),
            since: Some(deployment.since),
            commit: deployment.commit.clone(),
            texts: found,
        })
    }

    /// Placements of deployments that the site never reported as accepted.
    fn orphans(&self) -> impl Iterator<Item = LeftOut> {
        let orphans = self.placements.keys().filter(|it| !self.deployments.contains_key(it));
        orphans.map(|it| LeftOut { deployment: it.clone(), name: None, missing: Vec::new() })
    }
}

fn blob(revision: &Revision) -> BlobId {
    revision.blob.clone()
}

fn seed_placement(placement: &PlacementView) -> SeedPlacement {
    SeedPlacement {
        id: placement.id.clone(),
        state: placement.state,
        attempt: placement.attempt,
        revisions: placement.revisions.clone(),
        failure: placement.failure.clone(),
        staged: placement.staged,
        since: Some(placement.since),
    }
}
