//! The whole fleet at a glance.

use colony_core::fleet::Fleet;
use colony_core::id::GitRevision;
use colony_core::state::State;

use super::attention::attention;
use super::{Context, deployments, sites};
use crate::view::{
    DeploymentSite, DeploymentSummary, DeploymentView, PlacementView, Role, StatusView,
};

/// The orchestrator that answers.
#[derive(Debug, Clone)]
pub struct About {
    pub role: Role,
    /// Of its program.
    pub version: String,
    pub url: String,
    pub ready: bool,
    pub reasons: Vec<String>,
    pub commit: Option<GitRevision>,
}

/// What `colony status` shows.
pub fn status(fleet: &Fleet, about: About, context: &Context<'_>) -> StatusView {
    let deployments = deployments(fleet, context);
    StatusView {
        role: about.role,
        version: about.version,
        url: about.url,
        ready: about.ready,
        reasons: about.reasons,
        commit: about.commit,
        at: context.now,
        sites: sites(fleet, context),
        deployments: deployments.iter().map(summary).collect(),
        attention: attention(fleet, context),
    }
}

fn summary(view: &DeploymentView) -> DeploymentSummary {
    let placements =
        || view.sites.iter().flat_map(|site| site.placements.iter().map(move |it| (site, it)));
    DeploymentSummary {
        name: view.name.clone(),
        application: view.application.clone(),
        version: view.version.clone(),
        outcome: view.outcome,
        sentence: view.sentence.clone(),
        sites: view.sites.len() as u64,
        installed: placements().filter(|it| is_current(it.0, it.1)).count() as u64,
        placements: placements().count() as u64,
    }
}

/// It runs, and it runs what Git wants there.
fn is_current(site: &DeploymentSite, placement: &PlacementView) -> bool {
    placement.state == State::Installed && placement.version == site.version
}
