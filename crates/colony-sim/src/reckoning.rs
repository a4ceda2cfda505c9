//! What must be true in the end: everything wanted is, and everybody knows.

use colony_core::fleet::{RevertDecision, revert_decision};
use colony_core::state::{Op, State};
use colony_core::time::Now;
use colony_core::why;
use colony_testkit::projection_difference;

use crate::strategy::is_staged_for_good;
use crate::world::World;

impl World {
    /// The first thing that is not as it should be.
    pub(crate) fn unfinished(&self) -> Option<String> {
        (0..self.founded)
            .find_map(|site| self.site_unfinished(site))
            .or_else(|| (0..self.nodes.len()).find_map(|node| self.node_unfinished(node)))
            .or_else(|| self.ghosts_unfinished())
            .or_else(|| {
                self.central.changes.values().next().map(|it| format!("CO still has {it:?}"))
            })
            .or_else(|| self.checker.lost_events(&self.central.events))
    }

    fn site_unfinished(&self, site: usize) -> Option<String> {
        let local = &self.sites[site];
        let core = &local.core;
        if !core.is_ready() || core.git() != Some(self.git.head()) {
            return Some(format!("{} is not at Git's head", local.name));
        }
        if let Some(member) = core.members().find(|it| !it.is_online()) {
            return Some(format!("{} is {:?}", member.name, member.presence()));
        }
        let open = core.placements().find(|it| !self.is_settled(site, it));
        open.map(|it| format!("{} is {} at {}", it.id, it.state(), local.name))
            .or_else(|| self.central_unfinished(site))
    }

    /// As wanted, or failed for good by the revision's own fault.
    fn is_settled(&self, site: usize, placement: &colony_core::site::Placement) -> bool {
        let core = &self.sites[site].core;
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
                op != Op::Delete && placement.retry_at().is_none() && placement.tries() > 0
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

    /// What runs on the device is what the site believes.
    fn node_unfinished(&self, node: usize) -> Option<String> {
        let edge = &self.nodes[node];
        if edge.retired {
            return None;
        }
        if edge.site >= self.founded {
            return Some(format!("{} talks to an LO that was replaced", edge.name));
        }
        let core = &self.sites[edge.site].core;
        let there = edge.engine.deployments();
        let running = edge.engine.running(self.now);
        let own = || core.placements().filter(|it| it.id.node == edge.name);
        let stray = there.iter().find(|it| !own().any(|p| p.id.deployment == **it));
        if let Some(stray) = stray {
            return Some(format!("{} still has {stray}", edge.name));
        }
        let beside = edge.engine.staged();
        let left =
            own().find(|it| it.state() == State::Installed && beside.contains(&it.id.deployment));
        if let Some(left) = left {
            let id = &left.id.deployment;
            return Some(format!("{} still has something staged of {id}", edge.name));
        }
        let missing = own()
            .find(|it| it.state() == State::Installed && !running.contains_key(&it.id.deployment));
        missing.map(|it| format!("{} does not run {}", edge.name, it.id.deployment))
    }

    /// CO has been told everything, and believes what is.
    fn central_unfinished(&self, site: usize) -> Option<String> {
        let local = &self.sites[site];
        let view = self.central.core.site(&local.name)?;
        let key = (local.name.clone(), local.incarnation);
        let told = self.central.events.get(&key).map_or(0, Vec::len);
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

    /// Where somebody edited the file since, it is theirs to mend.
    fn reverts_unfinished(&self) -> Option<String> {
        self.central.core.reverts_open().iter().find_map(|it| {
            let path = crate::writer::path(&it.site, &it.name);
            let decision = revert_decision(it, self.git.blob_at_head(&path));
            let open = matches!(decision, RevertDecision::Restore(_));
            open.then(|| format!("{path} is not reverted"))
        })
    }
}

impl World {
    /// Where everybody stands, for the trace of a story that ends badly.
    pub(crate) fn note_standing(&mut self) {
        for site in 0..self.founded {
            let now = self.sites[site].process.now(self.now, &mut self.rng);
            let core = &self.sites[site].core;
            let open = core.placements().filter(|it| !self.is_settled(site, it));
            let open: Vec<String> = open
                .map(|it| match why::placement(core, &it.id, now) {
                    Some(why) => format!("{}: {}", it.id, why.text(now.wall)),
                    None => format!("{} is {}", it.id, it.state()),
                })
                .collect();
            open.into_iter().for_each(|line| self.note(|_| line));
        }
        for node in 0..self.nodes.len() {
            self.note(|w| {
                let edge = &w.nodes[node];
                let core = &w.sites[edge.site].core;
                let wanted: Vec<String> = edge
                    .core
                    .wanted()
                    .keys()
                    .map(|it| format!("{} {:?}", &it.to_string()[..8], edge.core.phase(it)))
                    .collect();
                format!(
                    "EN {} at version {:?} of {}, listed {:?}, wants {wanted:?}, reports {}",
                    edge.name,
                    edge.core.version().map(|it| it.get()),
                    core.member(&edge.name).map_or(0, |it| it.version()),
                    core.member(&edge.name).map(|it| it.listed().len()),
                    edge.core.reports().len(),
                )
            });
        }
    }
}
