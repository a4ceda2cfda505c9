//! The site's answers to the guards of the transition table.

use crate::code::{Class, Code};
use crate::document::OnFailure;
use crate::event::HoldScope;
use crate::site::placement::transition::Initiator;
use crate::site::rollout::wanted_revision::WantedRevision;
use crate::site::{Deployment, Placement, Site};
use crate::state::{Op, State};
use crate::time::{Now, Timestamp};
use crate::transition::{Facts, Guard, Reason, Trigger};

/// What is known about one placement when it is about to move.
pub(in crate::site) struct PlacementFacts<'a> {
    pub(in crate::site) site: &'a Site,
    pub(in crate::site) deployment: &'a Deployment,
    pub(in crate::site) placement: &'a Placement,
    pub(in crate::site) want: Option<WantedRevision>,
    pub(in crate::site) trigger: Trigger,
    pub(in crate::site) by: &'a Initiator,
    pub(in crate::site) now: Now,
}

pub(in crate::site) type Check = Result<(), Reason>;

impl Facts for PlacementFacts<'_> {
    fn check(&self, guard: Guard) -> Check {
        match guard {
            Guard::NodeOnline => self.node_online(),
            Guard::SlotFree => self.slot_free(),
            Guard::StepOpen => self.step_open(),
            Guard::NotHeld => self.not_held(),
            Guard::WindowOpen => self.window_open(),
            Guard::NotQuarantined => self.not_quarantined(),
            Guard::LastGoodKnown => self.last_good_known(),
            Guard::TriesSpent => self.tries_spent(),
            Guard::PolicyRollsBack => self.policy_rolls_back(),
            Guard::Due => self.due(),
            Guard::RevisionMatches => self.revision_matches(),
            Guard::ForcedIfUnknown => self.forced_if_unknown(),
            Guard::Undelivered => self.undelivered(),
            Guard::VolumesPurged => self.volumes_purged(),
        }
    }
}

