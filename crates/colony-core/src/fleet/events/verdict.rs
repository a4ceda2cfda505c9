//! The decisions of a site about a revision: quarantined, stopped, rolled back.

use colony_margo::Digest;

use crate::attempt::Revision;
use crate::code::Code;
use crate::event::{Body, Event};
use crate::fleet::events::projection_writer::ProjectionWriter;
use crate::fleet::view::DeploymentView;
use crate::fleet::{CentralChange, Effect, Fleet, Revert, SiteView};
use crate::id::{DeploymentId, SiteName};
use crate::site::{Quarantine, RolledBack, Stopped};

/// How many characters of an operator's text are written into Git.
const CLAUSE_LIMIT: usize = 120;
/// The site itself keeps as many.
const QUARANTINE_LIMIT: usize = 32;

impl Fleet {
    /// Every rollback that Git has not followed yet: the content of
    /// `Effect::Revert`, computed again for a shell that restarts or could not
    /// push.
    pub fn reverts_open(&self) -> Vec<Revert> {
        let sites = self.sites.iter();
        sites.flat_map(|(site, view)| view.reverts_open(site)).collect()
    }
}

impl SiteView {
    fn reverts_open(&self, site: &SiteName) -> impl Iterator<Item = Revert> {
        self.deployments.values().filter_map(|it| {
            let pair = it.awaits_revert()?;
            let good = pair.good.as_ref().map(|it| &it.blob);
            let target = self.central_changes.get(&it.name);
            let done =
                matches!(target, Some(CentralChange::Committed { blob, .. }) if blob.as_ref() == good);
            // Git rejected this revert: the same change would be refused again.
            let refused = matches!(
                target,
                Some(CentralChange::Refused { expected, .. }) if expected.as_ref() == Some(&pair.bad.blob)
            );
            (!done && !refused).then(|| revert(site, it, &pair.bad, pair.good.as_ref()))
        })
    }
}

fn revert(
    site: &SiteName,
    deployment: &DeploymentView,
    bad: &Revision,
    good: Option<&Revision>,
) -> Revert {
    let quarantine = deployment.quarantine.get(&bad.workload);
    Revert {
        site: site.clone(),
        deployment: deployment.id.clone(),
        name: deployment.name.clone(),
        bad: bad.clone(),
        good: good.cloned(),
        by: quarantine.and_then(|it| it.by.clone()),
        reason: quarantine.map(clause),
    }
}

/// `rolled-back (by ana)`, or `unhealthy on b1`. The text is written into Git,
/// where many people can read it, so the output of workloads is left out.
fn clause(quarantine: &Quarantine) -> String {
    let failure = &quarantine.failure;
    let node = quarantine.node.as_ref().map(|it| format!(" on {it}")).unwrap_or_default();
    if failure.code != Code::RolledBack {
        return format!("{}{node}", failure.code);
    }
    let words = failure.message.chars().map(|it| if it.is_control() { ' ' } else { it });
    let words: String = words.take(CLAUSE_LIMIT).collect();
    format!("{} ({})", failure.code, words.trim())
}

impl ProjectionWriter<'_> {
    pub(in crate::fleet) fn quarantined(&mut self, event: &Event, id: &DeploymentId) {
        let Body::Quarantined { bad, good, node, failure, .. } = &event.body else { return };
        let entry = Quarantine {
            revision: bad.clone(),
            node: node.clone(),
            by: event.actor.operator().map(str::to_owned),
            failure: failure.clone(),
            since: event.at,
        };
        self.deployment(id, |it| {
            it.quarantine.insert(bad.workload, entry);
            it.forget_oldest_quarantine();
            it.rolled_back = None;
            it.stopped = None;
            it.rollout = None;
            let known = it.last_converged.take().filter(|it| it.workload != bad.workload);
            it.last_converged = good.clone().or(known);
        });
    }

    pub(in crate::fleet) fn released(&mut self, id: &DeploymentId, workload: Digest) {
        self.deployment(id, |it| {
            it.quarantine.remove(&workload);
            it.release();
        });
    }

    pub(in crate::fleet) fn rolled_back(
        &mut self,
        event: &Event,
        id: &DeploymentId,
        bad: &Revision,
        good: Option<&Revision>,
    ) {
        let pair = RolledBack { bad: bad.clone(), good: good.cloned(), since: event.at };
        self.deployment(id, |it| it.rolled_back = Some(pair));
        let Some(it) = self.view.deployments.get(id) else { return };
        let revert = revert(self.site, it, bad, good);
        self.effects.push(Effect::Revert(revert));
    }

    pub(in crate::fleet) fn stopped(&mut self, event: &Event, id: &DeploymentId) {
        let Body::RolloutStopped { revision, node, failure, .. } = &event.body else { return };
        let (workload, since) = (revision.workload, event.at);
        let stopped = Stopped { workload, node: node.clone(), failure: failure.clone(), since };
        self.deployment(id, |it| it.stopped = Some(stopped));
    }
}

impl DeploymentView {
    /// The rollback that Git has to follow, if there is one.
    pub(in crate::fleet) fn awaits_revert(&self) -> Option<&RolledBack> {
        let pair = self.rolled_back.as_ref()?;
        let holds_bad = self.accepted.blob == pair.bad.blob && !self.withdrawn;
        let restorable = pair.good.as_ref().is_some_and(|it| it.blob != pair.bad.blob);
        (holds_bad && restorable).then_some(pair)
    }

    /// An operator allows refused revisions to be tried again.
    pub(in crate::fleet) fn release(&mut self) {
        self.rejected.clear();
        self.stopped = None;
        self.rolled_back = None;
        // The rollout starts over, and the site reports its step.
        self.rollout = None;
    }

    fn forget_oldest_quarantine(&mut self) {
        while self.quarantine.len() > QUARANTINE_LIMIT {
            let oldest = self.quarantine.iter().min_by_key(|it| it.1.since).map(|it| *it.0);
            oldest.map(|it| self.quarantine.remove(&it));
        }
    }
}
