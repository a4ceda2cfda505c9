//! Order, not legality: which events of a batch are fresh, or why it is refused.
//!
//! Each event names the hash of the one before, so one known hash proves all
//! that precedes it in the batch. Hashes of the newest stored events are kept
//! in memory for batches that end before the head of the log.

use std::collections::VecDeque;

use colony_margo::Digest;

use crate::event::{Event, Incarnation, Log, Seq};
use crate::fleet::{Changed, Effect, Fleet, SiteView};
use crate::id::SiteName;
use crate::time::Wall;

/// The most events of one batch.
pub const BATCH_LIMIT: usize = 1_000;

/// How many hashes are kept per site to tell a repetition from a divergence:
/// 8 KiB, for a host may have thousands of sites.
pub const RECENT_LIMIT: usize = 256;

/// What a batch did. Persist `fresh` and `changed` together, then act.
#[derive(Debug, Default)]
#[must_use = "fresh events and changed rows must be persisted"]
pub struct Applied {
    /// The answer to the LO: the next event it has to send.
    pub next_seq: Seq,
    /// The events that were not stored before, in order.
    pub fresh: Vec<Event>,
    /// The hash of each of `fresh`.
    pub hashes: Vec<Digest>,
    pub effects: Vec<Effect>,
    pub changed: Changed,
    /// The newest event of a batch that ends before everything remembered
    /// here: the shell compares it with what it stored, and answers
    /// `Diverged` if the two differ.
    pub unproven: Option<(Seq, Digest)>,
}

/// Why nothing of a batch was taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchRefusal {
    #[error("site `{0}` does not exist")]
    UnknownSite(SiteName),
    #[error("no orchestrator joined as incarnation {0}")]
    UnknownIncarnation(Incarnation),
    /// 409: a later LO has taken the site over.
    #[error("incarnation {current} has taken the site over")]
    Fenced { current: Incarnation },
    #[error("event {seq} belongs to another site")]
    OtherSite { seq: Seq },
    /// The LO rewinds.
    #[error("event {next_seq} is missing")]
    Gap { next_seq: Seq },
    /// 409: the LO has another past than the one that is stored; it re-joins.
    #[error("event {seq} differs from what was stored before")]
    Diverged { seq: Seq },
    #[error("a batch has at most {limit} events, not {found}")]
    TooLarge { limit: usize, found: usize },
}

impl Fleet {
    /// Takes a batch of `site`'s log over; sent twice, it changes nothing.
    pub fn apply(
        &mut self,
        site: &SiteName,
        batch: &[Event],
        now: Wall,
    ) -> Result<Applied, BatchRefusal> {
        let unknown = || BatchRefusal::UnknownSite(site.clone());
        let view = self.sites.get(site).ok_or_else(unknown)?;
        let Checked { fresh, hashes, unproven } = check(site, view, batch)?;
        let mut pen = self.pen(site).map_err(|it| BatchRefusal::UnknownSite(it.0))?;
        for (event, hash) in fresh.iter().zip(&hashes) {
            pen.fold(event, *hash);
        }
        pen.heard(now);
        let effects = std::mem::take(&mut pen.effects);
        let next_seq = pen.view.head.log.as_ref().map_or(1, |it| it.next);
        let changed = self.take_changed();
        Ok(Applied { next_seq, fresh: fresh.to_vec(), hashes, effects, changed, unproven })
    }

    /// Gives the hashes of stored events back after a restart, oldest first.
    pub fn recall(&mut self, site: &SiteName, hashes: impl IntoIterator<Item = Digest>) {
        if let Some(view) = self.sites.get_mut(site) {
            view.recent = Recent::default().into();
            hashes.into_iter().for_each(|it| view.recent.push(it));
        }
    }
}

/// The part of a batch that is fresh, with the hash of each event of it.
struct Checked<'a> {
    fresh: &'a [Event],
    hashes: Vec<Digest>,
    unproven: Option<(Seq, Digest)>,
}

