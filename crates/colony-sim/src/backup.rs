//! Backups of CO and of LOs, and what their restore takes back.

use std::collections::BTreeMap;

use colony_core::event::{Event, Incarnation};
use colony_core::fleet;
use colony_core::id::SiteName;
use colony_core::site;

use crate::central::Stored;
use crate::disk::Disk;
use crate::network::Happening;
use crate::world::World;
use crate::writer::Change;

/// CO's database as it was.
#[derive(Debug, Clone)]
pub(crate) struct SavedCentral {
    disk: Disk<fleet::RowKey, fleet::Row>,
    events: BTreeMap<(SiteName, Incarnation), Stored>,
    changes: BTreeMap<u64, Change>,
}

/// An LO's database as it was.
#[derive(Debug, Clone)]
pub(crate) struct SavedLocal {
    disk: Disk<site::RowKey, site::Row>,
    log: Vec<Event>,
}

impl World {
    /// Somebody takes a backup, or has to use one.
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
        let central = &self.central;
        let (disk, events) = (central.disk.clone(), central.events.clone());
        let saved = SavedCentral { disk, events, changes: central.changes.clone() };
        self.central.backup = Some(Box::new(saved));
        self.note(|_| "CO is backed up".to_owned());
    }

    /// CO starts from its last backup: what it was told since is gone.
    fn central_restore(&mut self) {
        let Some(saved) = self.central.backup.clone() else { return };
        let SavedCentral { disk, events, changes } = *saved;
        self.note(|_| "CO loses its disk and is restored from its backup".to_owned());
        self.central.process.die();
        (self.central.disk, self.central.events, self.central.changes) = (disk, events, changes);
        self.central.epoch += 1;
        // Who restores looks at the clock first.
        self.central.process.skew = 0;
        let now = self.central.process.now(self.now, &mut self.rng).wall;
        self.central.core = self.central.restored();
        self.central.core.rewound(now);
        let changed = self.central.core.take_changed();
        self.central.commit(&[changed]);
        self.forgive_lost_events();
        let down = self.rng.range(1_000..120_000);
        self.after(down, Happening::CentralUp);
    }

    /// What nobody has any more cannot come back: the logs of LOs that are gone.
    fn forgive_lost_events(&mut self) {
        let sites = self.sites.iter().filter(|it| !it.ghost && !it.uplink.rewound);
        let alive = sites.map(|it| (it.name.clone(), it.core.log().incarnation)).collect();
        self.checker.forgive(&alive, &self.central.events);
    }

    fn local_back_up(&mut self, site: usize) {
        let local = &mut self.sites[site];
        let saved = SavedLocal { disk: local.disk.clone(), log: local.log.clone() };
        local.backup = Some(Box::new(saved));
        self.note(|w| format!("LO {} is backed up", w.sites[site].name));
    }

    /// The LO starts from an older disk, of the same incarnation.
    fn local_restore(&mut self, site: usize) {
        let local = &mut self.sites[site];
        let Some(saved) = local.backup.clone() else { return };
        local.process.die();
        (local.disk, local.log) = (saved.disk, saved.log);
        local.uplink.rewound = true;
        local.core = local.restored();
        let states = local.core.placements().map(|it| (it.id.clone(), it.state())).collect();
        let log = local.core.log().clone();
        self.checker.begin(site, log, states);
        self.forgive_lost_events();
        self.note(|w| format!("LO {} is restored from its backup", w.sites[site].name));
        let down = self.rng.range(1_000..120_000);
        self.after(down, Happening::LocalUp { site });
    }
}
