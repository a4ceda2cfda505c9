//! Operators, through CO or at the site.

use colony_core::event::HoldScope;
use colony_core::id::DeploymentId;
use colony_core::site::{Action, Command, Input};
use colony_core::state::State;
use colony_world::{CentralShell, LocalShell};

use crate::world::World;

impl World {
    pub(super) fn operate(&mut self) {
        let (site, node) = (self.any_site(), self.any_node());
        let (_, deployment) = self.any_app(site);
        let name = self.roles.nodes[node].name.clone();
        let note = "audit".to_owned();
        let node = self.rng.chance(50).then(|| name.clone());
        let action = match self.rng.range(0..19) {
            0 => Action::Hold { scope: HoldScope::Site, note },
            1 => Action::Hold { scope: HoldScope::Deployment(deployment), note },
            2..4 => Action::ReleaseHold { scope: HoldScope::Site },
            4 => Action::ReleaseHold { scope: HoldScope::Deployment(deployment) },
            5..7 => Action::ReleaseQuarantine { deployment },
            7 => Action::Retry { deployment, node },
            8..10 => Action::Rollback { deployment },
            10 => {
                Action::Force { deployment: self.leaving(site).unwrap_or(deployment), node: None }
            }
            11 => Action::Cordon { node: name },
            12 => Action::Uncordon { node: name },
            13 => return self.retire(),
            14..18 => self.steering(deployment),
            _ => Action::ReleaseRemoval,
        };
        self.note(|w| format!("operator at {}: {action:?}", w.roles.sites[site].name));
        if self.rng.chance(50) {
            self.central_command(site, action);
        } else if self.roles.sites[site].process.up {
            self.local_command(site, action);
        }
    }

    /// A deployment in removal that an operator may force.
    fn leaving(&self, site: usize) -> Option<DeploymentId> {
        let mut all = self.roles.sites[site].core.placements();
        all.find(|it| it.state() == State::Deleting).map(|it| it.id.deployment.clone())
    }

    /// An operator retires a device, with a command at the site.
    fn retire(&mut self) {
        let node = self.any_node();
        let (site, name) = (self.roles.nodes[node].site, self.roles.nodes[node].name.clone());
        let alone = self.roles.nodes.iter().filter(|it| !it.retired).count() < 3;
        if alone || site >= self.founded || !self.roles.sites[site].process.up {
            return;
        }
        self.note(|w| format!("{name} is scrapped at {}", w.roles.sites[site].name));
        self.local_command(site, Action::Retire { node: name.clone() });
        if self.roles.sites[site].process.up
            && self.roles.sites[site].core.site_node(&name).is_none()
        {
            self.roles.nodes[node].process.die();
            self.roles.nodes[node].wipe();
            self.roles.nodes[node].retired = true;
            self.checker.retired(node);
        }
    }

    pub(crate) fn local_command(&mut self, site: usize, action: Action) {
        let command = Command { number: None, by: "ana".to_owned(), expires: None, action };
        self.local_step(site, Input::Command(command));
    }
}
