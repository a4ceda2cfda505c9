//! Why something is not as it should be, over the whole fleet.
//!
//! A site answers for everything inside it, and its answers are shown
//! unchanged. Only causes that lie before the site are found here: a site that
//! is offline or never joined, and files that are not committed or not fetched
//! yet.

use crate::fleet::view::{DeploymentView, SitePresence};
use crate::fleet::{CentralChange, Fleet, SiteView};
use crate::id::{DeploymentName, SiteName};
use crate::site::deployment_path;
use crate::time::Timestamp;
use crate::why::{AnswerKey, Cause, CentralCause, NodeCause, Subject, Why};

impl Fleet {
    /// Everything that blocks a deployment at `site`, outermost first; empty if
    /// it has reached its goal, `None` if there is no such site. `git` is the
    /// error with which the repository refused the last commit.
    pub fn why(
        &self,
        site: &SiteName,
        name: &DeploymentName,
        git: Option<&str>,
        now: Timestamp,
    ) -> Option<Vec<Why>> {
        let view = self.sites.get(site)?;
        let mut whys: Vec<Why> =
            view.before_site(site, name, git).filter_map(|it| about(name, it)).collect();
        whys.extend(view.answers_before_git(name).cloned());
        whys.extend(view.answers_of(name).cloned());
        whys.extend(view.inconsistent(name).filter_map(|it| about(name, it)));
        if whys.is_empty() {
            whys.extend(view.unexplained(site, name));
        }
        // The state shown for an offline site is as old as its last request.
        whys.splice(0..0, view.why_silent(site, now));
        Some(whys)
    }

    /// Everything that is not as it should be at a site: the site itself, its
    /// nodes, then its deployments.
    pub fn why_site(&self, site: &SiteName, git: Option<&str>, now: Timestamp) -> Option<Vec<Why>> {
        let view = self.sites.get(site)?;
        let mut whys: Vec<Why> = view.why_silent(site, now).collect();
        whys.extend(view.answers_about(&AnswerKey::Site).iter().cloned());
        let node = |it: &&AnswerKey| matches!(it, AnswerKey::Node(_));
        let nodes = view.answers.keys().filter(node);
        whys.extend(nodes.flat_map(|it| view.answers_about(it)).cloned());
        for name in view.deployment_names() {
            let own = view.before_site(site, name, git).filter_map(|it| about(name, it));
            let unknown = |it: &Why| !whys.iter().any(|known| known.covers(it));
            let rest = view
                .answers_of(name)
                .cloned()
                .chain(view.inconsistent(name).filter_map(|it| about(name, it)));
            let new: Vec<Why> = own.chain(rest).filter(unknown).collect();
            whys.extend(new);
        }
        Some(whys)
    }
}

impl Why {
    /// The answer is about a whole site or node, so `other` would only repeat
    /// it for a deployment.
    fn covers(&self, other: &Why) -> bool {
        let whole = matches!(self.subject, Subject::Site { .. } | Subject::Node { .. });
        whole && (self.cause == other.cause || self.is_absence_behind(other))
    }

    /// The last report of a placement is old because its node is offline.
    fn is_absence_behind(&self, other: &Why) -> bool {
        match (&self.cause, &other.cause) {
            (
                Cause::Node(NodeCause::NodeOffline { node, .. }),
                Cause::Node(NodeCause::Stale { node: stale, .. }),
            ) => node == stale,
            _ => false,
        }
    }
}

fn about(name: &DeploymentName, cause: Cause) -> Option<Why> {
    let subject = Subject::Deployment { deployment: name.clone() };
    Why::new(subject, vec![cause], "it is deployed")
}

impl SiteView {
    /// The names of all deployments that exist, are planned, or are refused
    /// here.
    pub fn deployment_names(&self) -> impl Iterator<Item = &DeploymentName> {
        let mut names: Vec<&DeploymentName> = self.known_names().collect();
        names.sort();
        names.dedup();
        names.into_iter()
    }

    /// The site's own answers about a deployment.
    pub fn answers_of(&self, name: &DeploymentName) -> impl Iterator<Item = &Why> {
        let ids = self.deployments_named(name).map(|it| AnswerKey::Deployment(it.id.clone()));
        let file = AnswerKey::File(name.clone());
        let keys: Vec<AnswerKey> = ids.chain([file]).collect();
        keys.into_iter().flat_map(|it| self.answers_about(&it))
    }

