//! Which causes apply to a deployment at a site, outermost first.

use std::fmt;
use std::time::Duration;

use crate::event::{HoldScope, StepStanding};
use crate::fleet::tally::Share;
use crate::fleet::view::{DeploymentView, PlacementView};
use crate::fleet::{Fleet, FleetCause, Owner, SiteView, Target};
use crate::id::{DeploymentName, SiteName};
use crate::site::Hold;
use crate::state::State;
use crate::time::{Spoken, Wall};
use crate::why::until;

/// An LO that is not heard for so long is offline, as far as CO can tell.
pub const LO_SILENT: Duration = Duration::from_secs(60);

/// A cause, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    pub cause: FleetCause,
    pub owner: Owner,
    pub since: Option<Wall>,
    pub next: String,
    /// When that is due, if it is known.
    pub next_at: Option<Wall>,
    /// What the owner or somebody else can do meanwhile.
    pub act: Option<String>,
    pub asked: Wall,
    /// How long it has lasted when it was asked.
    pub lasted: Option<Duration>,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cause)?;
        if let Some(lasted) = self.lasted {
            write!(f, ", for {}", Spoken(lasted))?;
        }
        let when = self.next_at.map(|it| format!(", {}", until(it, self.asked)));
        write!(f, "; {}{}: {}", self.owner, when.unwrap_or_default(), self.next)?;
        self.act.as_ref().map_or(Ok(()), |it| write!(f, "; to do: {it}"))
    }
}

impl Fleet {
    /// Everything that stands between a deployment and its end at `site`;
    /// nothing if it is there, `None` if there is no such site.
    pub fn why(&self, site: &SiteName, name: &DeploymentName, now: Wall) -> Option<Vec<Why>> {
        let view = self.sites.get(site)?;
        let mut asked = Asked { site, view, now, found: Vec::new() };
        asked.target(name);
        for deployment in view.deployments_named(name) {
            asked.deployment(deployment);
        }
        if !asked.found.is_empty() {
            asked.site();
        }
        Some(asked.found)
    }
}

struct Asked<'a> {
    site: &'a SiteName,
    view: &'a SiteView,
    now: Wall,
    found: Vec<Why>,
}

