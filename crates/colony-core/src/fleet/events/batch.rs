//! Checks the order of a batch: which events are fresh, or why it is refused.
//!
//! Whether a transition is legal is not checked here.
//!
//! Each event names the hash of the one before, so one known hash proves all
//! that precedes it in the batch. Hashes of the newest stored events are kept
//! in memory for batches that end before the head of the log.

use std::collections::VecDeque;

use colony_margo::Digest;

use crate::event::{Event, Incarnation, Log, Seq};
use crate::fleet::{Changed, Effect, Fleet, SiteView};
use crate::id::SiteName;
use crate::time::Timestamp;

/// The maximum number of events in a batch.
pub const BATCH_LIMIT: usize = 1_000;

/// How many hashes are kept per site to distinguish a repetition from a
/// divergence: 8 KiB, because one host may serve thousands of sites.
pub const RECENT_LIMIT: usize = 256;

/// The result of a batch. Persist `fresh` and `changed` together, then act.
#[derive(Debug, Default)]
#[must_use = "fresh events and changed rows must be persisted"]
pub struct Applied {
    /// The response to the local orchestrator: the next event it has to send.
    pub next_seq: Seq,
    /// The events that were not stored before, in order.
    pub fresh: Vec<Event>,
    /// The hash of each of `fresh`.
    pub hashes: Vec<Digest>,
    pub effects: Vec<Effect>,
    pub changed: Changed,
    /// The last event of the batch that was stored before, if its hash is no
    /// longer in memory. The shell compares it with the stored event and answers
    /// `Diverged` if the two differ.
    pub unverified: Option<(Seq, Digest)>,
}

/// Why a batch was refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchRefusal {
    #[error("site `{0}` does not exist")]
    UnknownSite(SiteName),
    #[error("no orchestrator joined as incarnation {0}")]
    UnknownIncarnation(Incarnation),
    /// 409: a later local orchestrator has taken over the site.
    #[error("incarnation {current} has taken over the site")]
    Fenced { current: Incarnation },
    #[error("event {seq} belongs to another site")]
    OtherSite { seq: Seq },
    /// The local orchestrator rewinds to `next_seq`.
    #[error("event {next_seq} is missing")]
    Gap { next_seq: Seq },
    /// 409: the log of the local orchestrator diverged from the stored one; it
    /// has to join again.
    #[error("event {seq} differs from what was stored before")]
    Diverged { seq: Seq },
    #[error("a batch has at most {limit} events, not {found}")]
    TooLarge { limit: usize, found: usize },
}

impl Fleet {
    /// Applies a batch of `site`'s log. Events that are already stored are not
    /// applied again.
    pub fn apply(
        &mut self,
        site: &SiteName,
        batch: &[Event],
        now: Timestamp,
    ) -> Result<Applied, BatchRefusal> {
        let unknown = || BatchRefusal::UnknownSite(site.clone());
        let view = self.sites.get(site).ok_or_else(unknown)?;
        let Checked { fresh, hashes, unverified } = check(site, view, batch)?;
        let mut writer = self.writer(site).map_err(|it| BatchRefusal::UnknownSite(it.0))?;
        for (event, hash) in fresh.iter().zip(&hashes) {
            writer.fold(event, *hash);
        }
        writer.record_contact(now);
        let effects = std::mem::take(&mut writer.effects);
        let next_seq = writer.view.head.log.as_ref().map_or(1, |it| it.next);
        let changed = self.take_changed();
        Ok(Applied { next_seq, fresh: fresh.to_vec(), hashes, effects, changed, unverified })
    }

    /// Restores the hashes of stored events after a restart, oldest first.
    pub fn recall(&mut self, site: &SiteName, hashes: impl IntoIterator<Item = Digest>) {
        if let Some(view) = self.sites.get_mut(site) {
            view.recent = Recent::default().into();
            hashes.into_iter().for_each(|it| view.recent.push(it));
        }
    }
}

/// The fresh part of a batch, with the hash of each event.
struct Checked<'a> {
    fresh: &'a [Event],
    hashes: Vec<Digest>,
    unverified: Option<(Seq, Digest)>,
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
    let unverified = check_stored(log, view, &batch[..stored], &hashes)?;
    let fresh = &batch[stored..];
    match fresh.first() {
        Some(event) if event.prev != log.head => Err(BatchRefusal::Diverged { seq: event.seq }),
        _ => Ok(Checked { fresh, hashes: hashes.split_off(stored), unverified }),
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

/// Compares stored events with the remembered hashes. Returns the last event if
/// its hash is not remembered.
fn check_stored(
    log: &Log,
    view: &SiteView,
    stored: &[Event],
    hashes: &[Digest],
) -> Result<Option<(Seq, Digest)>, BatchRefusal> {
    let mut unverified = None;
    for (event, hash) in stored.iter().zip(hashes) {
        let known = match log.next - event.seq {
            1 => Some(log.head),
            back => view.recent.back(back),
        };
        if known.is_some_and(|it| it != *hash) {
            return Err(BatchRefusal::Diverged { seq: event.seq });
        }
        unverified = known.is_none().then_some((event.seq, *hash));
    }
    Ok(unverified)
}

/// The hashes of the newest stored events; not persisted, because the shell
/// stores them with the events.
#[derive(Debug, Clone, Default)]
pub(in crate::fleet) struct Recent(VecDeque<Digest>);

impl Recent {
    pub(in crate::fleet) fn push(&mut self, hash: Digest) {
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

/// Always equal: the hashes serve checks only and do not distinguish two views.
impl PartialEq for Recent {
    fn eq(&self, _other: &Recent) -> bool {
        true
    }
}
