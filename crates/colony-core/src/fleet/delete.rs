//! Whether an operator may delete a deployment everywhere.

use crate::fleet::Fleet;
use crate::id::{DeploymentName, NodeName, SiteName};
use crate::state::State;
use crate::transition::{Facts, Guard, Reason, Refusal, Trigger, transition};

impl Fleet {
    /// Asks the table for every placement of the deployment; what is leaving
    /// already needs nobody's leave.
    pub fn delete_check(
        &self,
        deployment: &DeploymentName,
        force: bool,
    ) -> Result<(), Vec<(SiteName, NodeName, Refusal)>> {
        let mut refusals = Vec::new();
        for (site, view) in self.sites_of(deployment) {
            let ids = view.deployments_named(deployment).map(|it| &it.id);
            for placement in ids.flat_map(|it| view.placements_of(it)) {
                if let Err(refusal) = removal(placement.state, force) {
                    refusals.push((site.clone(), placement.id.node.clone(), refusal));
                }
            }
        }
        if refusals.is_empty() { Ok(()) } else { Err(refusals) }
    }
}

fn removal(state: State, force: bool) -> Result<(), Refusal> {
    if state == State::Deleting {
        return Ok(());
    }
    transition(Some(state), Trigger::Remove, &Asked { state, force }).map(|_| ())
}

/// What an operator at CO can answer for. A hold delays the removal at the
/// site, it does not forbid to ask for it.
struct Asked {
    state: State,
    force: bool,
}

impl Facts for Asked {
    fn check(&self, guard: Guard) -> Result<(), Reason> {
        let unknown = matches!(self.state, State::Unknown(_));
        if guard == Guard::ForcedIfUnknown && unknown && !self.force {
            return Err(Reason::UnknownNeedsForce);
        }
        Ok(())
    }
}
