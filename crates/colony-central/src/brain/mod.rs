//! The projection and its database, moved together.
//!
//! `write` is the only way anything is changed: what the closure did to the
//! fleet, the events it tells and the changes it asks of Git go into one
//! transaction, and whoever waits is woken after the commit. If the transaction
//! fails or is given up, the sites it touched are read again, so that memory
//! never runs ahead of the disk. Readers share the lock and never see what is not committed.

mod bell;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use colony_core::fleet::{Fleet, RECENT_LIMIT, Row, RowKey};
use colony_core::id::SiteName;
use colony_store::{CentralStore, Write};
use tokio::sync::{RwLock, RwLockReadGuard, watch};

pub(crate) use bell::Bells;
pub(crate) use record::{Told, batch_events, own_event};

/// Everything CO knows, in memory and on disk.
#[derive(Debug)]
pub(crate) struct Brain {
    state: RwLock<State>,
    store: CentralStore,
    head: watch::Sender<i64>,
    bells: Bells,
}

#[derive(Debug)]
struct State {
    fleet: Fleet,
    /// Sites whose rows in memory may not be those on disk: a transaction of
    /// theirs is open, was given up, or failed and they could not be read again.
    ahead: BTreeSet<SiteName>,
}

impl Brain {
    /// Reads the projection from its database.
    pub(crate) async fn open(store: CentralStore) -> Result<Brain, colony_store::Error> {
        let mut fleet = Fleet::restore(store.fleet_rows().await?);
        let sites: Vec<SiteName> = fleet.sites().map(|it| it.0.clone()).collect();
        for site in sites {
            recall(&store, &mut fleet, &site).await?;
        }
        let head = watch::Sender::new(store.event_head().await?);
        let state = RwLock::new(State { fleet, ahead: BTreeSet::new() });
        Ok(Brain { state, store, head, bells: Bells::default() })
    }

    pub(crate) fn store(&self) -> &CentralStore {
        &self.store
    }

    pub(crate) fn bells(&self) -> &Bells {
        &self.bells
    }

    /// Follows the position of the newest event.
    pub(crate) fn head(&self) -> watch::Receiver<i64> {
        self.head.subscribe()
    }

    /// The fleet as it is committed.
    pub(crate) async fn read(&self) -> Result<RwLockReadGuard<'_, Fleet>, colony_store::Error> {
        let state = self.state.read().await;
        if state.ahead.is_empty() {
            return Ok(RwLockReadGuard::map(state, |it| &it.fleet));
        }
        drop(state);
        self.heal(&mut *self.state.write().await).await?;
        Ok(RwLockReadGuard::map(self.state.read().await, |it| &it.fleet))
    }

    /// Changes the fleet and tells of it, in one transaction; `act` may refuse.
    pub(crate) async fn write<T, E: From<colony_store::Error>>(
        &self,
        act: impl FnOnce(&mut Fleet) -> Result<(T, Write), E>,
    ) -> Result<T, E> {
        let mut state = self.state.write().await;
        self.heal(&mut state).await?;
        let acted = act(&mut state.fleet);
        let changed = state.fleet.take_changed();
        let mut rows = rows_of(&state.fleet, changed.keys());
        let (answer, mut write) = match acted {
            Ok(it) => it,
            Err(refusal) => {
                self.retreat(&mut state, sites_of(&rows)).await;
                return Err(refusal);
            }
        };
        rows.append(&mut write.rows);
        write.rows = rows;
        let sites = sites_of(&write.rows);
        // Whoever waits for the commit may be gone before its end.
        state.ahead.extend(sites.iter().cloned());
        match self.store.commit(write).await {
            Ok(position) => {
                state.ahead.clear();
                drop(state);
                self.head.send_if_modified(|head| {
                    // Another write may have told a later one already.
                    let newer = *head < position;
                    *head = position.max(*head);
                    newer
                });
                self.bells.ring(sites);
                Ok(answer)
            }
            Err(error) => {
                self.retreat(&mut state, BTreeSet::new()).await;
                Err(error.into())
            }
        }
    }

    /// Goes back to what is on disk; what cannot be read stays marked.
    async fn retreat(&self, state: &mut State, sites: BTreeSet<SiteName>) {
        state.ahead.extend(sites);
        if let Err(error) = self.heal(state).await {
            tracing::warn!("could not go back to the stored state: {error}");
        }
    }

    async fn heal(&self, state: &mut State) -> Result<(), colony_store::Error> {
        if !state.ahead.is_empty() {
            // A commit that was given up may still be on its way to the disk.
            self.store.settle().await?;
        }
        while let Some(site) = state.ahead.first().cloned() {
            let rows = self.store.fleet_rows_of(&site).await?;
            state.fleet.reload(&site, rows);
            recall(&self.store, &mut state.fleet, &site).await?;
            state.ahead.remove(&site);
        }
        Ok(())
    }
}

/// The rows to store for these names.
pub(crate) fn rows_of<'a>(
    fleet: &Fleet,
    keys: impl Iterator<Item = &'a RowKey>,
) -> Vec<(RowKey, Option<Row>)> {
    keys.map(|it| (it.clone(), fleet.row(it))).collect()
}

fn sites_of(rows: &[(RowKey, Option<Row>)]) -> BTreeSet<SiteName> {
    rows.iter().map(|it| it.0.site().clone()).collect()
}

async fn recall(
    store: &CentralStore,
    fleet: &mut Fleet,
    site: &SiteName,
) -> Result<(), colony_store::Error> {
    let Some(incarnation) = fleet.site(site).and_then(|it| it.incarnation()) else {
        return Ok(());
    };
    let hashes = store.event_hashes(site, incarnation, RECENT_LIMIT).await?;
    fleet.recall(site, hashes);
    Ok(())
}