fn check<'a>(
    site: &SiteName,
    view: &SiteView,
    batch: &'a [Event],
) -> Result<Checked<'a>, BatchRefusal> {
    let found = batch.len();
    if found > BATCH_LIMIT {
        return Err(BatchRefusal::TooLarge { limit: BATCH_LIMIT, found });
    }
    let first = batch.first().map_or(0, |it| it.incarnation);
    let log = view.head.log.as_ref().ok_or(BatchRefusal::UnknownIncarnation(first))?;
    batch.iter().try_for_each(|it| check_origin(site, log, it))?;
    check_order(log, batch)?;
    let mut hashes: Vec<Digest> = batch.iter().map(Event::hash).collect();
    check_links(batch, &hashes)?;
    let stored = batch.iter().take_while(|it| it.seq < log.next).count();
    let unproven = check_stored(log, view, &batch[..stored], &hashes)?;
    let fresh = &batch[stored..];
    match fresh.first() {
        Some(event) if event.prev != log.head => Err(BatchRefusal::Diverged { seq: event.seq }),
        _ => Ok(Checked { fresh, hashes: hashes.split_off(stored), unproven }),
    }
}

fn check_origin(site: &SiteName, log: &Log, event: &Event) -> Result<(), BatchRefusal> {
    if event.site != *site {
        return Err(BatchRefusal::OtherSite { seq: event.seq });
    }
    if event.incarnation > log.incarnation {
        return Err(BatchRefusal::UnknownIncarnation(event.incarnation));
    }
    if event.incarnation < log.incarnation {
        return Err(BatchRefusal::Fenced { current: log.incarnation });
    }
    Ok(())
}

fn check_order(log: &Log, batch: &[Event]) -> Result<(), BatchRefusal> {
    let ahead = batch.first().is_some_and(|it| it.seq > log.next);
    let torn = batch.windows(2).any(|it| it[0].seq.checked_add(1) != Some(it[1].seq));
    if ahead || torn { Err(BatchRefusal::Gap { next_seq: log.next }) } else { Ok(()) }
}

fn check_links(batch: &[Event], hashes: &[Digest]) -> Result<(), BatchRefusal> {
    let broken = batch.iter().skip(1).zip(hashes).find(|(event, hash)| event.prev != **hash);
    broken.map_or(Ok(()), |(event, _)| Err(BatchRefusal::Diverged { seq: event.seq }))
}

/// Compares what is known; the last event is returned if it is not.
fn check_stored(
    log: &Log,
    view: &SiteView,
    stored: &[Event],
    hashes: &[Digest],
) -> Result<Option<(Seq, Digest)>, BatchRefusal> {
    let mut unproven = None;
    for (event, hash) in stored.iter().zip(hashes) {
        let known = match log.next - event.seq {
            1 => Some(log.head),
            back => view.recent.back(back),
        };
        if known.is_some_and(|it| it != *hash) {
            return Err(BatchRefusal::Diverged { seq: event.seq });
        }
        unproven = known.is_none().then_some((event.seq, *hash));
    }
    Ok(unproven)
}

/// The hashes of the newest stored events; not persisted, for the shell has
/// them with the events.
#[derive(Debug, Clone, Default)]
pub(super) struct Recent(VecDeque<Digest>);

impl Recent {
    pub(super) fn push(&mut self, hash: Digest) {
        if self.0.len() == RECENT_LIMIT {
            self.0.pop_front();
        }
        self.0.push_back(hash);
    }

    /// The hash that is `count` from the end; the last is 1.
    fn back(&self, count: u64) -> Option<Digest> {
        let count = usize::try_from(count).ok()?;
        self.0.get(self.0.len().checked_sub(count)?).copied()
    }
}

/// What is remembered for checks alone makes no difference between two views.
impl PartialEq for Recent {
    fn eq(&self, _other: &Recent) -> bool {
        true
    }
}
