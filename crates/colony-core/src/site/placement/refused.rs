//! Revisions that a device refuses, because device and revision do not fit.
//!
//! Such a failure does not count against the revision, and waiting does not
//! help. It is retried when the device or the deployment changes. Until then
//! the node takes no slot and does not block other nodes.

use crate::code::Class;
use crate::id::{NodeName, PlacementId};
use crate::site::step_context::StepContext;
use crate::site::{Placement, Site};
use crate::state::{Op, State};

impl Placement {
    /// The device has refused the target and has not changed since.
    pub fn is_refused(&self) -> bool {
        let failed = matches!(self.state(), State::Failed(op) if op != Op::Delete);
        failed && self.retry_at.is_none() && self.refuses()
    }

    fn refuses(&self) -> bool {
        self.failure.as_ref().is_some_and(|it| it.code.class() == Class::Device)
    }
}

impl Site {
    /// By its known capabilities, the device would refuse another try as well.
    /// If they allow the target, the capabilities at the site or at the device
    /// may only be out of date, and a retry can help.
    pub(in crate::site) fn is_beyond_retry(&self, id: &PlacementId) -> bool {
        let Some(placement) = self.placements.get(id).filter(|it| it.refuses()) else {
            return false;
        };
        let deployment = self.deployments.get(&id.deployment);
        let target = placement.revisions.target.as_ref();
        let document = deployment.zip(target).and_then(|(it, target)| it.document(target));
        let device = self.site_nodes.get(&id.node).and_then(|it| it.capabilities());
        let pair = document.zip(device);
        pair.is_some_and(|(it, device)| it.spec.spec.profile.accepted_by(device).is_err())
    }
}

impl StepContext<'_> {
    /// Retries refused placements after the capabilities of the device changed.
    pub(in crate::site) fn ask_refusing(&mut self, node: &NodeName) {
        for id in self.site.placed_on(node) {
            if self.site.placements.get(&id).is_some_and(Placement::is_refused) {
                self.make_due(&id);
            }
        }
    }

    /// Makes the next try of a failed placement due at once.
    pub(in crate::site) fn make_due(&mut self, id: &PlacementId) {
        let Some(mut placement) = self.site.placements.remove(id) else { return };
        self.disarm_timers(&placement);
        placement.retry_at = Some(self.now.mono);
        self.arm_timers(&placement);
        self.out.changed.placements.insert(id.clone());
        self.site.placements.insert(id.clone(), placement);
    }
}
