//! What counts as an answer of `why`, and what needs one.

use colony_core::fleet::Standing;
use colony_core::site::{Deployment, Site};
use colony_core::state::State;

/// What is said where nothing is known.
const VAGUE: [&str; 3] = ["never reported", "waits to install nothing", "0 of 0"];

/// The answer says no more than that nobody knows.
pub fn is_vague(text: &str) -> bool {
    text.is_empty() || VAGUE.iter().any(|it| text.contains(it))
}

/// Something of the deployment is not where it stays.
pub fn is_open(site: &Site, deployment: &Deployment) -> bool {
    let mut own = site.placements().filter(|it| it.id.deployment == deployment.id);
    own.any(|it| !it.state().is_final())
}

/// The centre need not say why.
pub fn is_over(standing: Standing) -> bool {
    match standing {
        Standing::Gone | Standing::RolledBack | Standing::Placed(State::Installed) => true,
        Standing::Pending
        | Standing::Conflict
        | Standing::Refused
        | Standing::InProgress
        | Standing::Placed(_) => false,
    }
}
