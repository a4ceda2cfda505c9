//! The final checks: the fleet has converged, and every role knows it.

use colony_core::fleet::{RevertDecision, revert_decision};
use colony_core::state::{Op, State};
use colony_core::time::Now;
use colony_core::why;
use colony_world::projection_difference;

use crate::check::strategy::is_staged_for_good;
use crate::world::World;

impl World {
    /// The first condition that does not hold.
    pub(crate) fn unfinished(&self) -> Option<String> {
        (0..self.founded)
            .find_map(|site| self.site_unfinished(site))
            .or_else(|| (0..self.roles.nodes.len()).find_map(|node| self.node_unfinished(node)))
            .or_else(|| self.ghosts_unfinished())
            .or_else(|| {
                self.roles.central.changes.values().next().map(|it| format!("CO still has {it:?}"))
            })
            .or_else(|| self.checker.lost_events(&self.roles.central.events))
    }

    fn site_unfinished(&self, site: usize) -> Option<String> {
        let local = &self.roles.sites[site];
        let core = &local.core;
        if !core.is_ready() || core.git() != Some(self.roles.git.head()) {
            return Some(format!("{} is not at Git's head", local.name));
        }
        if let Some(site_node) = core.site_nodes().find(|it| !it.is_online()) {
            return Some(format!("{} is {:?}", site_node.name, site_node.presence()));
        }
        let open = core.placements().find(|it| !self.is_settled(site, it));
        open.map(|it| format!("{} is {} at {}", it.id, it.state(), local.name))
            .or_else(|| self.central_unfinished(site))
    }

    /// As wanted, or permanently failed by the revision's own fault.
    fn is_settled(&self, site: usize, placement: &colony_core::site::Placement) -> bool {
        let core = &self.roles.sites[site].core;
        let Some(deployment) = core.deployment(&placement.id.deployment) else { return false };
        match placement.state() {
            State::Installed => {
                let target = placement.revisions.target.as_ref().map(|it| it.workload);
                deployment.effective().map(|it| it.workload) == target
                    || deployment
                        .rejected()
                        .get(&placement.id.node)
                        .is_some_and(|it| Some(it.workload) != target)
                    || deployment.is_stopped()
            }
            State::Pending => deployment.is_stopped(),
            State::Failed(op) => {
                op != Op::Delete
                    && placement.retry_at().is_none()
                    && placement.revision_errors() > 0
                    || deployment.is_stopped()
                    || placement.is_refused()
            }
            State::Updating => is_staged_for_good(core, placement),
            State::Installing
            | State::RollingBack
            | State::Unknown(_)
            | State::Deleting
            | State::Deleted => false,
        }
    }

    /// The device runs the workloads that the site believes it runs.
    fn node_unfinished(&self, node: usize) -> Option<String> {
        let device = &self.roles.nodes[node];
        if device.retired {
            return None;
        }
        if device.site >= self.founded {
            return Some(format!("{} talks to an LO that was replaced", device.name));
        }
        let core = &self.roles.sites[device.site].core;
        let there = device.engine.deployments();
        let running = device.engine.running(self.now);
        let own = || core.placements().filter(|it| it.id.node == device.name);
        let stray = there.iter().find(|it| !own().any(|p| p.id.deployment == **it));
        if let Some(stray) = stray {
            return Some(format!("{} still has {stray}", device.name));
        }
        let beside = device.engine.staged();
        let left =
            own().find(|it| it.state() == State::Installed && beside.contains(&it.id.deployment));
        if let Some(left) = left {
            let id = &left.id.deployment;
            return Some(format!("{} still has something staged of {id}", device.name));
        }
        let missing = own()
            .find(|it| it.state() == State::Installed && !running.contains_key(&it.id.deployment));
        missing.map(|it| format!("{} does not run {}", device.name, it.id.deployment))
    }

    /// CO has received all events, and its projection is right.
    fn central_unfinished(&self, site: usize) -> Option<String> {
        let local = &self.roles.sites[site];
        let view = self.roles.central.core.site(&local.name)?;
        let key = (local.name.clone(), local.incarnation);
        let told = self.roles.central.events.get(&key).map_or(0, Vec::len);
        if told != local.log.len() {
            return Some(format!("CO has {told} of {} events of {}", local.log.len(), local.name));
        }
        if let Some(what) = projection_difference(view, &local.core, Now::default()) {
            return Some(format!("CO has another picture of {}: {what}", local.name));
        }
        if !local.answers.is_settled() {
            return Some(format!("CO does not have all answers of {}", local.name));
        }
        let mut all = view.placements.values().flat_map(|it| it.values());
        if let Some(it) = all.find(|it| it.flagged.is_some()) {
            return Some(format!("CO flags {} at {}: {:?}", it.id, local.name, it.flagged));
        }
        self.reverts_unfinished()
    }

    /// A file that a person edited since is not reverted.
    fn reverts_unfinished(&self) -> Option<String> {
        self.roles.central.core.reverts_open().iter().find_map(|it| {
            let path = colony_world::path(&it.site, &it.name);
            let decision = revert_decision(it, self.roles.git.blob_at_head(&path));
            let open = matches!(decision, RevertDecision::Restore(_));
            open.then(|| format!("{path} is not reverted"))
        })
    }
}

impl World {
    /// Adds the state of all roles to the trace of a failing story.
    pub(crate) fn note_standing(&mut self) {
        for site in 0..self.founded {
            let now = self.roles.sites[site].process.now(self.now, self.rng.next());
            let core = &self.roles.sites[site].core;
            let open = core.placements().filter(|it| !self.is_settled(site, it));
            let open: Vec<String> = open
                .map(|it| match why::placement(core, &it.id, now) {
                    Some(why) => format!("{}: {}", it.id, why.text(now.wall)),
                    None => format!("{} is {}", it.id, it.state()),
                })
                .collect();
            open.into_iter().for_each(|line| self.note(|_| line));
        }
        for node in 0..self.roles.nodes.len() {
            self.note(|w| {
                let device = &w.roles.nodes[node];
                let core = &w.roles.sites[device.site].core;
                let wanted: Vec<String> = device
                    .core
                    .wanted()
                    .keys()
                    .map(|it| format!("{} {:?}", &it.to_string()[..8], device.core.phase(it)))
                    .collect();
                format!(
                    "EN {} at version {:?} of {}, listed {:?}, wants {wanted:?}, reports {}",
                    device.name,
                    device.core.version().map(|it| it.get()),
                    core.site_node(&device.name).map_or(0, |it| it.version()),
                    core.site_node(&device.name).map(|it| it.listed().len()),
                    device.core.reports().len(),
                )
            });
        }
    }
}
