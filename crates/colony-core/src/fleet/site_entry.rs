//! The view of a site together with the counts that lists show of it.
//!
//! The counts are computed at the first question after a write, so that a list
//! of sites costs what has changed and not what the fleet has.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use crate::fleet::shared::Shared;
use crate::fleet::{RollupStatus, SiteView};

/// How many deployments of a site have a status.
pub type StatusCounts = BTreeMap<RollupStatus, u64>;

/// Clones share the view and the counts until one of them writes.
#[derive(Debug, Clone, Default)]
pub(in crate::fleet) struct SiteEntry {
    view: Shared<SiteView>,
    counts: Arc<OnceLock<StatusCounts>>,
}

impl SiteEntry {
    pub(in crate::fleet) fn status_counts(&self) -> &StatusCounts {
        self.counts.get_or_init(|| {
            let mut counts = StatusCounts::new();
            for name in self.view.deployment_names() {
                *counts.entry(self.view.rollup_status(name)).or_default() += 1;
            }
            counts
        })
    }
}

impl Deref for SiteEntry {
    type Target = SiteView;

    fn deref(&self) -> &SiteView {
        &self.view
    }
}

/// Every write drops the counts.
impl DerefMut for SiteEntry {
    fn deref_mut(&mut self) -> &mut SiteView {
        match Arc::get_mut(&mut self.counts) {
            Some(own) => drop(own.take()),
            None => self.counts = Arc::default(),
        }
        &mut self.view
    }
}

impl From<SiteView> for SiteEntry {
    fn from(view: SiteView) -> SiteEntry {
        SiteEntry { view: view.into(), counts: Arc::default() }
    }
}

/// The counts follow from the view.
impl PartialEq for SiteEntry {
    fn eq(&self, other: &SiteEntry) -> bool {
        self.view == other.view
    }
}
