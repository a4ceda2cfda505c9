//! Backups of CO and of LOs, and their restore.

use std::collections::BTreeMap;

use colony_core::event::Incarnation;
use colony_core::id::SiteName;
use colony_world::{Change, FleetDisk, Stored};

use crate::network::Happening;
use crate::world::World;

/// A backup of CO's database.
#[derive(Debug, Clone)]
pub(crate) struct SavedCentral {
    disk: FleetDisk,
    events: BTreeMap<(SiteName, Incarnation), Stored>,
    changes: BTreeMap<u64, Change>,
}

impl World {
    /// Takes or restores a backup.
    pub(crate) fn back_up_or_restore(&mut self) {
        let site = self.any_site();
        match self.rng.range(0..6) {
            0..2 => self.central_back_up(),
            2 => self.central_restore(),
            3..5 => self.local_back_up(site),
            _ => self.local_restore(site),
        }
    }

    fn central_back_up(&mut self) {
        let central = &self.roles.central;
        let (disk, events) = (central.disk.clone(), central.events.clone());
        let saved = SavedCentral { disk, events, changes: central.changes.clone() };
        self.backup = Some(Box::new(saved));
        self.note(|_| "CO is backed up".to_owned());
    }

    /// Restores CO from its last backup: everything received since is lost.
    fn central_restore(&mut self) {
        let Some(saved) = self.backup.clone() else { return };
        let SavedCentral { disk, events, changes } = *saved;
        self.note(|_| "CO loses its disk and is restored from its backup".to_owned());
        self.roles.central.process.die();
        let central = &mut *self.roles.central;
        (central.disk, central.events, central.changes) = (disk, events, changes);
        self.restores += 1;
        // The operator sets the clock before the restore.
        self.roles.central.process.skew = 0;
        let now = self.roles.central.process.now(self.now, self.rng.next()).wall;
        self.roles.central.restore();
        self.roles.central.core.rewound(now);
        let changed = self.roles.central.core.take_changed();
        self.roles.central.commit(&[changed]);
        self.forgive_lost_events();
        let down = self.rng.range(1_000..120_000);
        self.after(down, Happening::CentralUp);
    }

    /// Events that neither CO nor a live LO has are lost: the logs of replaced
    /// LOs.
    fn forgive_lost_events(&mut self) {
        let sites = self.roles.sites.iter().filter(|it| !it.ghost && !it.uplink.rewound);
        let alive = sites.map(|it| (it.name.clone(), it.core.log().incarnation)).collect();
        self.checker.forgive(&alive, &self.roles.central.events);
    }

    fn local_back_up(&mut self, site: usize) {
        let local = &mut *self.roles.sites[site];
        local.backup = Some(Box::new((local.disk.clone(), local.log.clone())));
        self.note(|w| format!("LO {} is backed up", w.roles.sites[site].name));
    }

    /// Restores an LO from an older disk of the same incarnation.
    fn local_restore(&mut self, site: usize) {
        let local = &mut *self.roles.sites[site];
        let Some(saved) = local.backup.clone() else { return };
        local.process.die();
        (local.disk, local.log) = *saved;
        local.uplink.rewound = true;
        local.restore();
        let states = local.core.placements().map(|it| (it.id.clone(), it.state())).collect();
        let log = local.core.log().clone();
        self.checker.begin(site, log, states);
        self.forgive_lost_events();
        self.note(|w| format!("LO {} is restored from its backup", w.roles.sites[site].name));
        let down = self.rng.range(1_000..120_000);
        self.after(down, Happening::LocalUp { site });
    }
}