impl PlacementFacts<'_> {
    fn node_online(&self) -> Check {
        let node = self.placement.id.node.clone();
        match self.site.site_nodes.get(&node) {
            None => Err(Reason::NodeRetired { node }),
            Some(site_node) if site_node.is_online() => Ok(()),
            Some(site_node) if site_node.presence == crate::event::Presence::Joined => {
                Err(Reason::NodeNeverHeard { node })
            }
            Some(site_node) => {
                Err(Reason::NodeOffline { node, last_heard: site_node.last_heard_wall })
            }
        }
    }

    /// Rollbacks and removals ignore a stopped rollout: they repair it.
    fn slot_free(&self) -> Check {
        let backward = self.moves_backward() || self.has_failed_rollback_or_removal();
        if let Some(stopped) = self.deployment.stopped.as_ref().filter(|_| !backward) {
            let (node, code) = (stopped.node.clone(), stopped.failure.code.clone());
            return Err(Reason::RolloutStopped { node, code });
        }
        self.has_slot()
    }

    pub(in crate::site) fn has_failed_rollback_or_removal(&self) -> bool {
        matches!(self.placement.state(), State::Failed(Op::Rollback | Op::Delete))
    }

    /// A hold stops new changes; rollbacks and repairs go on.
    fn not_held(&self) -> Check {
        if self.moves_backward() || self.by.skips_hold_and_backoff || self.is_repair() {
            return Ok(());
        }
        let holds = &self.site.holds;
        if let Some(hold) = holds.get(&HoldScope::Site).cloned() {
            return Err(Reason::HeldSite { by: hold.by, note: hold.note, since: hold.since });
        }
        let scope = HoldScope::Deployment(self.deployment.id.clone());
        match holds.get(&scope).cloned() {
            Some(it) => Err(Reason::HeldDeployment { by: it.by, note: it.note, since: it.since }),
            None => Ok(()),
        }
    }

    fn window_open(&self) -> Check {
        if self.moves_backward() {
            return Ok(());
        }
        too_early(self.site, self.deployment, self.now.wall).map_or(Ok(()), Err)
    }

    fn not_quarantined(&self) -> Check {
        let workload = self.want.as_ref().map(|it| it.revision.workload);
        let found = workload.and_then(|it| self.deployment.quarantine.get(&it));
        found.map_or(Ok(()), |it| Err(it.reason()))
    }

    fn last_good_known(&self) -> Check {
        if self.moves_backward() { Ok(()) } else { Err(Reason::NoLastGood) }
    }

    /// A quarantined revision gets no further tries: the site has decided.
    fn tries_spent(&self) -> Check {
        if self.deployment.is_quarantined() {
            return Ok(());
        }
        let Some(failure) = &self.placement.failure else { return Ok(()) };
        if failure.code.class() != Class::Revision {
            return Err(Reason::EnvironmentError { code: failure.code.clone() });
        }
        let limit = revision_error_limit(self.deployment, Op::Update, self.placement);
        let left = limit.saturating_sub(self.placement.revision_errors);
        if left > 0 { Err(Reason::TriesLeft { count: left }) } else { Ok(()) }
    }

    fn policy_rolls_back(&self) -> Check {
        if self.deployment.is_quarantined() {
            return Ok(());
        }
        if self.placement.health_lost_after_proving {
            return Err(Reason::HealthLostAfterSoak);
        }
        match self.deployment.policy().map(|it| it.settings.on_failure) {
            Some(OnFailure::Stop) | None => Err(Reason::PolicyStops),
            Some(OnFailure::RollbackNode | OnFailure::RollbackSite) => Ok(()),
        }
    }

    fn due(&self) -> Check {
        if self.by.skips_hold_and_backoff {
            return Ok(());
        }
        match self.placement.retry_at {
            Some(at) if at <= self.now.mono => Ok(()),
            Some(at) => Err(Reason::Backoff { until: self.now.wall_second(at) }),
            None => Err(self.given_up()),
        }
    }

    /// A failed revision is retried only while it is wanted; otherwise it is
    /// replaced.
    fn revision_matches(&self) -> Check {
        let wanted = self.want.as_ref().map(|it| it.revision.workload);
        match (wanted, self.placement.target_workload()) {
            (Some(wanted), Some(reported)) if wanted != reported => {
                Err(Reason::OtherRevision { wanted, reported })
            }
            _ => Ok(()),
        }
    }

    fn forced_if_unknown(&self) -> Check {
        let unknown = matches!(self.placement.state(), State::Unknown(_));
        if unknown && self.by.actor.is_operator() && !self.by.skips_hold_and_backoff {
            return Err(Reason::UnknownNeedsForce);
        }
        Ok(())
    }

    fn undelivered(&self) -> Check {
        if self.placement.may_be_on_node { Err(Reason::WasDelivered) } else { Ok(()) }
    }

    /// Volumes belong to the name of a deployment. One that is deployed again
    /// under the name must not get those that are to be removed.
    fn volumes_purged(&self) -> Check {
        let node = &self.placement.id.node;
        match self.site.purge_before(node, self.deployment) {
            Some(deployment) => Err(Reason::PurgeFirst { node: node.clone(), deployment }),
            None => Ok(()),
        }
    }

    /// The placement rolls back from a bad revision, or is removed with it.
    pub(in crate::site) fn moves_backward(&self) -> bool {
        let undeployed = self.want.is_none()
            && !self.deployment.withdrawn
            && self.deployment.nodes.contains(&self.placement.id.node);
        undeployed || self.want.as_ref().is_some_and(|it| it.back)
    }

    pub(in crate::site) fn is_repair(&self) -> bool {
        let state = self.placement.state();
        self.trigger == Trigger::Retry
            && (self.placement.health_lost_after_proving || state == State::Failed(Op::Rollback))
    }

    /// Why no automatic retry follows.
    fn given_up(&self) -> Reason {
        let code = self.placement.failure.as_ref().map(|it| it.code.clone());
        let code = code.unwrap_or(Code::ProgressDeadline);
        match code.class() {
            Class::Device => Reason::Refused { node: self.placement.id.node.clone(), code },
            Class::Environment | Class::Revision => {
                Reason::TriesUsedUp { tries: self.placement.revision_errors, code }
            }
        }
    }
}

/// Whether a maintenance window or a delay blocks the start, and until when.
pub(in crate::site) fn too_early(
    site: &Site,
    deployment: &Deployment,
    now: Timestamp,
) -> Option<Reason> {
    match deployment.policy() {
        Some(it) => site.settings.too_early(&it.settings, deployment.since, now),
        None => site.settings.opens(now).map(|opens| Reason::WindowClosed { opens }),
    }
}

/// How many revision errors an operation may spend. An update without a version
/// to roll back to is treated as an install.
pub(in crate::site) fn revision_error_limit(
    deployment: &Deployment,
    op: Op,
    placement: &Placement,
) -> u32 {
    let settings = deployment.policy().map(|it| it.settings.clone()).unwrap_or_default();
    match op {
        Op::Update if placement.revisions.rollback_target().is_some() => settings.update_tries,
        Op::Update => settings.install_tries,
        Op::Install | Op::Rollback | Op::Delete => settings.install_tries,
    }
}

impl crate::site::Quarantine {
    pub(crate) fn reason(&self) -> Reason {
        Reason::Quarantined {
            workload: self.revision.workload,
            code: self.failure.code.clone(),
            node: self.node.clone(),
            since: self.since,
        }
    }
}
