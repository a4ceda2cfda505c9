//! Why a deployment is not where it should be, as far as CO can tell.
//!
//! Each cause carries its facts and prints one sentence that names them; its
//! owner is who has to act, `next_step` is what happens then.

use std::fmt;

use crate::attempt::{Retry, Revision};
use crate::code::Code;
use crate::event::{Incarnation, StepStanding};
use crate::fleet::Flag;
use crate::id::{BlobId, GitRevision, NodeName, SiteName};
use crate::state::State;
use crate::time::Wall;

/// Who has to act.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    Operator,
    /// Whoever wrote the file in Git.
    Author,
    SiteEngineer,
    Central,
    Local,
    Node(NodeName),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::Operator => f.write_str("operator"),
            Owner::Author => f.write_str("author of the file"),
            Owner::SiteEngineer => f.write_str("site engineer"),
            Owner::Central => f.write_str("central orchestrator"),
            Owner::Local => f.write_str("local orchestrator"),
            Owner::Node(node) => write!(f, "node {node}"),
        }
    }
}

/// One thing that stands between a deployment and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FleetCause {
    NeverJoined {
        site: SiteName,
    },
    /// The LO is offline, or the line to it.
    LoSilent {
        site: SiteName,
        incarnation: Incarnation,
    },
    /// A replaced LO is fenced, and its successor has not taken over yet.
    TakingOver {
        site: SiteName,
        incarnation: Incarnation,
    },
    NotReady {
        site: SiteName,
    },
    Planned {
        path: String,
    },
    /// Git does not take what was to be written.
    Refused {
        path: String,
        reason: String,
    },
    Conflict {
        path: String,
        expected: Option<BlobId>,
        found: Option<BlobId>,
    },
    NotSeen {
        site: SiteName,
        path: String,
        commit: GitRevision,
        blob: Option<BlobId>,
        at: Option<GitRevision>,
    },
    FileRefused {
        path: String,
        line: u32,
        column: u32,
        problem: String,
        more: usize,
    },
    RemovalHeld {
        commit: GitRevision,
        count: usize,
    },
    HistoryHeld {
        commit: GitRevision,
    },
    Held {
        site: SiteName,
        whole: bool,
        by: String,
        note: String,
    },
    NothingFits {
        revision: Revision,
        nodes: usize,
    },
    AwaitsRevert {
        path: String,
        bad: Revision,
        good: BlobId,
    },
    Quarantined {
        bad: Revision,
        good: Option<BlobId>,
        node: Option<NodeName>,
        code: Code,
    },
    RolloutStopped {
        node: NodeName,
        code: Code,
    },
    /// The next step of a rollout is not open yet.
    RolloutWaits {
        step: u32,
        of: u32,
        standing: StepStanding,
        paused_by: Option<String>,
    },
    NodeAway {
        node: NodeName,
        state: State,
    },
    Underway {
        node: NodeName,
        state: State,
        attempt: u32,
    },
    Failed {
        node: NodeName,
        state: State,
        attempt: u32,
        code: Code,
        retry: Option<Retry>,
    },
    /// Another revision is staged, and the one that runs on is not well.
    RunningLost {
        node: NodeName,
        revision: Revision,
        code: Code,
    },
    /// Placed, and not begun: the site knows what it waits for.
    Waiting {
        node: NodeName,
    },
    /// The node runs something else than the site wants, and waits its turn.
    Queued {
        node: NodeName,
    },
    Rejected {
        node: NodeName,
        workload: colony_margo::Digest,
    },
    Flagged {
        node: NodeName,
        flag: Flag,
    },
}

impl FleetCause {
    /// Who has to act.
    pub fn owner(&self) -> Owner {
        use FleetCause::*;
        match self {
            NeverJoined { .. }
            | Conflict { .. }
            | Refused { .. }
            | RemovalHeld { .. }
            | HistoryHeld { .. }
            | Quarantined { .. }
            | RolloutStopped { .. }
            | RolloutWaits { paused_by: Some(_), .. }
            | RolloutWaits { standing: StepStanding::AwaitsPromotion, .. }
            | Rejected { .. }
            | NothingFits { .. }
            | RunningLost { .. }
            | Flagged { .. } => Owner::Operator,
            FileRefused { .. } => Owner::Author,
            LoSilent { .. } | Held { .. } => Owner::SiteEngineer,
            Planned { .. } | AwaitsRevert { .. } => Owner::Central,
            TakingOver { .. }
            | NotReady { .. }
            | NotSeen { .. }
            | Failed { .. }
            | RolloutWaits { .. }
            | Waiting { .. }
            | Queued { .. } => Owner::Local,
            NodeAway { node, .. } | Underway { node, .. } => Owner::Node(node.clone()),
        }
    }

