//! The whole fleet at a glance.

use colony_core::fleet::{Fleet, PlacementView, Share, Target};
use colony_core::id::{DeploymentName, GitRevision, SiteName};
use colony_core::state::State;

use super::attention::attention;
use super::{Context, Page, deployments, sites};
use crate::view::{DeploymentSummary, DeploymentView, Role, StatusView};

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
        deployments: deployments.iter().map(|it| summary(fleet, it)).collect(),
        attention: attention(fleet, context),
    }
}

fn summary(fleet: &Fleet, view: &DeploymentView) -> DeploymentSummary {
    DeploymentSummary {
        name: view.name.clone(),
        application: view.application.clone(),
        version: view.version.clone(),
        outcome: view.outcome,
        sentence: view.sentence.clone(),
        sites: view.sites.len() as u64,
        installed: view.sites.iter().map(|it| current(fleet, &it.site, &view.name)).sum(),
        placements: view.sites.iter().map(|it| it.placements.len() as u64).sum(),
    }
}

/// How many nodes of a site run what Git wants there.
fn current(fleet: &Fleet, site: &SiteName, name: &DeploymentName) -> u64 {
    let Some(view) = fleet.site(site) else { return 0 };
    if let Some(Target::Planned { .. } | Target::Committed { .. }) = view.targets.get(name) {
        return 0;
    }
    let placements = view.deployments_named(name).flat_map(|it| view.placements_of(&it.id));
    let is_current =
        |it: &&PlacementView| it.state == State::Installed && view.share(it) == Share::Installed;
    placements.filter(is_current).count() as u64
}
