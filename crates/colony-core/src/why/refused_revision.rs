//! Revisions that are refused: at the whole site, or on one node.

use colony_margo::Digest;

use crate::id::NodeName;
use crate::site::view::Rejected;
use crate::site::{Deployment, Placement, Quarantine};
use crate::why::placement::Case;
use crate::why::story::version;
use crate::why::{Cause, VerdictCause};

impl Case<'_> {
    /// The revision in Git is refused, on this node or at the whole site.
    pub(super) fn bad(&self) -> Option<Cause> {
        let accepted = self.deployment.accepted().workload;
        self.quarantined(accepted).or_else(|| self.rejected_here())
    }

    pub(super) fn quarantined(&self, workload: Digest) -> Option<Cause> {
        let entry = self.deployment.quarantine().get(&workload)?;
        Some(quarantined(self.deployment, entry))
    }

    pub(super) fn rejected_here(&self) -> Option<Cause> {
        let node = &self.placement.id.node;
        let found = self.deployment.rejected_on(node)?;
        Some(rejected(self.deployment, node, found, Some(self.placement)))
    }
}

/// The cause for a quarantine; `runs` is the revision in effect.
pub(super) fn quarantined(deployment: &Deployment, entry: &Quarantine) -> Cause {
    let good = deployment.effective().filter(|it| it.workload != entry.revision.workload);
    Cause::Verdict(VerdictCause::Quarantined {
        version: version(deployment, &entry.revision),
        workload: entry.revision.workload,
        node: entry.node.clone(),
        failure: entry.failure.clone(),
        since: entry.since,
        runs: good.map(|it| version(deployment, it)),
        in_git: deployment.accepted().workload == entry.revision.workload,
    })
}

pub(super) fn rejected(
    deployment: &Deployment,
    node: &NodeName,
    found: &Rejected,
    placement: Option<&Placement>,
) -> Cause {
    let good = placement.and_then(|it| it.revisions.last_good.as_ref());
    let good = good.filter(|it| it.workload != found.workload);
    Cause::Verdict(VerdictCause::RejectedHere {
        version: version(deployment, deployment.accepted()),
        workload: found.workload,
        node: node.clone(),
        failure: found.failure.clone(),
        runs: good.map(|it| version(deployment, it)),
    })
}
