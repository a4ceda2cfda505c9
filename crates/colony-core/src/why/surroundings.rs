//! The outside of a site, as its shell knows it: connections that are down, and
//! nodes that report that they are not ready.
//!
//! Decisions do not depend on it; answers do.

use std::collections::BTreeMap;

use crate::id::NodeName;
use crate::site::Site;
use crate::time::Timestamp;
use crate::why::{AttemptCause, Cause, FitCause, Misfit, NodeCause, SiteCause, Subject, Why};

/// The outside of a site, as last seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Nodes that are online and report that they are not ready, with the
    /// reasons.
    pub unready: BTreeMap<NodeName, Vec<String>>,
    pub central: Option<Outage>,
    pub git: Option<Outage>,
}

/// An outside service that does not respond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    pub since: Timestamp,
    pub problem: String,
}

impl Surroundings {
    /// The causes from outside for the site as a whole.
    pub(super) fn site(&self, site: &Site) -> Vec<Why> {
        let central = self.central.clone().map(|Outage { since, problem }| {
            Cause::Site(SiteCause::CentralUnreachable { since, problem })
        });
        let git = self.git.clone().map(|Outage { since, problem }| {
            Cause::Site(SiteCause::GitUnreachable { since, problem })
        });
        let causes = central.into_iter().chain(git);
        causes.filter_map(|it| super::site::answer(site, it)).collect()
    }

    /// The answer for a node, including what the node reports about itself.
    pub(super) fn node(&self, node: &NodeName, known: Option<Why>) -> Option<Why> {
        let Some(own) = self.not_ready(node) else { return known };
        // The report of a node that is not ready comes first: it explains the
        // rest.
        let others = known.into_iter().flat_map(|it| std::iter::once(it.cause).chain(it.also));
        let subject = Subject::Node { node: node.clone() };
        let causes = std::iter::once(own).chain(others).collect();
        Why::new(subject, causes, "it starts its deployments when it is ready")
    }

    /// Adds the causes of nodes that are not ready. They come first for an
    /// attempt in progress, which waits for its node, and last for a backoff and
    /// for a lack of nodes.
    pub(super) fn placement(&self, why: &mut Why) {
        let unready = |nodes: &[NodeName]| -> Vec<Cause> {
            nodes.iter().filter_map(|it| self.not_ready(it)).collect()
        };
        match (&why.subject, &why.cause) {
            (Subject::Placement { nodes, .. }, Cause::Attempt(AttemptCause::InProgress { .. })) => {
                let since = why.since;
                let (subject, mut causes) = (why.subject.clone(), unready(nodes));
                if causes.is_empty() {
                    return;
                }
                causes.extend(why.causes().cloned());
                if let Some(found) = Why::new(subject, causes, "the attempt goes on") {
                    *why = Why { since, ..found };
                }
            }
            (Subject::Placement { nodes, .. }, Cause::Attempt(AttemptCause::Backoff { .. })) => {
                why.also.extend(unready(nodes));
            }
            (
                Subject::Deployment { .. },
                Cause::Fit(FitCause::NothingFits { unfit } | FitCause::TooFewFit { unfit, .. }),
            ) => {
                let mute = unfit.iter().filter(|it| it.misfit == Misfit::NoCapabilities);
                let found: Vec<Cause> = mute.flat_map(|it| unready(&it.nodes)).collect();
                why.also.extend(found);
            }
            _ => {}
        }
    }

    fn not_ready(&self, node: &NodeName) -> Option<Cause> {
        let reasons = self.unready.get(node)?.clone();
        Some(Cause::Node(NodeCause::NodeNotReady { node: node.clone(), reasons }))
    }
}
