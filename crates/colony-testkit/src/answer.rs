//! What counts as an answer of `why`, and what needs one.

use colony_core::site::{Deployment, Site};

/// What is said where nothing is known.
const VAGUE: [&str; 3] = ["never reported", "waits to install nothing", "0 of 0"];

/// The answer says no more than that nothing is known.
pub fn is_vague(text: &str) -> bool {
    text.is_empty() || VAGUE.iter().any(|it| text.contains(it))
}

/// Something of the deployment is not where it stays.
pub fn is_open(site: &Site, deployment: &Deployment) -> bool {
    let mut own = site.placements().filter(|it| it.id.deployment == deployment.id);
    own.any(|it| !it.state().is_final())
}
