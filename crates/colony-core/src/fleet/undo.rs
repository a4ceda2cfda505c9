//! A change of the fleet that can be taken back.
//!
//! The fleet remembers how each site was before the open change touched it;
//! with shared parts that costs a few counters. Left out on purpose: changes
//! within changes.

use std::collections::{BTreeMap, BTreeSet};

use crate::fleet::site_entry::SiteEntry;
use crate::fleet::{Changed, Fleet, SiteView};
use crate::id::{DeploymentName, SiteName};

/// The sites as they were before the open change; `None` while none is open.
#[derive(Debug, Clone, Default)]
pub(super) struct Undo(Option<BTreeMap<SiteName, Option<SiteEntry>>>);

impl Undo {
    /// Remembers a site before it is written; `None` if it is about to be added.
    pub(super) fn keep(&mut self, site: &SiteName, view: Option<&SiteEntry>) {
        if let Some(sites) = &mut self.0
            && !sites.contains_key(site)
        {
            sites.insert(site.clone(), view.cloned());
        }
    }
}

/// Always equal: an open change does not distinguish two fleets.
impl PartialEq for Undo {
    fn eq(&self, _other: &Undo) -> bool {
        true
    }
}

/// The result of a change.
#[derive(Debug, Default)]
#[must_use = "changed rows must be persisted"]
pub struct Change {
    pub rows: Changed,
    /// The sites whose orchestrator has to be notified: another orchestrator
    /// took over the site, or its commands changed.
    pub alerted: BTreeSet<SiteName>,
}

impl Fleet {
    /// Opens a change: it ends with `change_finish` or with `change_undo`. One
    /// that was left open, as by a panic, is undone.
    pub fn change_begin(&mut self) {
        if self.undo.0.is_some() {
            self.change_undo();
        }
        self.undo = Undo(Some(BTreeMap::new()));
    }

    /// Ends the open change and keeps it.
    pub fn change_finish(&mut self) -> Change {
        let before = std::mem::take(&mut self.undo).0.unwrap_or_default();
        let alerted = before.into_iter().filter(|(site, view)| self.alerts(site, view.as_deref()));
        let alerted = alerted.map(|it| it.0).collect();
        Change { rows: self.take_changed(), alerted }
    }

    /// Ends the open change as if it had never been.
    pub fn change_undo(&mut self) {
        let before = std::mem::take(&mut self.undo).0.unwrap_or_default();
        for (site, view) in before {
            self.put_back(&site, view);
        }
        self.changed = Changed::default();
    }

    fn put_back(&mut self, site: &SiteName, before: Option<SiteEntry>) {
        let after = match before.clone() {
            Some(view) => self.sites.insert(site.clone(), view),
            None => self.sites.remove(site),
        };
        let named = |view: &Option<SiteEntry>| -> BTreeSet<DeploymentName> {
            view.iter().flat_map(|it| it.known_names()).cloned().collect()
        };
        let (before, after) = (named(&before), named(&after));
        for name in after.difference(&before) {
            self.unname(site, name);
        }
        for name in before.difference(&after) {
            self.names.entry(name.clone()).or_default().insert(site.clone());
        }
    }

    fn unname(&mut self, site: &SiteName, name: &DeploymentName) {
        let Some(sites) = self.names.get_mut(name) else { return };
        sites.remove(site);
        if sites.is_empty() {
            self.names.remove(name);
        }
    }

    fn alerts(&self, site: &SiteName, before: Option<&SiteView>) -> bool {
        let (Some(before), Some(after)) = (before, self.site(site)) else { return true };
        before.incarnation() != after.incarnation() || before.commands != after.commands
    }
}

impl SiteView {
    /// The names of all deployments that exist, are planned, or are refused
    /// here.
    pub(super) fn known_names(&self) -> impl Iterator<Item = &DeploymentName> {
        self.names.keys().chain(self.central_changes.keys()).chain(self.refused_file_names())
    }
}
