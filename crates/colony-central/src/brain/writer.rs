//! The task that commits: persist first, then publish, wake and reply.
//!
//! Changes that are staged while a transaction is written share the next one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use colony_core::id::SiteName;
use colony_store::{Error, Write};

use super::Shared;
use super::stage::{Group, Staged};

/// Runs until the brain is closed and no change waits.
pub(super) async fn run(shared: Arc<Shared>) {
    let _ended = shared.ended.clone().drop_guard();
    loop {
        let (group, closed) = {
            let mut stage = shared.stage.lock();
            (stage.group(), stage.closed)
        };
        match group {
            Some(group) => commit(&shared, group).await,
            None if closed => return,
            None => shared.staged.notified().await,
        }
    }
}

async fn commit(shared: &Shared, mut group: Group) {
    let mut write = Write::default();
    group.members.iter_mut().for_each(|it| write.append(std::mem::take(&mut it.write)));
    let sites: BTreeSet<SiteName> = write.rows.iter().map(|it| it.0.site().clone()).collect();
    let stored = match write.is_empty() {
        true => Ok(None),
        false => shared.store.commit(write).await.map(Some),
    };
    match stored {
        Ok(position) => keep(shared, group, position),
        Err(error) => refuse(shared, group.members, error, sites),
    }
}

fn keep(shared: &Shared, group: Group, position: Option<i64>) {
    shared.publish(group.fleet);
    if let Some(position) = position {
        shared.commits.fetch_add(1, Ordering::Relaxed);
        shared.advance(position);
    }
    for member in group.members {
        shared.notifier.ring(&member.alerted);
        // The caller may be gone; the change is stored all the same.
        drop(member.end.send(Ok(())));
    }
}

fn refuse(shared: &Shared, members: Vec<Staged>, error: Error, sites: BTreeSet<SiteName>) {
    let doubtful = if error.is_refusal() { BTreeSet::new() } else { sites };
    let problem = error_text(&error);
    let discarded = shared.stage.lock().discard(&shared.snapshot(), doubtful);
    let mut failed = members.into_iter().chain(discarded);
    if let Some(first) = failed.next() {
        drop(first.end.send(Err(error)));
    }
    let others: Vec<Staged> = failed.collect();
    if !others.is_empty() {
        let others = others.len();
        tracing::warn!(others, "commit failed; reverted to the last stored state: {problem}");
    }
    for member in others {
        drop(member.end.send(Err(Error::Uncommitted { problem: problem.clone() })));
    }
}

/// An error with all its causes.
fn error_text(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(it) = cause {
        text = format!("{text}: {it}");
        cause = it.source();
    }
    text
}
