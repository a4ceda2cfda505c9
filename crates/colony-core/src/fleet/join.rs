//! Sites come, and their orchestrators join, are heard and are replaced.

use std::time::Duration;

use crate::event::{Incarnation, Log, Presence, StepStanding, VERSION_BITS};
use crate::fleet::{Fleet, RowKey, SiteView, UnknownSite};
use crate::id::{NodeName, SiteName};
use crate::time::{Spoken, Wall};

/// Whoever was heard so lately is not replaced by accident.
pub const HEARD_RECENTLY: Duration = Duration::from_secs(300);

/// Manifest versions stay below 2^53.
const INCARNATIONS: Incarnation = 1 << (53 - VERSION_BITS);

/// More than a site sees between a backup and its restore.
const JOINS_SKIPPED: Incarnation = 64;
const COMMANDS_SKIPPED: u64 = 1 << 20;
/// The year 2026 began, and half of the incarnations are left when 42 years have
/// passed since. Nobody restores twice within a turn.
const FIRST_TURN: Wall = Wall(1_767_225_600_000);
const TURN: u64 = 20_000;

/// Why an orchestrator may not take a site.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinRefusal {
    #[error("site `{0}` does not exist")]
    UnknownSite(SiteName),
    #[error(
        "incarnation {current} of site `{site}` was heard {} ago; `--replace` fences it off",
        Spoken(*.ago)
    )]
    HeardRecently { site: SiteName, current: Incarnation, last_heard: Wall, ago: Duration },
    #[error("site `{0}` has used up its incarnations")]
    UsedUp(SiteName),
}

impl Fleet {
    /// Adds a site; `false` if it was there.
    pub fn site_add(&mut self, site: &SiteName) -> bool {
        if self.sites.contains_key(site) {
            return false;
        }
        self.undo.keep(site, None);
        self.sites.insert(site.clone(), SiteView::default().into());
        self.changed.mark(RowKey::Site(site.clone()));
        true
    }

    /// Lets an orchestrator take a site; all before it are fenced from here on.
    ///
    /// The join itself counts as being heard: whoever lost the answer to it
    /// has to ask with `replace`.
    pub fn join(
        &mut self,
        site: &SiteName,
        now: Wall,
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
        let mut pen = self.pen(site).map_err(|it| JoinRefusal::UnknownSite(it.0))?;
        pen.view.begin(site, incarnation, now);
        pen.forget_presence(now);
        pen.forget_attempts();
        pen.forget_standings();
        // It reads Git anew, and says what it cannot use or holds.
        pen.wait(|it| (it.removal, it.history) = (None, None));
        pen.forget_files();
        pen.forget_answers();
        pen.heard(now);
        Ok(incarnation)
    }

    /// The database came back from a backup: numbers that were given since are
    /// not given again, also if the same backup is used twice: both follow the
    /// clock. To be called once after a restore, before anybody is let in.
    pub fn rewound(&mut self, now: Wall) {
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

    /// A request of the current orchestrator arrived.
    pub fn heard(&mut self, site: &SiteName, now: Wall) -> Result<(), UnknownSite> {
        self.pen(site).map(|mut it| it.heard(now))
    }
}

impl SiteView {
    fn check_silent(&self, site: &SiteName, now: Wall) -> Result<(), JoinRefusal> {
        let (Some(current), Some(last_heard)) = (self.incarnation(), self.head.last_heard) else {
            return Ok(());
        };
        let ago = now.since(last_heard);
        if ago >= HEARD_RECENTLY {
            return Ok(());
        }
        Err(JoinRefusal::HeardRecently { site: site.clone(), current, last_heard, ago })
    }

    /// A log of its own, and nothing known of how far this LO is.
    fn begin(&mut self, site: &SiteName, incarnation: Incarnation, now: Wall) {
        self.head.log = Some(Log::new(site.clone(), incarnation));
        self.head.joined = Some(now);
        self.head.ready = false;
        self.recent = Default::default();
    }
}

impl super::pen::Pen<'_> {
    /// The new LO has heard no node yet, and says nothing of it.
    fn forget_presence(&mut self, now: Wall) {
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

    /// The new LO reports again what runs beside a staged revision, and what
    /// failed is due at once.
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

    /// A soak whose beginning the new LO does not know begins again.
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
