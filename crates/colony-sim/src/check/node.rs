//! The invariants of a node: manifest versions only increase, and healthy
//! wanted workloads keep running.

use colony_core::node;
use colony_core::purge::mark_path;
use colony_core::site::NodeManifest;

use crate::world::World;

impl World {
    /// Checks a manifest that is about to be sent.
    pub(crate) fn check_manifest(&mut self, site: usize, node: usize, manifest: &NodeManifest) {
        let new = (manifest.version, manifest.etag);
        if let Some(old) = self.checker.served.insert((site, node), new) {
            let name = self.roles.nodes[node].name.clone();
            if new.0 < old.0 {
                self.violate(format!("{name} was served version {} after {}", new.0, old.0));
            } else if new.0 == old.0 && new.1 != old.1 {
                self.violate(format!("{name} was served two manifests with version {}", new.0));
            }
        }
    }

    /// Checks the rows that a node has just persisted and the actions it is
    /// about to start.
    pub(crate) fn check_node(&mut self, node: usize, step: &node::Step) {
        self.steps += 1;
        let device = &self.roles.nodes[node];
        let name = device.name.clone();
        let version = device.core.version().map_or(0, |it| it.get());
        let before = self.checker.accepted.insert(node, version).unwrap_or(0);
        if version < before {
            self.violate(format!("{name} went back from version {before} to {version}"));
        }
        for action in &step.actions {
            self.note(|_| format!("EN {name} {action:?}"));
            self.check_action(node, action);
            self.check_purge(node, action);
            self.check_stage(node, action);
        }
    }

    /// Volumes are removed only if Git says so.
    fn check_purge(&mut self, node: usize, action: &node::Action) {
        let node::Action::Remove { deployment, purge: true, .. } = action else { return };
        let device = &self.roles.nodes[node];
        let sites = self.roles.sites.iter().map(|it| mark_path(&it.name, deployment));
        if !sites.into_iter().any(|it| self.roles.git.has_ever_had(&it)) {
            let name = device.name.clone();
            self.violate(format!("{name} purges {deployment}, which Git does not say"));
        }
    }

    /// A wanted deployment is not removed.
    fn check_action(&mut self, node: usize, action: &node::Action) {
        let device = &self.roles.nodes[node];
        let needless = match action {
            node::Action::Remove { deployment, .. } => {
                device.core.wanted().contains_key(deployment)
            }
            node::Action::Clear { deployment, component, keep, .. } => {
                let wanted = device.wanted_fingerprints(deployment);
                let well = device.engine.runs_well(deployment, component, &wanted, self.now);
                let quiet = device.engine.sound_since(self.now.saturating_sub(120_000));
                quiet && well.is_some() && well != *keep
            }
            node::Action::Prepare { .. }
            | node::Action::Start { .. }
            | node::Action::Stage { .. }
            | node::Action::Unstage { .. } => false,
        };
        if needless {
            let name = device.name.clone();
            self.violate(format!("{name} takes a wanted workload away: {action:?}"));
        }
    }
}