    /// The causes that keep the site from a commit with the deployment.
    fn answers_before_git(&self, name: &DeploymentName) -> impl Iterator<Item = &Why> {
        let committed =
            matches!(self.central_changes.get(name), Some(CentralChange::Committed { .. }));
        let all = self.answers_about(&AnswerKey::Site).iter();
        all.filter(move |it| committed && it.cause.is_before_git())
    }

    /// The causes of the site as a whole, as seen by central.
    fn why_silent(&self, site: &SiteName, now: Timestamp) -> impl Iterator<Item = Why> {
        let (head, own) = (&self.head, site.clone());
        let silent = match self.presence(now) {
            SitePresence::Expected => {
                Some(Cause::Central(CentralCause::SiteNeverJoined { site: own }))
            }
            SitePresence::Offline => Some(Cause::Central(CentralCause::SiteSilent {
                site: own,
                last_heard: head.last_heard,
            })),
            SitePresence::Online => None,
        };
        let joined = self.incarnation().filter(|_| !head.ready && self.answers.is_empty());
        let taking_over = joined.map(|incarnation| {
            Cause::Central(CentralCause::SiteNotReady {
                site: site.clone(),
                incarnation,
                joined: head.joined,
            })
        });
        let subject = Subject::Site { site: site.clone() };
        let causes = silent.into_iter().chain(taking_over);
        causes.filter_map(move |it| Why::new(subject.clone(), vec![it], "changes go on"))
    }

    /// The causes between a change of the central orchestrator and the site.
    fn before_site(
        &self,
        site: &SiteName,
        name: &DeploymentName,
        git: Option<&str>,
    ) -> impl Iterator<Item = Cause> {
        let path = deployment_path(site, name);
        let target =
            self.central_changes.get(name).and_then(|it| self.target_cause(site, &path, it, git));
        let reverts = self.deployments_named(name).filter_map(DeploymentView::awaits_revert);
        let revert = reverts.map(|it| it.since).next();
        let revert = revert.map(|since| Cause::Central(CentralCause::AwaitsRevert { path, since }));
        target.into_iter().chain(revert)
    }

    fn target_cause(
        &self,
        site: &SiteName,
        path: &str,
        target: &CentralChange,
        git: Option<&str>,
    ) -> Option<Cause> {
        let path = path.to_owned();
        match target.clone() {
            CentralChange::Accepted { .. } => None,
            CentralChange::Planned { since } => Some(Cause::Central(CentralCause::NotCommitted {
                path,
                since,
                problem: git.map(str::to_owned),
            })),
            CentralChange::Conflict { expected, found, since, .. } => {
                Some(Cause::Central(CentralCause::Conflict { path, expected, found, since }))
            }
            CentralChange::Committed { git: commit, blob, since } => {
                Some(Cause::Central(CentralCause::NotFetched {
                    site: site.clone(),
                    path,
                    commit,
                    removal: blob.is_none(),
                    at: self.head.git.clone(),
                    last_heard: self.head.last_heard,
                    since,
                }))
            }
            CentralChange::Refused { reason, since, .. } => {
                Some(Cause::Central(CentralCause::ChangeRefused { path, reason, since }))
            }
        }
    }

    /// Events that do not fit what was reported before.
    fn inconsistent(&self, name: &DeploymentName) -> impl Iterator<Item = Cause> {
        let placements = self.deployments_named(name).flat_map(|it| self.placements_of(&it.id));
        placements.filter_map(|it| {
            let flag = it.flagged.as_ref()?;
            let (node, problem) = (it.id.node.clone(), flag.to_string());
            Some(Cause::Central(CentralCause::InconsistentReport { node, problem, since: flag.at }))
        })
    }

    /// A change is in progress, and the site has not sent what it waits for:
    /// its orchestrator is of an earlier release, or has not sent its answers
    /// yet.
    fn unexplained(&self, site: &SiteName, name: &DeploymentName) -> Option<Why> {
        let deployment = self.deployment_named(name)?;
        let status = self.rollup_status(name);
        if status.is_at_rest() {
            return None;
        }
        let (site, state, since) = (site.clone(), status.to_string(), deployment.since);
        about(name, Cause::Central(CentralCause::NotExplained { site, state, since }))
    }
}
