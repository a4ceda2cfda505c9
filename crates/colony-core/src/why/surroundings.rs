//! What a site's shell knows of the outside: lines that are down, nodes that
//! report that they cannot work. Decisions do not depend on it; answers do.

use std::collections::BTreeMap;

use crate::id::NodeName;
use crate::site::Site;
use crate::time::Wall;
use crate::why::{AttemptCause, Cause, FitCause, Misfit, NodeCause, SiteCause, Subject, Why};

/// The outside of a site, as last seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Nodes that are heard and say that they are not ready, with their reasons.
    pub unready: BTreeMap<NodeName, Vec<String>>,
    pub central: Option<Outage>,
    pub git: Option<Outage>,
}

/// Something outside that does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    pub since: Wall,
    pub problem: String,
}

impl Surroundings {
    /// What the outside does to the site as a whole.
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

    /// The answer for a node, together with what the node says of itself.
    pub(super) fn node(&self, node: &NodeName, known: Option<Why>) -> Option<Why> {
        let Some(own) = self.not_ready(node) else { return known };
        // A node that cannot work tells why it lacks the rest.
        let others = known.into_iter().flat_map(|it| std::iter::once(it.cause).chain(it.also));
        let subject = Subject::Node { node: node.clone() };
        let causes = std::iter::once(own).chain(others).collect();
        Why::new(subject, causes, "it starts its deployments when it is ready")
    }

    /// What a deployment waits for may lie in what its node reports: then an
    /// attempt under way waits for the node, and the rest names it as well.
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