    /// When the next step is due, if that is known.
    pub fn next_at(&self) -> Option<Wall> {
        if let FleetCause::RolloutWaits {
            standing: StepStanding::Soaking { until },
            paused_by: None,
            ..
        } = self
        {
            return Some(*until);
        }
        let FleetCause::Failed { retry, .. } = self else { return None };
        retry.and_then(|it| it.at)
    }

    /// What a person can do besides waiting for the next step.
    pub fn act(&self) -> Option<String> {
        if let FleetCause::RunningLost { .. } = self {
            return Some("look at its log".to_owned());
        }
        let FleetCause::Failed { code, .. } = self else { return None };
        self.next_at().map(|_| code.remedy().to_owned())
    }

    /// What happens next, or what a person can do.
    pub fn next_step(&self) -> String {
        use FleetCause::*;
        match self {
            NeverJoined { site } => {
                format!("run the command `colony site add {site}` printed on the site's machine")
            }
            LoSilent { site, .. } => format!(
                "check power and line of site {site}; it goes on by itself and reports when it is back"
            ),
            TakingOver { .. } => "it reads Git, then takes the placements over".to_owned(),
            NotReady { .. } => "it serves its nodes as soon as it has read Git".to_owned(),
            Planned { .. } => "it is committed and pushed with the next batch".to_owned(),
            Conflict { path, .. } => {
                format!("compare {path} and plan again on top of what Git holds")
            }
            Refused { .. } => {
                "deploy again with what Git takes, or change the rules of the repository".to_owned()
            }
            NotSeen { site, .. } => format!("site {site} takes it at its next fetch"),
            FileRefused { path, .. } => format!("correct {path} and commit"),
            RemovalHeld { .. } => "release the removal, or put the files back".to_owned(),
            HistoryHeld { commit } => {
                format!("accept {} or restore the history before", commit.short())
            }
            Held { by, .. } => format!("{by} or an operator releases the hold"),
            NothingFits { .. } => {
                "ask the site why each node does not fit, or let one join".to_owned()
            }
            AwaitsRevert { .. } => {
                "it is written with the next commit if Git still holds the bad file".to_owned()
            }
            Quarantined { .. } => "commit another revision, or release this one".to_owned(),
            RolloutWaits { paused_by: Some(_), .. } => "resume the rollout, or abort it".to_owned(),
            RolloutWaits { standing: StepStanding::AwaitsPromotion, .. } => {
                "promote the rollout, or abort it".to_owned()
            }
            RolloutWaits { .. } => "the next step opens when the soak is over".to_owned(),
            RolloutStopped { node, .. } => {
                format!("commit another revision, or retry on node {node}")
            }
            NodeAway { node, .. } => format!("it goes on when node {node} is heard again"),
            Underway { node, .. } => format!("node {node} reports how it goes"),
            RunningLost { .. } => "the node starts it again".to_owned(),
            Failed { code, retry, .. } => after_failure(code, retry.as_ref()),
            Waiting { node } => format!("ask the site what its start on node {node} waits for"),
            Queued { .. } => "its turn comes when the nodes before it are done".to_owned(),
            Rejected { .. } => "commit another revision, or release this one".to_owned(),
            Flagged { .. } => {
                "compare with `why` at the site; the flag goes when the placement ends well"
                    .to_owned()
            }
        }
    }
}

/// `try 4 of 5`, or what a person can do where nothing is tried.
fn after_failure(code: &Code, retry: Option<&Retry>) -> String {
    let Some(Retry { tried, of, at: Some(_) }) = retry else { return code.remedy().to_owned() };
    let next = tried.saturating_add(1);
    match of {
        Some(of) => format!("try {next} of {of}"),
        None => format!("try {next}, and so on until it works"),
    }
}
