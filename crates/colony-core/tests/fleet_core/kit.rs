//! A central orchestrator by hand: one site, its projection, its rows.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::attempt::Revision;
use colony_core::event::Event;
use colony_core::fleet::{
    Applied, BatchRefusal, Changed, Effect, Fleet, Row, RowKey, Share, SiteView,
};
use colony_core::id::{BlobId, DeploymentName, PlacementId, SiteName};
use colony_core::time::Wall;
use colony_margo::Digest;
use colony_testkit::Plant;

/// The projection of the site `home`, persisted after every batch.
pub(crate) struct Central {
    pub(crate) fleet: Fleet,
    pub(crate) effects: Vec<Effect>,
    rows: BTreeMap<RowKey, String>,
    sent: usize,
}

pub(crate) fn home() -> SiteName {
    "home".parse().expect("a name")
}

pub(crate) fn name(text: &str) -> DeploymentName {
    text.parse().expect("a name")
}

impl Central {
    /// `home` is added and its first orchestrator has joined at time 0.
    pub(crate) fn new() -> Central {
        let mut central =
            Central { fleet: Fleet::new(), effects: Vec::new(), rows: BTreeMap::new(), sent: 0 };
        central.fleet.site_add(&home());
        central.fleet.join(&home(), Wall(0), false).expect("nobody was there");
        central.persist_rest();
        central
    }

    pub(crate) fn view(&self) -> &SiteView {
        self.fleet.site(&home()).expect("home exists")
    }

    /// How many placements of `hello` count as `share`.
    pub(crate) fn count(&self, share: Share) -> usize {
        let (hello, view) = (name("hello"), self.view());
        let placed = view.deployments_named(&hello).flat_map(|it| view.placements_of(&it.id));
        placed.filter(|it| view.share(it) == share).count()
    }

    /// How many ended, and how many of them without confirmation.
    pub(crate) fn archived(&self) -> (u64, u64) {
        let archives = self.view().archives.values();
        archives.fold((0, 0), |sum, it| (sum.0 + it.deleted, sum.1 + it.unconfirmed))
    }

    pub(crate) fn apply(&mut self, batch: &[Event], now: Wall) -> Result<Applied, BatchRefusal> {
        let applied = self.fleet.apply(&home(), batch, now)?;
        self.persist(&applied.changed);
        self.effects.extend(applied.effects.iter().cloned());
        Ok(applied)
    }

    /// Takes what the site has said since, and compares the two.
    #[track_caller]
    pub(crate) fn sync(&mut self, plant: &Plant) {
        let fresh = &plant.events[self.sent..];
        let _ = self.apply(fresh, plant.now.wall).expect("the log continues");
        self.sent = plant.events.len();
        self.compare(plant);
    }

    /// A new orchestrator has joined, whose log starts anew.
    pub(crate) fn replaced(&mut self) {
        self.sent = 0;
        self.persist_rest();
    }

    pub(crate) fn persist_rest(&mut self) {
        let changed = self.fleet.take_changed();
        self.persist(&changed);
    }

    fn persist(&mut self, changed: &Changed) {
        for key in changed.keys() {
            match self.fleet.row(key) {
                Some(row) => {
                    let text = serde_json::to_string(&row).expect("rows are JSON");
                    self.rows.insert(key.clone(), text)
                }
                None => self.rows.remove(key),
            };
        }
    }

    /// The fleet as a restart would see it.
    pub(crate) fn restored(&self) -> Fleet {
        let row = |it: &String| serde_json::from_str::<Row>(it).expect("a row reads back");
        Fleet::restore(self.rows.values().map(row))
    }

    /// The projection says of the site what the site says of itself.
    #[track_caller]
    pub(crate) fn compare(&self, plant: &Plant) {
        let (view, site) = (self.view(), &plant.site);
        let told: BTreeMap<PlacementId, String> = view
            .placements
            .values()
            .flat_map(|it| it.values())
            .map(|it| {
                let lost = it.running.as_ref().map(|it| &it.failure);
                let text = format!("{} {} {:?} {lost:?}", it.state, it.attempt, it.revisions);
                (it.id.clone(), text)
            })
            .collect();
        let true_ones: BTreeMap<PlacementId, String> = site
            .placements()
            .map(|it| {
                let (attempt, lost) = (it.attempt_number(), it.running_lost());
                let text = format!("{} {attempt} {:?} {lost:?}", it.state(), it.revisions);
                (it.id.clone(), text)
            })
            .collect();
        assert_eq!(told, true_ones);
        self.compare_deployments(plant);
        let told: Vec<_> =
            view.nodes.iter().map(|(k, v)| (k.clone(), v.presence, v.cordoned)).collect();
        let true_ones: Vec<_> =
            site.members().map(|it| (it.name.clone(), it.presence(), it.is_cordoned())).collect();
        assert_eq!(told, true_ones);
        assert_eq!(&view.files, site.refused_files());
        assert_eq!(&view.holds.holds, site.holds());
        let removal = view.holds.removal.as_ref().map(|it| it.deployments.clone());
        assert_eq!(removal.unwrap_or_default(), *site.held_removals());
        assert_eq!(view.head.commands_done, site.commands_done());
        assert_eq!(view.head.ready, site.is_ready());
        assert_eq!(view.head.log.as_ref(), Some(site.log()));
        assert_eq!(self.restored(), self.fleet);
    }

    #[track_caller]
    fn compare_deployments(&self, plant: &Plant) {
        let view = self.view();
        let told: BTreeSet<_> = view.deployments.keys().collect();
        let true_ones: BTreeSet<_> = plant.site.deployments().map(|it| &it.id).collect();
        assert_eq!(told, true_ones);
        for it in plant.site.deployments() {
            let told = &view.deployments[&it.id];
            assert_eq!((&told.name, &told.accepted), (&it.name, it.wanted()));
            assert_eq!((told.withdrawn, told.good.as_ref()), (it.is_withdrawn(), it.good()));
            assert_eq!(&told.quarantine, it.quarantine());
        }
    }
}

/// Finds a file's text where the site keeps it, as Git would.
pub(crate) fn text(plant: &Plant, blob: &BlobId) -> Option<String> {
    let revision = Revision { blob: blob.clone(), workload: Digest::of(b"") };
    plant.site.deployments().find_map(|it| it.document(&revision).map(|it| it.text.clone()))
}
