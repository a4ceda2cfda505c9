//! The site's answers to the guards of the transition table.

use crate::code::{Class, Code};
use crate::document::{OnFailure, Strategy, Unavailable};
use crate::event::HoldScope;
use crate::site::moving::By;
use crate::site::want::Want;
use crate::site::{Deployment, Placement, Site, TooEarly};
use crate::state::{Op, State};
use crate::time::{Now, Wall};
use crate::transition::{Facts, Guard, Reason, Trigger};

/// What is known about one placement when it is about to move.
pub(super) struct PlacementFacts<'a> {
    pub(super) site: &'a Site,
    pub(super) deployment: &'a Deployment,
    pub(super) placement: &'a Placement,
    pub(super) want: Option<Want>,
    pub(super) trigger: Trigger,
    pub(super) by: &'a By,
    pub(super) now: Now,
}

pub(super) type Check = Result<(), Reason>;

impl Facts for PlacementFacts<'_> {
    fn check(&self, guard: Guard) -> Check {
        match guard {
            Guard::NodeOnline => self.node_online(),
            Guard::WaveOpen => self.wave_open(),
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
        }
    }
}

impl PlacementFacts<'_> {
    fn node_online(&self) -> Check {
        let node = self.placement.id.node.clone();
        match self.site.members.get(&node) {
            None => Err(Reason::NodeRetired { node }),
            Some(member) if member.is_online() => Ok(()),
            Some(member) if member.presence == crate::event::Presence::Joined => {
                Err(Reason::NodeNeverHeard { node })
            }
            Some(member) => Err(Reason::NodeOffline { node, last_heard: member.last_heard_wall }),
        }
    }

    /// Ways back and removals are never queued behind a stopped rollout; what
    /// is already down takes no further slot.
    fn wave_open(&self) -> Check {
        let state = self.placement.state();
        let is_back = self.is_back() || matches!(state, State::Failed(Op::Rollback | Op::Delete));
        if let Some(stopped) = self.deployment.stopped.as_ref().filter(|_| !is_back) {
            let (node, code) = (stopped.node.clone(), stopped.failure.code.clone());
            return Err(Reason::WaveStopped { node, code });
        }
        let limit = limit(self.deployment).filter(|_| !self.takes_nothing_down());
        limit.map_or(Ok(()), |it| self.slot_free(it))
    }

    fn slot_free(&self, limit: u32) -> Check {
        let lanes = &self.deployment.lanes;
        // What a device refused may still run what it had: it is not down.
        let failed = matches!(self.placement.state(), State::Failed(_));
        let is_down = failed && !self.placement.is_refused() && !self.placement.aside;
        let taken = if is_down { lanes.busy.len() } else { lanes.busy.len() + self.others_down() };
        let holds_slot = lanes.busy.contains(&self.placement.id.node);
        if holds_slot || (is_down && self.leaves_again()) || taken < limit as usize {
            return Ok(());
        }
        let busy = lanes.busy.iter().chain(&lanes.failed).take(3).cloned().collect();
        Err(Reason::WaveFull { busy, taken, limit })
    }

    /// Those that failed; whom the open step does not mean stays down as long
    /// as it is open, and would hold up for ever whom it means.
    fn others_down(&self) -> usize {
        let failed = &self.deployment.lanes.failed;
        match self.deployment.is_open() {
            true => failed.len(),
            false => failed.iter().filter(|it| self.site.is_of_step(self.deployment, it)).count(),
        }
    }

    /// Another try of a way back or a removal.
    fn leaves_again(&self) -> bool {
        let leaves = matches!(self.placement.state(), State::Failed(Op::Rollback | Op::Delete));
        leaves && (self.trigger == Trigger::Retry || self.is_back())
    }

    /// A hold stops what is new; ways back, repairs and confirmations go on.
    fn not_held(&self) -> Check {
        if self.is_back() || self.by.forced || self.is_repair() {
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
        if self.is_back() {
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
        if self.is_back() { Ok(()) } else { Err(Reason::NoLastGood) }
    }

    /// A quarantined revision needs no more tries: the site has decided.
    fn tries_spent(&self) -> Check {
        if self.deployment.is_quarantined() {
            return Ok(());
        }
        let Some(failure) = &self.placement.failure else { return Ok(()) };
        if failure.code.class() != Class::Revision {
            return Err(Reason::EnvironmentError { code: failure.code.clone() });
        }
        let budget = budget(self.deployment, Op::Update, self.placement);
        let left = budget.saturating_sub(self.placement.tries);
        if left > 0 { Err(Reason::TriesLeft { left }) } else { Ok(()) }
    }

    fn policy_rolls_back(&self) -> Check {
        if self.deployment.is_quarantined() {
            return Ok(());
        }
        if self.placement.lost_late {
            return Err(Reason::HealthLostAfterSoak);
        }
        match self.deployment.policy().map(|it| it.settings.on_failure) {
            Some(OnFailure::Stop) | None => Err(Reason::PolicyStops),
            Some(OnFailure::RollbackNode | OnFailure::RollbackSite) => Ok(()),
        }
    }

    fn due(&self) -> Check {
        if self.by.forced {
            return Ok(());
        }
        match self.placement.retry_at {
            Some(at) if at <= self.now.mono => Ok(()),
            Some(at) => Err(Reason::Backoff { until: self.now.wall_second(at) }),
            None => Err(self.given_up()),
        }
    }

    /// What failed comes back only as what is wanted; else it is replaced.
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
        if unknown && self.by.actor.is_operator() && !self.by.forced {
            return Err(Reason::UnknownNeedsForce);
        }
        Ok(())
    }

    fn undelivered(&self) -> Check {
        if self.placement.delivered { Err(Reason::WasDelivered) } else { Ok(()) }
    }

    /// The placement leaves a bad revision, or leaves with it.
    pub(super) fn is_back(&self) -> bool {
        let undeployed = self.want.is_none()
            && !self.deployment.withdrawn
            && self.deployment.nodes.contains(&self.placement.id.node);
        undeployed || self.want.as_ref().is_some_and(|it| it.back)
    }

    pub(super) fn is_repair(&self) -> bool {
        let state = self.placement.state();
        self.trigger == Trigger::Retry
            && (self.placement.lost_late || state == State::Failed(Op::Rollback))
    }

    /// Why nothing is tried again by itself.
    fn given_up(&self) -> Reason {
        let code = self.placement.failure.as_ref().map(|it| it.code.clone());
        let code = code.unwrap_or(Code::ProgressDeadline);
        match code.class() {
            Class::Device => Reason::Refused { node: self.placement.id.node.clone(), code },
            Class::Environment | Class::Revision => {
                Reason::TriesUsedUp { tries: self.placement.tries, code }
            }
        }
    }
}

