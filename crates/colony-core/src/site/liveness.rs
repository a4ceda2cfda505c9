//! Nodes come, are heard, fall silent and come back.

use std::sync::Arc;

use colony_margo::Capabilities;

use crate::event::{Actor, Body, Presence};
use crate::id::{NodeName, PlacementId};
use crate::site::member::{Have, Member};
use crate::site::moving::By;
use crate::site::timer::Timer;
use crate::site::turn::Turn;
use crate::site::{Phase, Refused};
use crate::state::State;
use crate::time::Mono;
use crate::transition::Trigger;

impl Turn<'_> {
    /// A node got an identity, maybe again after it lost its disk.
    pub(super) fn joined(&mut self, node: NodeName) -> Result<(), Refused> {
        if self.site.phase == Phase::Unseeded {
            return Err(Refused::NotReady("what runs here is not known yet"));
        }
        let now = (self.now.mono, self.now.wall);
        if let Some(member) = self.site.members.get_mut(&node) {
            member.joined = self.now.wall;
            self.lose_attempts(&node);
            self.forget_reports(&node);
            self.offer_anew(&node);
        } else {
            let member = Member::new(node.clone(), self.site.log.incarnation, now);
            self.site.members.insert(node.clone(), member);
        }
        self.out.changed.members.insert(node.clone());
        self.emit(Actor::Node(node.clone()), Body::NodeJoined { node });
        Ok(())
    }

    pub(super) fn capable(
        &mut self,
        node: &NodeName,
        capabilities: Capabilities,
    ) -> Result<(), Refused> {
        self.known(node)?;
        self.hear(node);
        let Some(member) = self.site.members.get_mut(node) else { return Ok(()) };
        member.vouched = true;
        if member.capabilities.as_deref() == Some(&capabilities) {
            return Ok(());
        }
        member.capabilities = Some(Arc::new(capabilities.clone()));
        self.out.changed.members.insert(node.clone());
        let body = Body::NodeCapable { node: node.clone(), capabilities: Box::new(capabilities) };
        self.emit(Actor::Node(node.clone()), body);
        self.ask_refusing(node);
        self.plan_for_node(node);
        Ok(())
    }

    /// A request arrived from `node`.
    pub(super) fn heard(&mut self, node: &NodeName, have: Option<Have>) -> Result<(), Refused> {
        self.known(node)?;
        self.hear(node);
        if let Some(have) = have {
            if let Some(member) = self.site.members.get_mut(node) {
                member.holds = have.version;
            }
            self.compare_versions(node, have);
        }
        Ok(())
    }

    pub(super) fn hear(&mut self, node: &NodeName) {
        let (mono, wall) = (self.now.mono, self.now.wall);
        let Some(member) = self.site.members.get_mut(node) else { return };
        let (before, heard) = (member.presence, member.last_heard);
        (member.last_heard, member.last_heard_wall) = (mono, wall);
        if before == Presence::Online {
            return;
        }
        self.set_presence(node, Presence::Online);
        if before != Presence::Suspect {
            self.watch(node);
            self.await_reports(node);
            self.soak_anew(node, heard);
            self.reclassify_node(node);
        }
    }

    /// What had not soaked when its node was last heard has to begin again:
    /// whether it stayed well is not known.
    fn soak_anew(&mut self, node: &NodeName, heard: Mono) {
        for id in self.site.placed_on(node) {
            let soak = self.site.deployments.get(&id.deployment).and_then(|it| it.policy());
            let soak = soak.map(|it| it.settings.soak).unwrap_or_default();
            let Some(placement) = self.site.placements.get_mut(&id) else { continue };
            if placement.state() == State::Installed && !placement.has_soaked(heard, soak) {
                placement.installed_at = Some(self.now.mono);
                self.out.changed.placements.insert(id);
            }
        }
    }

    /// Arms the timer that notices the node's silence.
    pub(super) fn watch(&mut self, node: &NodeName) {
        let at = self.now.mono.after(self.site.timing.suspect);
        self.site.index.timers.set(at, Timer::Presence(node.clone()));
    }

    pub(super) fn presence_due(&mut self, node: &NodeName) {
        let timing = self.site.timing;
        let Some(member) = self.site.members.get(node).filter(|it| it.is_online()) else { return };
        let (silent, heard) = (self.now.mono.since(member.last_heard), member.last_heard);
        let mut next = heard.after(timing.suspect);
        if silent >= timing.lease {
            return self.lost(node);
        }
        if silent >= timing.suspect {
            next = heard.after(timing.lease);
            if member.presence != Presence::Suspect {
                self.set_presence(node, Presence::Suspect);
            }
        }
        self.site.index.timers.set(next, Timer::Presence(node.clone()));
    }

    fn lost(&mut self, node: &NodeName) {
        self.set_presence(node, Presence::Offline);
        self.lose_attempts(node);
        self.reclassify_node(node);
    }

    fn set_presence(&mut self, node: &NodeName, presence: Presence) {
        let Some(member) = self.site.members.get_mut(node) else { return };
        (member.presence, member.since) = (presence, self.now.wall);
        self.out.changed.members.insert(node.clone());
        self.emit(Actor::Local, Body::NodePresence { node: node.clone(), presence });
    }

    /// Attempts under way on a node that was lost are abandoned.
    pub(super) fn lose_attempts(&mut self, node: &NodeName) {
        for id in self.site.placed_on(node) {
            // Only attempts under way are lost; the table refuses the rest.
            let _ = self.advance(&id, Trigger::NodeLost, By::local());
        }
    }

    /// A node that is back has to speak of its lost attempts soon.
    fn await_reports(&mut self, node: &NodeName) {
        for id in self.site.placed_on(node) {
            self.rearm_silence(&id);
        }
    }

    fn rearm_silence(&mut self, id: &PlacementId) {
        let Some(mut placement) = self.site.placements.remove(id) else { return };
        if matches!(placement.state(), State::Unknown(_)) {
            self.disarm(&placement);
            self.await_report(&mut placement);
            self.arm(&placement);
            self.out.changed.placements.insert(id.clone());
        }
        self.site.placements.insert(id.clone(), placement);
    }

    /// A node without a memory counts its reports anew.
    fn forget_reports(&mut self, node: &NodeName) {
        for id in self.site.placed_on(node) {
            if let Some(placement) = self.site.placements.get_mut(&id) {
                placement.report = 0;
                self.out.changed.placements.insert(id);
            }
        }
    }
}
