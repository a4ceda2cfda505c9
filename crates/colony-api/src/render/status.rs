//! An overview of the whole fleet.

use colony_core::fleet::Fleet;
use colony_core::id::GitRevision;

use super::attention::attention;
use super::{Context, Page, deployments, sites};
use crate::view::{DeploymentSummary, DeploymentView, Role, StatusView};

/// The orchestrator that renders the status.
#[derive(Debug, Clone)]
pub struct About {
    pub role: Role,
    /// The version of its program.
    pub version: String,
    pub url: String,
    pub ready: bool,
    pub reasons: Vec<String>,
    pub commit: Option<GitRevision>,
}

/// The view behind `colony status`.
pub fn status(fleet: &Fleet, about: About, context: &Context<'_>) -> StatusView {
    let deployments = deployments(fleet, None, Page::ALL, context);
    StatusView {
        role: about.role,
        version: about.version,
        url: about.url,
        ready: about.ready,
        reasons: about.reasons,
        commit: about.commit,
        at: context.now,
        sites: sites(fleet, Page::ALL, context),
        deployments: deployments.iter().map(summary).collect(),
        attention: attention(fleet, context),
    }
}

fn summary(view: &DeploymentView) -> DeploymentSummary {
    DeploymentSummary {
        name: view.name.clone(),
        application: view.application.clone(),
        version: view.version.clone(),
        outcome: view.outcome,
        sentence: view.sentence.clone(),
        sites: view.sites.iter().filter(|it| !it.is_gone()).count() as u64,
        installed: view.sites.iter().map(|it| it.installed).sum(),
        placements: view.sites.iter().map(|it| it.placements.len() as u64).sum(),
    }
}
