//! A central orchestrator by hand: one site, its projection, its rows.

pub(crate) mod story;

use std::collections::BTreeMap;

use colony_core::attempt::Revision;
use colony_core::event::Event;
use colony_core::fleet::{
    AnswersTaken, Applied, BatchRefusal, Changed, Effect, Fleet, PlacementBucket, Row, RowKey,
    SiteView,
};
use colony_core::id::{BlobId, DeploymentName, SiteName};
use colony_core::time::Timestamp;
use colony_core::why::{AnswerOutbox, AnswerUpdate, Surroundings};
use colony_margo::Digest;
use colony_testkit::{Plant, answer_difference, projection_difference};

/// The size of one update: few answers fit in.
const UPDATE_BYTES: usize = 500;

/// The projection of the site `home`, persisted after every batch.
pub(crate) struct Central {
    pub(crate) fleet: Fleet,
    pub(crate) effects: Vec<Effect>,
    rows: BTreeMap<RowKey, String>,
    /// How many of the site's events were sent.
    sent: usize,
    answers: Answers,
}

/// The site's side of the answers.
#[derive(Default)]
struct Answers {
    outbox: AnswerOutbox,
    /// How many of the site's steps were looked at, and in which life of its LO.
    looked: usize,
    life: Option<u64>,
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
        let mut central = Central {
            fleet: Fleet::new(),
            effects: Vec::new(),
            rows: BTreeMap::new(),
            sent: 0,
            answers: Answers::default(),
        };
        central.fleet.site_add(&home());
        central.fleet.join(&home(), Timestamp(0), false).expect("no orchestrator joined before");
        central.persist_rest();
        central
    }

    pub(crate) fn view(&self) -> &SiteView {
        self.fleet.site(&home()).expect("home exists")
    }

    /// How many placements of `hello` count as `share`.
    pub(crate) fn count(&self, share: PlacementBucket) -> usize {
        let (hello, view) = (name("hello"), self.view());
        let placed = view.deployments_named(&hello).flat_map(|it| view.placements_of(&it.id));
        placed.filter(|it| view.bucket_of(it) == share).count()
    }

    /// How many ended, and how many of them without confirmation.
    pub(crate) fn archived(&self) -> (u64, u64) {
        let archives = self.view().archives.values();
        archives.fold((0, 0), |sum, it| (sum.0 + it.deleted, sum.1 + it.unconfirmed))
    }

    pub(crate) fn apply(
        &mut self,
        batch: &[Event],
        now: Timestamp,
    ) -> Result<Applied, BatchRefusal> {
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
        self.sync_answers(plant);
        self.compare(plant);
    }

    /// Sends the answers that changed, in parts, as they go over the line.
    #[track_caller]
    fn sync_answers(&mut self, plant: &Plant) {
        self.answers.refresh(plant);
        while let Some(update) = self.answers.outbox.next(UPDATE_BYTES) {
            let bytes = serde_json::to_vec(&update).expect("answers are JSON");
            let update: AnswerUpdate = serde_json::from_slice(&bytes).expect("answers read back");
            let taken = self.fleet.answers_apply(&home(), &update).expect("home exists");
            assert_eq!(taken, AnswersTaken::Stored);
            self.answers.outbox.acknowledged(update.number);
        }
        self.persist_rest();
    }

    /// A new orchestrator has joined, with a log of its own.
    pub(crate) fn replaced(&mut self) {
        self.sent = 0;
        self.answers = Answers::default();
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
        assert_eq!(projection_difference(view, site, plant.now), None);
        assert_eq!(answer_difference(view, site, plant.now), None);
        let at = plant.events.last().and_then(|it| it.git.as_ref());
        assert!(at.is_none() || at == view.head.git.as_ref(), "the commit of its last event");
        assert_eq!(self.restored(), self.fleet);
    }
}

impl Answers {
    /// Looks at what changed at the site; a new life of its LO starts over.
    fn refresh(&mut self, plant: &Plant) {
        if self.life != Some(plant.restarts) {
            self.life = Some(plant.restarts);
            self.outbox = AnswerOutbox::new(plant.restarts);
        }
        let changed = plant.changed_since(self.looked);
        self.looked = plant.changes.len();
        self.outbox.refresh(&plant.site, &Surroundings::default(), &changed, plant.now);
        self.outbox.refresh_nonempty(&plant.site, plant.now);
    }
}

/// Finds a file's text where the site keeps it, as Git would.
pub(crate) fn text(plant: &Plant, blob: &BlobId) -> Option<String> {
    let revision = Revision { blob: blob.clone(), workload: Digest::of(b"") };
    plant.site.deployments().find_map(|it| it.document(&revision).map(|it| it.text.clone()))
}
