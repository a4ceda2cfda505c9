//! Deletions: whether an operator may delete a deployment at a site, and what
//! belongs to the last deletion of a name.

use std::collections::BTreeSet;

use crate::fleet::{Archive, CentralChange, DeploymentView, Fleet, SiteView};
use crate::id::{DeploymentName, NodeName, SiteName};
use crate::order_rules::check_delete;
use crate::time::Timestamp;
use crate::transition::Refusal;

/// A removal in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// When central planned it or, without such a plan, when the site saw it.
    pub since: Timestamp,
    /// The nodes that have not confirmed it.
    pub nodes: BTreeSet<NodeName>,
}

impl Fleet {
    /// The sites that the last deletion of a deployment has emptied. It is one
    /// deletion as long as the removals at its sites overlap in time. A site
    /// that the deployment had left before belongs to a former deletion.
    pub fn last_deletion(&self, name: &DeploymentName) -> Vec<(&SiteName, &Archive)> {
        let (open, gone): (Vec<_>, Vec<_>) =
            self.sites().partition(|it| it.1.deployments_named(name).next().is_some());
        let open = open.into_iter().filter_map(|it| it.1.removal(name)).map(|it| it.since).min();
        let mut removals: Vec<(&SiteName, &Archive)> =
            gone.into_iter().filter_map(|it| Some((it.0, it.1.last_removal(name)?))).collect();
        removals.sort_by_key(|it| std::cmp::Reverse(it.1.ended()));
        let newest = removals.first().map(|it| it.1.began());
        let Some(mut began) = open.or(newest) else { return Vec::new() };
        let overlaps = |it: &(&SiteName, &Archive)| {
            let overlaps = it.1.ended() >= began;
            began = began.min(it.1.began());
            overlaps
        };
        removals.into_iter().take_while(overlaps).collect()
    }
}

impl SiteView {
    /// The removal of a deployment that is not complete here; `None` before
    /// the site has seen it.
    pub fn removal(&self, name: &DeploymentName) -> Option<Removal> {
        let leaving = || self.deployments_named(name).filter(|it| it.withdrawn);
        let began = |it: &DeploymentView| self.archives.get(&it.id)?.began;
        let since = leaving().map(|it| began(it).unwrap_or(it.since)).min()?;
        let placed = leaving().flat_map(|it| self.placements_of(&it.id));
        Some(Removal { since, nodes: placed.map(|it| it.id.node.clone()).collect() })
    }

    /// When central planned the removal that the site is about to see.
    pub(in crate::fleet) fn removal_planned(&self, name: &DeploymentName) -> Option<Timestamp> {
        match self.central_changes.get(name)? {
            CentralChange::Planned { since }
            | CentralChange::Committed { blob: None, since, .. } => Some(*since),
            CentralChange::Committed { .. }
            | CentralChange::Accepted { .. }
            | CentralChange::Conflict { .. }
            | CentralChange::Refused { .. } => None,
        }
    }

    fn last_removal(&self, name: &DeploymentName) -> Option<&Archive> {
        let own = self.archives.values().filter(|it| it.name.as_ref() == Some(name));
        own.max_by_key(|it| it.ended())
    }

    /// The placements of the deployment that may not be deleted.
    pub fn delete_check(
        &self,
        deployment: &DeploymentName,
        force: bool,
    ) -> Vec<(NodeName, Refusal)> {
        let ids = self.deployments_named(deployment).map(|it| &it.id);
        let refused = ids.flat_map(|it| self.placements_of(it)).filter_map(|it| {
            let refusal = check_delete(it.state, force).err()?;
            Some((it.id.node.clone(), refusal))
        });
        refused.collect()
    }
}

#[cfg(test)]
mod tests {
    use colony_margo::Digest;

    use super::*;
    use crate::attempt::Revision;
    use crate::id::DeploymentId;

    #[test]
    fn last_deletion_is_what_overlaps_the_newest_removal() {
        check("a 10-20, b 10-15", "a b");
        check("a 10-20, b 30-40", "b");
        check("a 30-5, b 30-40", "b a");
        check("a 10-20, b 15-40, c 30-35", "b c a");
        check("", "");
    }

    #[test]
    fn removal_in_progress_begins_where_central_planned_it() {
        check("a 10-20, b 5-", "a");
        check("a 10-20, b 25-", "");
    }

    /// The sites of the last deletion, the newest removal first, from
    /// `site began-last` of the removals at all sites.
    #[track_caller]
    fn check(removals: &str, expected: &str) {
        let mut fleet = Fleet::new();
        let name: DeploymentName = "hello".parse().expect("a name");
        for removal in removals.split_terminator(", ") {
            let (site, times) = removal.split_once(' ').expect("a site and its times");
            let (began, last) = times.split_once('-').expect("two times");
            let site: SiteName = site.parse().expect("a name");
            fleet.site_add(&site);
            let writer = fleet.writer(&site).expect("just added");
            let id: DeploymentId = "0198c0de-0000-7000-8000-000000000001".parse().expect("an id");
            if last.is_empty() {
                writer.view.deployments.insert(id.clone(), leaving(&id, &name));
                writer.view.names.entry(name.clone()).or_default().insert(id.clone());
            }
            let time = |it: &str| it.parse().ok().map(Timestamp);
            let (began, last) = (time(began), time(last).unwrap_or_default());
            let name = Some(name.clone());
            writer.view.archives.insert(id, Archive { name, began, last, ..Archive::default() });
        }
        let found = fleet.last_deletion(&name);
        let found: Vec<&str> = found.iter().map(|it| it.0.as_str()).collect();
        assert_eq!(found.join(" "), expected, "{removals}");
    }

    fn leaving(id: &DeploymentId, name: &DeploymentName) -> DeploymentView {
        let blob = "0".repeat(40).parse().expect("a blob");
        let accepted = Revision { blob, workload: Digest::of(b"") };
        DeploymentView {
            id: id.clone(),
            name: name.clone(),
            accepted,
            since: Timestamp(100),
            commit: None,
            withdrawn: true,
            last_converged: None,
            quarantine: Default::default(),
            rejected: Default::default(),
            stopped: None,
            rollout: None,
            rolled_back: None,
        }
    }
}
