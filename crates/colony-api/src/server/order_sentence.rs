//! The effect of an order in a sentence.

use colony_core::event::HoldScope;
use colony_core::id::{DeploymentName, SiteName};
use colony_core::site::Action;

/// The effect of an order at `site`, about `deployment` or the site itself.
pub(super) fn sentence(
    action: &Action,
    site: &SiteName,
    deployment: Option<&DeploymentName>,
) -> String {
    let name = deployment.map_or("it", DeploymentName::as_str);
    match action {
        Action::Hold { scope: HoldScope::Site, .. } => format!("site {site} is on hold"),
        Action::Hold { scope: HoldScope::Deployment(_), .. } => format!("{name} is on hold"),
        Action::ReleaseHold { scope: HoldScope::Site } => format!("site {site} goes on"),
        Action::ReleaseHold { scope: HoldScope::Deployment(_) } | Action::Resume { .. } => {
            format!("{name} goes on")
        }
        Action::ReleaseRemoval => format!("the removal held at site {site} goes on"),
        Action::AcceptHistory { commit } => {
            format!("site {site} accepts the rewritten history at {}", commit.short())
        }
        Action::ReleaseQuarantine { .. } => {
            format!("the quarantined versions of {name} may be tried again")
        }
        Action::Retry { node: None, .. } => format!("{name} is tried again where it failed"),
        Action::Retry { node: Some(node), .. } => {
            format!("{name} is tried again on node {site}/{node}")
        }
        Action::Promote { .. } => format!("{name} opens the next step of its rollout"),
        Action::Pause { .. } => format!("{name} starts nothing more until it is resumed"),
        Action::Rollback { .. } | Action::Abort { .. } => {
            format!("{name} is rolled back to the previous revision")
        }
        Action::Force { .. } => format!("the removal of {name} waits for no confirmation"),
        Action::Cordon { node } => format!("node {site}/{node} gets no new deployments"),
        Action::Uncordon { node } => format!("node {site}/{node} gets deployments again"),
        Action::Retire { node } => format!(
            "node {site}/{node} is given up for good; its containers keep running on the \
             machine, unmanaged, until they are removed there or the machine joins the site again"
        ),
    }
}