impl Asked<'_> {
    fn add(&mut self, cause: FleetCause, since: Option<Wall>) {
        self.found.push(self.why(cause, since));
    }

    fn why(&self, cause: FleetCause, since: Option<Wall>) -> Why {
        let lasted = since.map(|it| self.now.since(it));
        let (owner, act) = (cause.owner(), cause.act());
        let (next, next_at) = (cause.next_step(), cause.next_at());
        Why { cause, owner, since, next, next_at, act, asked: self.now, lasted }
    }

    /// The site as a whole explains whatever is found below it.
    fn site(&mut self) {
        let (head, site) = (&self.view.head, self.site.clone());
        let Some(incarnation) = self.view.incarnation() else {
            let why = self.why(FleetCause::NeverJoined { site }, None);
            return self.found.insert(0, why);
        };
        if !head.ready {
            let cause = match incarnation {
                0 => FleetCause::NotReady { site: site.clone() },
                _ => FleetCause::TakingOver { site: site.clone(), incarnation },
            };
            self.found.insert(0, self.why(cause, head.joined));
        }
        if head.last_heard.is_none_or(|it| self.now.since(it) >= LO_SILENT) {
            let cause = FleetCause::LoSilent { site, incarnation };
            self.found.insert(0, self.why(cause, head.last_heard));
        }
    }

    fn target(&mut self, name: &DeploymentName) {
        let path = path(self.site, name);
        match self.view.targets.get(name) {
            None | Some(Target::Accepted { .. }) => {}
            Some(Target::Planned { since }) => {
                self.add(FleetCause::Planned { path: path.clone() }, Some(*since));
            }
            Some(Target::Conflict { expected, found, since, .. }) => {
                let (expected, found) = (expected.clone(), found.clone());
                let cause = FleetCause::Conflict { path: path.clone(), expected, found };
                self.add(cause, Some(*since));
            }
            Some(Target::Refused { reason, since, .. }) => {
                let cause = FleetCause::Refused { path: path.clone(), reason: reason.clone() };
                self.add(cause, Some(*since));
            }
            Some(Target::Committed { git, blob, since }) => {
                let (site, commit, blob) = (self.site.clone(), git.clone(), blob.clone());
                let at = self.view.head.git.clone();
                let cause = FleetCause::NotSeen { site, path: path.clone(), commit, blob, at };
                self.add(cause, Some(*since));
                self.git();
            }
        }
        self.file(path);
    }

    fn file(&mut self, path: String) {
        let Some(findings) = self.view.files.get(&path) else { return };
        let first = findings.first();
        let cause = FleetCause::FileRefused {
            path,
            line: first.map_or(0, |it| it.line),
            column: first.map_or(0, |it| it.column),
            problem: first.map_or(String::new(), |it| it.subject_and_problem()),
            more: findings.len().saturating_sub(1),
        };
        self.add(cause, None);
    }

    /// What keeps the site from taking a commit.
    fn git(&mut self) {
        if let Some(it) = &self.view.holds.history {
            let since = Some(it.since);
            self.add(FleetCause::HistoryHeld { commit: it.commit.clone() }, since);
        }
    }

    fn deployment(&mut self, deployment: &DeploymentView) {
        let before = self.found.len();
        self.removal(deployment);
        self.verdict(deployment);
        for placement in self.view.placements_of(&deployment.id) {
            self.placement(deployment, placement);
        }
        self.unplaced(deployment);
        if self.found.len() > before {
            self.holds(deployment);
        }
    }

    fn removal(&mut self, deployment: &DeploymentView) {
        let Some(it) = &self.view.holds.removal else { return };
        if it.deployments.contains(&deployment.id) {
            let (commit, count) = (it.commit.clone(), it.deployments.len());
            self.add(FleetCause::RemovalHeld { commit, count }, Some(it.since));
        }
    }

    /// What the site has decided about the revision itself.
    fn verdict(&mut self, deployment: &DeploymentView) {
        if let Some(it) = deployment.stopped.as_ref() {
            let (node, code) = (it.node.clone(), it.failure.code.clone());
            self.add(FleetCause::RolloutStopped { node, code }, Some(it.since));
        }
        let rollout = deployment.rollout.as_ref();
        if let Some(it) =
            rollout.filter(|it| it.paused.is_some() || it.standing != StepStanding::Open)
        {
            let (step, of, standing) = (it.step, it.of, it.standing);
            let paused_by = it.paused.as_ref().map(|it| it.by.clone());
            let since = it.paused.as_ref().map(|it| it.since);
            self.add(FleetCause::RolloutWaits { step, of, standing, paused_by }, since);
        }
        if let Some(pair) = deployment.awaits_revert()
            && let Some(good) = &pair.good
        {
            let path = path(self.site, &deployment.name);
            let (bad, good) = (pair.bad.clone(), good.blob.clone());
            self.add(FleetCause::AwaitsRevert { path, bad, good }, Some(pair.since));
        }
        let left = deployment.rolled_back.as_ref().map(|it| it.bad.workload);
        let bad = left.unwrap_or(deployment.accepted.workload);
        if let Some(it) = deployment.quarantine.get(&bad) {
            let good = deployment.good.as_ref().filter(|it| it.workload != bad);
            let cause = FleetCause::Quarantined {
                bad: it.revision.clone(),
                good: good.map(|it| it.blob.clone()),
                node: it.node.clone(),
                code: it.failure.code.clone(),
            };
            self.add(cause, Some(it.since));
        }
    }

    fn placement(&mut self, deployment: &DeploymentView, it: &PlacementView) {
        let (node, state, attempt) = (it.id.node.clone(), it.state, it.attempt);
        let cause = match self.view.share(it) {
            Share::Installed => None,
            Share::RolledBack if state == State::Installed => deployment
                .rejected
                .get(&node)
                .map(|it| FleetCause::Rejected { node: node.clone(), workload: it.workload }),
            Share::Updating if state == State::Installed => Some(FleetCause::Queued { node }),
            Share::Deferred => Some(FleetCause::NodeAway { node, state }),
            Share::Created if state == State::Pending => Some(FleetCause::Waiting { node }),
            Share::Failed => {
                let code = it.failure.as_ref().map(|it| it.code.clone());
                let code = code.unwrap_or(crate::code::Code::ProgressDeadline);
                Some(FleetCause::Failed { node, state, attempt, code, retry: it.retry })
            }
            Share::Created
            | Share::Updating
            | Share::RolledBack
            | Share::Unknown
            | Share::Deleting => Some(FleetCause::Underway { node, state, attempt }),
        };
        if let Some(cause) = cause {
            self.add(cause, Some(it.since));
        }
        if let Some(lost) = it.running.as_ref().filter(|_| self.view.is_online(&it.id.node)) {
            let (node, revision) = (it.id.node.clone(), lost.revision.clone());
            let code = lost.failure.code.clone();
            self.add(FleetCause::RunningLost { node, revision, code }, Some(lost.since));
        }
        if let Some(flag) = it.flagged.clone() {
            let (node, since) = (it.id.node.clone(), flag.at);
            self.add(FleetCause::Flagged { node, flag }, Some(since));
        }
    }

    fn unplaced(&mut self, deployment: &DeploymentView) {
        let placed = self.view.placements.contains_key(&deployment.id);
        if placed || deployment.withdrawn || deployment.is_quarantined() {
            return;
        }
        let (revision, nodes) = (deployment.accepted.clone(), self.view.nodes.len());
        self.add(FleetCause::NothingFits { revision, nodes }, Some(deployment.since));
    }

    /// A hold is a cause only of what is not at its end.
    fn holds(&mut self, deployment: &DeploymentView) {
        let own = HoldScope::Deployment(deployment.id.clone());
        for (scope, whole) in [(HoldScope::Site, true), (own, false)] {
            let Some(Hold { by, note, since }) = self.view.holds.holds.get(&scope) else {
                continue;
            };
            let (site, by, note) = (self.site.clone(), by.clone(), note.clone());
            self.add(FleetCause::Held { site, whole, by, note }, Some(*since));
        }
    }
}

/// The path of a deployment's file in Git.
fn path(site: &SiteName, name: &DeploymentName) -> String {
    format!("deployments/{site}/{name}.yaml")
}
