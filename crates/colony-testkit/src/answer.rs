//! Which answers of `why` are too vague, and which deployments need an answer.

use colony_core::site::{Deployment, Site};

/// Phrases of answers that contain no information.
const VAGUE: [&str; 3] = ["never reported", "waits to install nothing", "0 of 0"];

/// The answer contains no information.
pub fn is_vague(text: &str) -> bool {
    text.is_empty() || VAGUE.iter().any(|it| text.contains(it))
}

/// Some placement of the deployment is not in a final state.
pub fn is_open(site: &Site, deployment: &Deployment) -> bool {
    let mut own = site.placements().filter(|it| it.id.deployment == deployment.id);
    own.any(|it| !it.state().is_final())
}
