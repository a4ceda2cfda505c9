//! The digest of a world: two states with the same digest are the same.

pub(crate) mod print;

use std::hash::{Hash, Hasher};

use colony_core::time::Monotonic;
use colony_world::{Change, Device, Local, ToCentral, ToLocal};

use crate::digest::print::{hash, print, relative};
use crate::world::World;
use crate::world::line::{Message, first};

impl World {
    /// Updates the digest.
    pub(crate) fn note(&mut self) {
        self.refresh();
        self.print = hash((self.standing(), self.lines(), self.done, self.left, &self.served));
    }

    /// Updates the digests of the roles that changed.
    pub(crate) fn refresh(&mut self) {
        let now = self.now;
        for local in self.roles.sites.iter_mut().filter(|it| it.digest().is_none()) {
            local.set_digest(local_digest(local, now));
        }
        if self.roles.central.digest().is_none() {
            let central = &self.roles.central;
            let changes: Vec<&Change> = central.changes.values().collect();
            let digest = hash((print(&central.core, Monotonic(0)), changes));
            self.roles.central.set_digest(digest);
        }
        for device in self.roles.nodes.iter_mut().filter(|it| it.digest().is_none()) {
            device.set_digest(device_digest(device, now));
        }
        if self.roles.git.digest().is_none() {
            let digest = hash(format!("{:?}", self.roles.git));
            self.roles.git.set_digest(digest);
        }
    }

    /// The digest without the lines and the remaining script and faults.
    pub(crate) fn standing(&self) -> u64 {
        let nodes: Vec<_> = self.roles.nodes.iter().map(|it| it.digest()).collect();
        let sites: Vec<_> = self.roles.sites.iter().map(|it| it.digest()).collect();
        let local = self.local();
        let next = self.roles.central.next(&local.name, local.incarnation);
        let skip = usize::try_from(next - 1).unwrap_or(0);
        let unheard = local.log.iter().skip(skip);
        let unheard: Vec<u64> =
            unheard.map(|it| hash(format!("{:?} {:?}", it.actor, it.body))).collect();
        let (batch, known) = local.uplink.next_batch(local.core.log().next, local.uplink.returns);
        let sent = local.uplink.is_asking();
        let ahead = (known, sent, batch.map(|it| i128::from(it.from) - i128::from(next)));
        let roles = (sites, self.roles.central.digest(), nodes, self.roles.git.digest());
        let people = (self.removed, self.reverted, self.promoted, self.interrupted);
        let fates = (self.opened, self.aborted, self.broken.is_some());
        hash((roles, format!("{:?}", self.doing), unheard, ahead, people, fates))
    }

    fn lines(&self) -> u64 {
        let near = |line: &[u64]| hash(line);
        let up: Vec<u64> = self.up.iter().map(|it| near(&it.prints())).collect();
        let down: Vec<u64> = self.down.iter().map(|it| near(&it.prints())).collect();
        let out: Vec<_> = self.out.texts().map(|it| self.far(it)).collect();
        let back: Vec<_> = self.back.texts().map(|it| self.near(it)).collect();
        hash((up, down, out, back))
    }

    /// Positions in the log are relative to those of the central orchestrator.
    fn far(&self, message: &ToCentral) -> (u64, i128) {
        match message {
            ToCentral::Events { incarnation, events, .. } => {
                let next = self.roles.central.next(&self.site, *incarnation);
                let from = i128::from(first(events)) - i128::from(next);
                (hash((incarnation, events.len())), from)
            }
            ToCentral::CommandsPlease { .. } => (message.digest(), 0),
        }
    }

    fn near(&self, message: &ToLocal) -> (u64, i128) {
        match message {
            ToLocal::EventsTaken { incarnation, next, .. } => {
                let stored = self.roles.central.next(&self.site, *incarnation);
                (u64::from(*incarnation), i128::from(*next) - i128::from(stored))
            }
            ToLocal::Poll { .. }
            | ToLocal::Status { .. }
            | ToLocal::Capabilities { .. }
            | ToLocal::Diverged { .. }
            | ToLocal::Fenced { .. }
            | ToLocal::Commands(_) => (message.digest(), 0),
        }
    }
}

fn local_digest(local: &Local, now: u64) -> u64 {
    let mono = local.process.mono(now);
    let relative = |it: Monotonic| relative(it.0, mono.0);
    let times = (local.process.wake.map(relative), relative(local.saved));
    let life = (local.process.up, local.uplink.away);
    hash((print(&local.core, mono), local.incarnation, times, life))
}

fn device_digest(device: &Device, now: u64) -> u64 {
    let mono = device.process.mono(now);
    let wake = device.process.wake.map(|it| relative(it.0, mono.0));
    let life = (device.process.up, device.introduced);
    hash((print(&device.core, mono), format!("{:?}", device.engine), wake, life))
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.print.hash(state);
    }
}

impl PartialEq for World {
    fn eq(&self, other: &World) -> bool {
        self.print == other.print
    }
}
