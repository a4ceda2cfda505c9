//! Checking a log: the hash of every event, against SHA-256 alone.

use colony_core::event::{Event, Log, verify};
use colony_core::margo::{Digest, canonical};

use crate::Scale;
use crate::clock::repeated;
use crate::fleet::settled;
use crate::table::{Table, rate, ratio, time};

pub(crate) fn run(scale: &Scale) -> Table {
    let (start, events) = log(scale.events);
    let texts: Vec<Vec<u8>> = events.iter().map(canonical_bytes).collect();
    let bytes: usize = texts.iter().map(Vec::len).sum();

    let bare = repeated(scale.rounds, || texts.iter().map(|it| Digest::of(it)).collect::<Vec<_>>());
    let checked = repeated(scale.rounds, || verify(start.clone(), &events).expect("one log"));

    let title = format!("Hash chain: {} events, {} bytes each", events.len(), bytes / events.len());
    let mut table = Table::new(title, &["what", "time", "events", "ratio to baseline"]);
    for (name, it) in [("baseline: SHA-256 of the same bytes", bare), ("`event::verify`", checked)]
    {
        table.row([name.to_owned(), time(it), rate(events.len(), it), ratio(it, bare)]);
    }
    table
}

/// The log of a site at work, repeated under fresh numbers until it is long enough.
pub(crate) fn log(count: usize) -> (Log, Vec<Event>) {
    let seen = settled((count / 20).clamp(250, 5_000) / 50 * 50).events;
    let start = Log::new("home".parse().expect("a name"), 0);
    let mut log = start.clone();
    let next = |it: &Event| log.append(it.at, it.actor.clone(), it.git.clone(), it.body.clone());
    let events = seen.iter().cycle().take(count).map(next).collect();
    (start, events)
}

fn canonical_bytes(event: &Event) -> Vec<u8> {
    canonical::to_vec(&serde_json::to_value(event).expect("an event is JSON"))
}