/// What the clock alone keeps from starting, until the latest of its times.
pub(super) fn too_early(site: &Site, deployment: &Deployment, now: Wall) -> Option<Reason> {
    let early = match deployment.policy() {
        Some(it) => site.settings.too_early(&it.settings, deployment.since, now)?,
        None => TooEarly::Window { opens: site.settings.opens(now)? },
    };
    Some(match early {
        TooEarly::Window { opens } => Reason::WindowClosed { opens },
        TooEarly::Delay { until } => Reason::Delayed { until },
    })
}

/// How many nodes may be down at once; `None` if any number may.
pub(super) fn limit(deployment: &Deployment) -> Option<u32> {
    let limit = match deployment.policy().map(|it| &it.settings.strategy) {
        Some(Strategy::AllAtOnce) => None,
        Some(Strategy::Rolling { max_unavailable }) => Some(*max_unavailable),
        Some(Strategy::Canary(it)) => Some(it.max_unavailable),
        Some(Strategy::BlueGreen(it)) => it.max_unavailable,
        None => Some(Unavailable::Count(1)),
    };
    limit.map(|it| it.of(deployment.nodes.len()))
}

/// How many revision errors an operation may spend. What has nothing to go
/// back to is treated as an install.
pub(super) fn budget(deployment: &Deployment, op: Op, placement: &Placement) -> u32 {
    let settings = deployment.policy().map(|it| it.settings.clone()).unwrap_or_default();
    match op {
        Op::Update if placement.revisions.way_back().is_some() => settings.update_tries,
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
