//! Sites are added, and their orchestrators join, send requests and are
//! replaced.

use std::time::Duration;

use crate::event::{Incarnation, Log, Presence, StepStanding, VERSION_BITS};
use crate::fleet::{Fleet, RowKey, SiteView, UnknownSite};
use crate::id::{NodeName, SiteName};
use crate::time::{HumanDuration, Timestamp};

/// An orchestrator that sent a request within this time is replaced only by a
/// join with `replace`.
pub const HEARD_RECENTLY: Duration = Duration::from_secs(300);

/// The number of incarnations: manifest versions have to stay below 2^53.
const INCARNATIONS: Incarnation = 1 << (53 - VERSION_BITS);

/// More joins and commands than a site sees between a backup and its restore.
const JOINS_SKIPPED: Incarnation = 64;
const COMMANDS_SKIPPED: u64 = 1 << 20;
/// After a restore, incarnations continue at the number of turns (20 s) since
/// the start of 2026. Half of the incarnations are left after 42 years. Two
/// restores within one turn are not expected.
const FIRST_TURN: Timestamp = Timestamp(1_767_225_600_000);
const TURN: u64 = 20_000;

/// Why an orchestrator may not take over a site.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinRefusal {
    #[error("site `{0}` does not exist")]
    UnknownSite(SiteName),
    #[error(
        "incarnation {current} of site `{site}` was in contact {} ago; join with `--replace` to fence it off",
        HumanDuration(*.ago)
    )]
    HeardRecently { site: SiteName, current: Incarnation, last_heard: Timestamp, ago: Duration },
    #[error("site `{0}` has used up its incarnations")]
    UsedUp(SiteName),
}

impl Fleet {
    /// Adds a site; `false` if it already exists.
    pub fn site_add(&mut self, site: &SiteName) -> bool {
        if self.sites.contains_key(site) {
            return false;
        }
        self.undo.keep(site, None);
        self.sites.insert(site.clone(), SiteView::default().into());
        self.changed.mark(RowKey::Site(site.clone()));
        true
    }

    /// Lets an orchestrator take over a site. All earlier incarnations are
    /// fenced from here on.
    ///
    /// The join itself counts as a request of the orchestrator: if its response
    /// is lost, the orchestrator has to join again with `replace`.
    pub fn join(
        &mut self,
        site: &SiteName,
        now: Timestamp,
        replace: bool,
    ) -> Result<Incarnation, JoinRefusal> {
        let unknown = || JoinRefusal::UnknownSite(site.clone());
        let view = self.sites.get(site).ok_or_else(unknown)?;
        if !replace {
            view.check_silent(site, now)?;
        }
        let incarnation = view.incarnation().map_or(0, |it| it.saturating_add(1));
        let incarnation = incarnation.max(view.head.joins_from);
        if incarnation >= INCARNATIONS {
            return Err(JoinRefusal::UsedUp(site.clone()));
        }
        let mut writer = self.writer(site).map_err(|it| JoinRefusal::UnknownSite(it.0))?;
        writer.view.begin(site, incarnation, now);
        writer.forget_presence(now);
        writer.forget_attempts();
        writer.forget_standings();
        // The orchestrator reads Git again, and reports refused files and
        // holds.
        writer.wait(|it| (it.removal, it.history) = (None, None));
        writer.forget_files();
        writer.forget_answers();
        writer.record_contact(now);
        Ok(incarnation)
    }

    /// Skips numbers after the database was restored from a backup.
    ///
    /// Incarnations and command numbers assigned since the backup must not be
    /// assigned again, even if the same backup is restored twice, so both
    /// follow the clock. Call this once after a restore, before any
    /// orchestrator connects.
    pub fn rewound(&mut self, now: Timestamp) {
        let turns = now.0.saturating_sub(FIRST_TURN.0) / TURN;
        let turns = Incarnation::try_from(turns).unwrap_or(0).min(INCARNATIONS / 2);
        for (site, view) in &mut self.sites {
            self.undo.keep(site, Some(view));
            let head = &mut view.head;
            let known = head.log.as_ref().map_or(0, |it| it.incarnation).max(head.joins_from);
            head.joins_from = known.saturating_add(JOINS_SKIPPED).max(turns);
            let known = head.commands_last.max(head.commands_done);
            head.commands_last = known.saturating_add(COMMANDS_SKIPPED).max(now.0);
            self.changed.mark(RowKey::Site(site.clone()));
        }
    }

    /// Records a request of the current orchestrator.
    pub fn record_contact(&mut self, site: &SiteName, now: Timestamp) -> Result<(), UnknownSite> {
        self.writer(site).map(|mut it| it.record_contact(now))
    }
}

impl SiteView {
    fn check_silent(&self, site: &SiteName, now: Timestamp) -> Result<(), JoinRefusal> {
        let (Some(current), Some(last_heard)) = (self.incarnation(), self.head.last_heard) else {
            return Ok(());
        };
        let ago = now.since(last_heard);
        if ago >= HEARD_RECENTLY {
            return Ok(());
        }
        Err(JoinRefusal::HeardRecently { site: site.clone(), current, last_heard, ago })
    }

    /// Starts an empty log for an orchestrator that is not ready yet.
    fn begin(&mut self, site: &SiteName, incarnation: Incarnation, now: Timestamp) {
        self.head.log = Some(Log::new(site.clone(), incarnation));
        self.head.joined = Some(now);
        self.head.ready = false;
        self.recent = Default::default();
    }
}

impl crate::fleet::events::projection_writer::ProjectionWriter<'_> {
    /// Resets presence: the joined orchestrator has not received a request of
    /// any node yet, and emits no event for that.
    fn forget_presence(&mut self, now: Timestamp) {
        for node in self.view.nodes.values_mut() {
            (node.presence, node.since) = (Presence::Joined, now);
        }
        let nodes: Vec<NodeName> = self.view.nodes.keys().cloned().collect();
        for node in nodes {
            self.mark(|site| RowKey::Node(site, node));
        }
    }

    fn forget_files(&mut self) {
        for path in std::mem::take(&mut self.view.files).into_keys() {
            self.file_accepted(&path);
        }
    }

    /// The joined orchestrator reports again the health of versions beside a
    /// staged revision, and retries failed placements at once.
    fn forget_attempts(&mut self) {
        let all = self.view.placements.values_mut().flat_map(|it| it.values_mut());
        let known = all.filter_map(|it| {
            let (running, retry) = (it.running.take(), it.retry.take());
            (running.is_some() || retry.is_some()).then(|| it.id.clone())
        });
        for id in known.collect::<Vec<_>>() {
            self.mark(|site| RowKey::Placement(site, id));
        }
    }

    /// Restarts soaks: the joined orchestrator does not know when they began.
    fn forget_standings(&mut self) {
        let all = self.view.deployments.values_mut();
        let stepping = all.filter_map(|it| {
            it.rollout.as_mut()?.standing = StepStanding::Open;
            Some(it.id.clone())
        });
        for id in stepping.collect::<Vec<_>>() {
            self.mark(|site| RowKey::Deployment(site, id));
        }
    }
}
