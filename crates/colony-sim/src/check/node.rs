//! What a node is served, and what it does: versions only rise, and what is
//! wanted and well stays.

use colony_core::node;
use colony_core::site::NodeManifest;

use crate::world::World;

impl World {
    /// Looks at a manifest that is about to be sent.
    pub(crate) fn observe_manifest(&mut self, site: usize, node: usize, manifest: &NodeManifest) {
        let new = (manifest.version, manifest.etag);
        if let Some(old) = self.checker.served.insert((site, node), new) {
            let name = self.nodes[node].name.clone();
            if new.0 < old.0 {
                self.violate(format!("{name} was served version {} after {}", new.0, old.0));
            } else if new.0 == old.0 && new.1 != old.1 {
                self.violate(format!("{name} was served two manifests with version {}", new.0));
            }
        }
    }

    /// Looks at what a node has just persisted and is about to do.
    pub(crate) fn observe_node(&mut self, node: usize, step: &node::Step) {
        self.steps += 1;
        let edge = &self.nodes[node];
        let name = edge.name.clone();
        let version = edge.core.version().map_or(0, |it| it.get());
        let before = self.checker.accepted.insert(node, version).unwrap_or(0);
        if version < before {
            self.violate(format!("{name} went back from version {before} to {version}"));
        }
        for action in &step.actions {
            self.note(|_| format!("EN {name} {action:?}"));
            self.check_action(node, action);
            self.check_stage(node, action);
        }
    }

    /// What is wanted is not removed.
    fn check_action(&mut self, node: usize, action: &node::Action) {
        let edge = &self.nodes[node];
        let needless = match action {
            node::Action::Remove { deployment } => edge.core.wanted().contains_key(deployment),
            node::Action::Clear { deployment, component, keep } => {
                let wanted = edge.wanted_fingerprints(deployment);
                let well = edge.engine.runs_well(deployment, component, &wanted, self.now);
                let quiet = edge.engine.sound_since(self.now.saturating_sub(120_000));
                quiet && well.is_some() && well != *keep
            }
            node::Action::Prepare { .. }
            | node::Action::Start { .. }
            | node::Action::Stage { .. }
            | node::Action::Unstage { .. } => false,
        };
        if needless {
            let name = edge.name.clone();
            self.violate(format!("{name} takes a wanted workload away: {action:?}"));
        }
    }
}
