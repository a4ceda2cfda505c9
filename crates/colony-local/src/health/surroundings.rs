//! The state outside the site that its answers depend on: outages of central
//! and Git, and nodes that are not ready.

use colony_core::site::Site;
use colony_core::why::Surroundings;

use crate::health::Health;
use crate::health::vitals::Vitals;

pub(crate) fn surroundings(site: &Site, health: &Health, vitals: &Vitals) -> Surroundings {
    let (central, git) = health.outages();
    Surroundings { unready: vitals.unready(site), central, git }
}
