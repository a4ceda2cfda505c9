//! What a placement is doing, in words, and the causes that lie in its node.

use crate::attempt::Revision;
use crate::document::FileFacts;
use crate::event::Presence;
use crate::site::Deployment;
use crate::site::view::Unfit;
use crate::state::{Op, State};
use crate::time::Timestamp;
use crate::transition::Trigger;
use crate::why::fit::unfit_text;
use crate::why::placement::Case;
use crate::why::{AttemptCause, Cause, FitCause, NodeCause, RemovalCause, Waiting};

impl Case<'_> {
    pub(super) fn in_progress(&self) -> Cause {
        let attempt = self.placement.attempt.as_ref();
        Cause::Attempt(AttemptCause::InProgress {
            node: self.placement.id.node.clone(),
            attempt: self.placement.attempt_number(),
            started: attempt.map_or(self.placement.since, |it| it.started),
            deadline: self.deadline(),
            settling: attempt.and_then(|it| it.settling),
        })
    }

    /// The failure of the active version beside a staged one is listed as well.
    pub(super) fn active_failure(&self) -> Option<Cause> {
        let lost = self.placement.active_failure()?;
        let (version, failure) = (self.version(&lost.revision), lost.failure.clone());
        Some(Cause::Attempt(AttemptCause::RunningLost {
            node: self.placement.id.node.clone(),
            version,
            failure,
        }))
    }

    pub(super) fn suspect(&self) -> Option<Cause> {
        let site_node = self.site_node()?;
        super::node::suspect(self.site, site_node)
    }

    pub(super) fn stale(&self) -> Option<Cause> {
        let site_node = self.site_node().filter(|it| it.presence() == Presence::Offline)?;
        Some(Cause::Node(NodeCause::Stale {
            node: site_node.name.clone(),
            last_heard: site_node.last_heard(),
        }))
    }

    /// Placements are sticky: a node that no longer fits keeps its placement,
    /// and the reason is reported.
    pub(super) fn lost_eligibility(&self) -> Option<Cause> {
        let site_node = self.site_node()?;
        let document = self.deployment.policy().filter(|_| self.outlook.wants.is_some())?;
        let unfit = self.site.fitness(document, site_node).err()?;
        if matches!(unfit, Unfit::Cordoned | Unfit::NoCapabilities) {
            return None;
        }
        let reason = unfit_text(&unfit, site_node)?;
        Some(Cause::Fit(FitCause::LostEligibility { node: site_node.name.clone(), reason }))
    }

    pub(super) fn lost_attempt(&self) -> Cause {
        let (node, attempt) = (self.placement.id.node.clone(), self.placement.attempt_number());
        if self.site_node().is_some_and(|it| it.is_online()) {
            let again_at = self.placement.silent_at().map(|it| self.now.wall_second(it));
            return Cause::Attempt(AttemptCause::LostSilent { node, attempt, again_at });
        }
        let (last_heard, until) = (self.last_heard(), self.deadline());
        Cause::Attempt(AttemptCause::LostOffline { node, attempt, last_heard, until })
    }

    pub(super) fn removal(&self) -> Cause {
        let node = self.placement.id.node.clone();
        if self.site_node().is_some_and(|it| it.is_online()) {
            return Cause::Removal(RemovalCause::Removing { node, told: self.placement.since });
        }
        Cause::Removal(RemovalCause::DeleteWaitsForNode { node, last_heard: self.last_heard() })
    }

    fn last_heard(&self) -> Option<Timestamp> {
        let site_node = self.site_node().filter(|it| it.presence() != Presence::Joined)?;
        Some(site_node.last_heard())
    }

    fn deadline(&self) -> Option<Timestamp> {
        self.placement.deadline_at().map(|it| self.now.wall_second(it))
    }

    pub(super) fn version(&self, revision: &Revision) -> String {
        version(self.deployment, revision)
    }

    /// What the placement is doing, as the predicate of a sentence.
    pub(super) fn doing(&self) -> String {
        let target = self.placement.revisions.target.as_ref();
        let has = target.map_or("it".to_owned(), |it| self.version(it));
        match self.placement.state() {
            State::Pending if self.outlook.trigger == Some(Trigger::Remove) => {
                "was never started".to_owned()
            }
            State::Pending => format!("waits to install {}", self.wanted()),
            State::Installing => format!("is installing {has}"),
            State::Updating if self.placement.is_ready_to_take_over() => {
                format!("has {has} staged")
            }
            State::Updating => format!("is updating to {has}"),
            State::RollingBack => format!("is rolling back to {has}"),
            State::Installed => format!("runs {has}"),
            State::Failed(op) => self.failed_doing(op, &has),
            State::Unknown(op) => format!("was {} {has} when contact was lost", gerund(op)),
            State::Deleting => format!("is being removed{}", self.leaving()),
            State::Deleted => "is removed".to_owned(),
        }
    }

    fn failed_doing(&self, op: Op, has: &str) -> String {
        match op {
            _ if self.placement.is_lost_late() => format!("ran {has} until it lost its health"),
            Op::Install => format!("failed to install {has}"),
            Op::Update => format!("failed to update to {has}"),
            Op::Rollback => format!("failed to roll back to {has}"),
            Op::Delete => "could not be removed".to_owned(),
        }
    }

    /// What it would do if nothing blocked it.
    pub(super) fn waits(&self) -> Option<Waiting> {
        let to = match self.outlook.trigger {
            Some(Trigger::Revised | Trigger::Superseded) if self.is_first() => {
                format!("install {}", self.wanted())
            }
            Some(Trigger::Revised | Trigger::Superseded) => format!("update to {}", self.wanted()),
            Some(Trigger::Rollback) => format!("roll back to {}", self.wanted()),
            Some(Trigger::Remove) => format!("be removed{}", self.leaving()),
            _ => return None,
        };
        Some(Waiting { since: self.waits_since(), to })
    }

    fn wanted(&self) -> String {
        self.outlook.wants.as_ref().map_or("nothing".to_owned(), |it| self.version(it))
    }

    /// Nothing was installed before.
    fn is_first(&self) -> bool {
        self.placement.state().op() == Some(Op::Install)
    }

    /// What happens to it when the cause is gone.
    pub(super) fn clause(&self) -> String {
        let wanted = self.wanted();
        match self.outlook.trigger {
            Some(Trigger::Start) => format!("{wanted} is installed"),
            Some(Trigger::Revised | Trigger::Superseded) if self.is_first() => {
                format!("{wanted} is installed")
            }
            Some(Trigger::Revised | Trigger::Superseded) => format!("it is updated to {wanted}"),
            Some(Trigger::Promoted) => format!("{wanted} takes over"),
            Some(Trigger::Rollback) => format!("it is rolled back to {wanted}"),
            Some(Trigger::Remove | Trigger::NeverDelivered) => "it is removed".to_owned(),
            Some(Trigger::Readded) => format!("{wanted} is placed again"),
            _ => "it is tried again".to_owned(),
        }
    }

    /// Why it is removed.
    fn leaving(&self) -> String {
        let (deployment, node) = (self.deployment, &self.placement.id.node);
        let accepted = self.version(deployment.accepted());
        if deployment.is_withdrawn() {
            " because its file is gone from Git".to_owned()
        } else if !deployment.nodes().contains(node) {
            " because its file no longer chooses this node".to_owned()
        } else if self.bad().is_some() {
            format!(" because {accepted} failed and there is nothing to go back to")
        } else {
            String::new()
        }
    }
}

/// The version of the application, with the digest where the version is
/// ambiguous.
pub(super) fn version(deployment: &Deployment, revision: &Revision) -> String {
    let (digest, Some(text)) = (revision.workload.short(), version_text(deployment, revision))
    else {
        return revision.workload.short();
    };
    let twin = |it: &&Revision| it.workload != revision.workload;
    let twins = deployment.revisions().filter(twin).filter_map(|it| version_text(deployment, it));
    match twins.into_iter().any(|it| it == text) {
        true => format!("{text} ({digest})"),
        false => text,
    }
}

fn version_text(deployment: &Deployment, revision: &Revision) -> Option<String> {
    let version = FileFacts::of(&deployment.document(revision)?.spec).version;
    Some(version).filter(|it| !it.is_empty())
}

fn gerund(op: Op) -> &'static str {
    match op {
        Op::Install => "installing",
        Op::Update => "updating to",
        Op::Rollback => "rolling back to",
        Op::Delete => "removing",
    }
}
