//! What a site's shell knows of the outside: lines that are down, nodes that
//! report that they cannot work. Decisions do not depend on it; answers do.

use std::collections::BTreeMap;

use crate::id::NodeName;
use crate::site::Site;
use crate::time::Wall;
use crate::why::{AttemptCause, Cause, NodeCause, SiteCause, Subject, Why};

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
        match known {
            Some(mut why) => {
                why.also.push(own);
                Some(why)
            }
            None => {
                let subject = Subject::Node { node: node.clone() };
                Why::new(subject, vec![own], "it starts what it is given when that is over")
            }
        }
    }

    /// An attempt under way, or a failure, may lie in what its node reports.
    pub(super) fn placement(&self, why: &mut Why) {
        let Subject::Placement { nodes, .. } = &why.subject else { return };
        let waits = matches!(
            why.cause,
            Cause::Attempt(AttemptCause::InProgress { .. })
                | Cause::Attempt(AttemptCause::Backoff { .. })
        );
        let unready: Vec<Cause> = nodes.iter().filter_map(|it| self.not_ready(it)).collect();
        if waits {
            why.also.extend(unready);
        }
    }

    fn not_ready(&self, node: &NodeName) -> Option<Cause> {
        let reasons = self.unready.get(node)?.clone();
        Some(Cause::Node(NodeCause::NodeNotReady { node: node.clone(), reasons }))
    }
}
