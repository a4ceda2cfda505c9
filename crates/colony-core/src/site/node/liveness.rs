//! The presence of nodes: they join, go online, become silent and return.

use std::sync::Arc;

use colony_margo::Capabilities;

use crate::event::{Actor, Body, Presence};
use crate::id::{NodeName, PlacementId};
use crate::site::node::{Have, SiteNode};
use crate::site::placement::transition::Initiator;
use crate::site::step_context::StepContext;
use crate::site::timer::Timer;
use crate::site::{Phase, Refused};
use crate::state::State;
use crate::time::Monotonic;
use crate::transition::Trigger;

impl StepContext<'_> {
    /// A node was issued an identity, possibly again after it lost its disk.
    pub(in crate::site) fn joined(&mut self, node: NodeName) -> Result<(), Refused> {
        if self.site.phase == Phase::Unseeded {
            return Err(Refused::NotReady("what runs here is not known yet"));
        }
        let now = (self.now.mono, self.now.wall);
        if let Some(site_node) = self.site.site_nodes.get_mut(&node) {
            site_node.joined = self.now.wall;
            self.lose_attempts(&node);
            self.forget_reports(&node);
            self.void_earlier_reports(&node);
        } else {
            let site_node = SiteNode::new(node.clone(), self.site.log.incarnation, now);
            self.site.site_nodes.insert(node.clone(), site_node);
        }
        self.out.changed.site_nodes.insert(node.clone());
        self.emit(Actor::Node(node.clone()), Body::NodeJoined { node });
        Ok(())
    }

    pub(in crate::site) fn capable(
        &mut self,
        node: &NodeName,
        capabilities: Capabilities,
    ) -> Result<(), Refused> {
        self.check_node_known(node)?;
        self.hear(node);
        let Some(site_node) = self.site.site_nodes.get_mut(node) else { return Ok(()) };
        site_node.capabilities_confirmed = true;
        if site_node.capabilities.as_deref() == Some(&capabilities) {
            return Ok(());
        }
        site_node.capabilities = Some(Arc::new(capabilities.clone()));
        self.out.changed.site_nodes.insert(node.clone());
        let body = Body::NodeCapable { node: node.clone(), capabilities: Box::new(capabilities) };
        self.emit(Actor::Node(node.clone()), body);
        self.ask_refusing(node);
        self.plan_for_node(node);
        Ok(())
    }

    /// A request arrived from `node`.
    pub(in crate::site) fn record_contact(
        &mut self,
        node: &NodeName,
        have: Option<Have>,
    ) -> Result<(), Refused> {
        self.check_node_known(node)?;
        self.hear(node);
        if let Some(have) = have {
            if let Some(site_node) = self.site.site_nodes.get_mut(node) {
                site_node.holds = have.version;
            }
            self.compare_versions(node, have);
        }
        Ok(())
    }

    pub(in crate::site) fn hear(&mut self, node: &NodeName) {
        let (mono, wall) = (self.now.mono, self.now.wall);
        let Some(site_node) = self.site.site_nodes.get_mut(node) else { return };
        let (before, heard) = (site_node.presence, site_node.last_heard);
        (site_node.last_heard, site_node.last_heard_wall) = (mono, wall);
        if before == Presence::Online {
            return;
        }
        self.set_presence(node, Presence::Online);
        if before != Presence::Suspect {
            self.watch(node);
            self.await_reports(node);
            self.restart_soaks(node, heard);
            self.update_index_of_node(node);
        }
    }

    /// Restarts soaks that were not over at the last contact: whether the
    /// workload stayed well since then is not known.
    fn restart_soaks(&mut self, node: &NodeName, heard: Monotonic) {
        for id in self.site.placed_on(node) {
            let soak = self.site.deployments.get(&id.deployment).and_then(|it| it.policy());
            let soak = soak.map(|it| it.settings.soak).unwrap_or_default();
            let Some(placement) = self.site.placements.get_mut(&id) else { continue };
            if placement.state() == State::Installed
                && !placement.has_passed_proving_period(heard, soak)
            {
                placement.installed_at = Some(self.now.mono);
                self.out.changed.placements.insert(id);
            }
        }
    }

    /// Arms the timer that detects when the node becomes silent.
    pub(in crate::site) fn watch(&mut self, node: &NodeName) {
        let at = self.now.mono.after(self.site.timing.suspect);
        self.site.index.timers.set(at, Timer::Presence(node.clone()));
    }

    pub(in crate::site) fn presence_due(&mut self, node: &NodeName) {
        let timing = self.site.timing;
        let Some(site_node) = self.site.site_nodes.get(node).filter(|it| it.is_online()) else {
            return;
        };
        let (silent, heard) = (self.now.mono.since(site_node.last_heard), site_node.last_heard);
        let mut next = heard.after(timing.suspect);
        if silent >= timing.lease {
            return self.lost(node);
        }
        if silent >= timing.suspect {
            next = heard.after(timing.lease);
            if site_node.presence != Presence::Suspect {
                self.set_presence(node, Presence::Suspect);
            }
        }
        self.site.index.timers.set(next, Timer::Presence(node.clone()));
    }

    fn lost(&mut self, node: &NodeName) {
        self.set_presence(node, Presence::Offline);
        self.lose_attempts(node);
        self.update_index_of_node(node);
    }

    fn set_presence(&mut self, node: &NodeName, presence: Presence) {
        let Some(site_node) = self.site.site_nodes.get_mut(node) else { return };
        (site_node.presence, site_node.since) = (presence, self.now.wall);
        self.out.changed.site_nodes.insert(node.clone());
        self.emit(Actor::Local, Body::NodePresence { node: node.clone(), presence });
    }

    /// Abandons the attempts in progress on a lost node.
    pub(in crate::site) fn lose_attempts(&mut self, node: &NodeName) {
        for id in self.site.placed_on(node) {
            // Only attempts in progress are lost; the table refuses the rest.
            let _ = self.perform_transition(&id, Trigger::NodeLost, Initiator::local());
        }
    }

    /// Sets the time by which a node that is back has to report lost attempts.
    fn await_reports(&mut self, node: &NodeName) {
        for id in self.site.placed_on(node) {
            self.rearm_silence(&id);
        }
    }

    fn rearm_silence(&mut self, id: &PlacementId) {
        let Some(mut placement) = self.site.placements.remove(id) else { return };
        if matches!(placement.state(), State::Unknown(_)) {
            self.disarm_timers(&placement);
            self.await_report(&mut placement);
            self.arm_timers(&placement);
            self.out.changed.placements.insert(id.clone());
        }
        self.site.placements.insert(id.clone(), placement);
    }

    /// A node that lost its state starts its report numbers over.
    fn forget_reports(&mut self, node: &NodeName) {
        for id in self.site.placed_on(node) {
            if let Some(placement) = self.site.placements.get_mut(&id) {
                placement.report = 0;
                self.out.changed.placements.insert(id);
            }
        }
    }
}
