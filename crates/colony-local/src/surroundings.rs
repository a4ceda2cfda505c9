//! The outside of the site as its answers need it: lines and nodes.

use colony_core::site::Site;
use colony_core::why::Surroundings;

use crate::health::Health;
use crate::vitals::Vitals;

pub(crate) fn surroundings(site: &Site, health: &Health, vitals: &Vitals) -> Surroundings {
    let (central, git) = health.outages();
    Surroundings { unready: vitals.unready(site), central, git }
}
