//! What a device will not run: no fault of the revision, and none that time
//! mends. It is tried again when the device or the deployment changes; until
//! then the node takes no slot and holds nobody up.

use crate::code::Class;
use crate::id::{NodeName, PlacementId};
use crate::site::turn::Turn;
use crate::site::{Placement, Site};
use crate::state::{Op, State};

impl Placement {
    /// The device has refused the target and is as it was.
    pub fn is_refused(&self) -> bool {
        let failed = matches!(self.state(), State::Failed(op) if op != Op::Delete);
        failed && self.retry_at.is_none() && self.refuses()
    }

    fn refuses(&self) -> bool {
        self.failure.as_ref().is_some_and(|it| it.code.class() == Class::Device)
    }
}

impl Site {
    /// By all that is known of the device another try would be refused, too.
    /// Where it should not have been, the two pictures may only be late.
    pub(super) fn is_beyond_retry(&self, id: &PlacementId) -> bool {
        let Some(placement) = self.placements.get(id).filter(|it| it.refuses()) else {
            return false;
        };
        let deployment = self.deployments.get(&id.deployment);
        let target = placement.revisions.target.as_ref();
        let document = deployment.zip(target).and_then(|(it, target)| it.document(target));
        let device = self.members.get(&id.node).and_then(|it| it.capabilities());
        let pair = document.zip(device);
        pair.is_some_and(|(it, device)| it.spec.spec.profile.accepted_by(device).is_err())
    }
}

impl Turn<'_> {
    /// The device is another now: what it refused may fit.
    pub(super) fn ask_refusing(&mut self, node: &NodeName) {
        for id in self.site.placed_on(node) {
            if self.site.placements.get(&id).is_some_and(Placement::is_refused) {
                self.make_due(&id);
            }
        }
    }

    /// The next try of what has failed is due at once.
    pub(super) fn make_due(&mut self, id: &PlacementId) {
        let Some(mut placement) = self.site.placements.remove(id) else { return };
        self.disarm(&placement);
        placement.retry_at = Some(self.now.mono);
        self.arm(&placement);
        self.out.changed.placements.insert(id.clone());
        self.site.placements.insert(id.clone(), placement);
    }
}
