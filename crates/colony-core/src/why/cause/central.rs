//! Causes that lie before the site: only the central orchestrator sees them.

use super::{Explanation, causes};
use crate::event::Incarnation;
use crate::id::{BlobId, GitRevision, NodeName, SiteName};
use crate::time::Timestamp;
use crate::why::Owner;
use crate::why::text::words::{ago, lasting};

causes! {
    /// The causes that the central orchestrator adds to the answers of a site.
    CentralCause:
    /// No orchestrator has ever joined the site.
    SiteNeverJoined = "site-never-joined" { site: SiteName }
    /// The local orchestrator, or the connection to it, is down.
    SiteSilent = "site-silent" { site: SiteName, last_heard: Option<Timestamp> }
    /// An orchestrator has joined and does not serve its nodes yet.
    SiteNotReady = "site-not-ready" { site: SiteName, incarnation: Incarnation, joined: Option<Timestamp> }
    /// Accepted, and not in Git yet. `problem` is the last error of Git.
    NotCommitted = "not-committed" { path: String, since: Timestamp, problem: Option<String> }
    /// Git rejected the change.
    ChangeRefused = "change-refused" { path: String, reason: String, since: Timestamp }
    /// The file holds something other than expected.
    Conflict = "conflict" { path: String, expected: Option<BlobId>, found: Option<BlobId>, since: Timestamp }
    /// Git holds the change, and the site has not accepted it yet.
    NotFetched = "not-fetched" {
        site: SiteName,
        path: String,
        commit: GitRevision,
        removal: bool,
        at: Option<GitRevision>,
        last_heard: Option<Timestamp>,
        since: Timestamp,
    }
    /// The site rolled back, and Git still holds the bad file.
    AwaitsRevert = "awaits-revert" { path: String, since: Timestamp }
    /// An event of the site does not fit what was reported before.
    InconsistentReport = "inconsistent-report" { node: NodeName, problem: String, since: Timestamp }
    /// The site has not sent its reasons.
    NotExplained = "not-explained" { site: SiteName, state: String, since: Timestamp }
}

impl CentralCause {
    pub(super) fn explain(&self, now: Timestamp) -> Explanation {
        match self {
            CentralCause::SiteNeverJoined { site } => Explanation::new(
                format!("no orchestrator has ever joined site {site}"),
                "it is deployed when the site has joined",
            )
            .act(
                Owner::Operator,
                format!("run what `colony site invite {site}` prints on the site's machine"),
            ),
            CentralCause::SiteSilent { site, last_heard } => Explanation::new(
                match last_heard {
                    Some(at) => format!("no contact with site {site} for {}", lasting(*at, now)),
                    None => format!("no contact with site {site} yet"),
                },
                "the site keeps working and reports when the connection is restored",
            )
            .act(Owner::SiteEngineer, format!("check power and network of site {site}"))
            .since(*last_heard),
            CentralCause::SiteNotReady { site, incarnation, joined } => Explanation::new(
                match incarnation {
                    0 => format!("the orchestrator of site {site} has joined and has not read Git yet"),
                    _ => format!("orchestrator {incarnation} of site {site} replaces the one before and has not taken over yet"),
                },
                "it reads Git, then serves its nodes",
            )
            .since(*joined),
            CentralCause::NotCommitted { path, problem: None, since } => Explanation::new(
                format!("{path} is accepted and not committed yet"),
                "it is committed and pushed with the next batch",
            )
            .since(*since),
            CentralCause::NotCommitted { path, problem: Some(problem), since } => Explanation::new(
                format!("{path} is accepted and cannot be committed: {problem}"),
                "the commit is tried again",
            )
            .act(Owner::Operator, "make the Git repository reachable and writable")
            .since(*since),
            CentralCause::ChangeRefused { path, reason, since } => Explanation::new(
                format!("Git rejected the change of {path}; nothing was written: {reason}"),
                "nothing until it is deployed again",
            )
            .act(
                Owner::Operator,
                "deploy again with content that Git accepts, or change the rules of the repository",
            )
            .since(*since),
            CentralCause::Conflict { path, since, .. } => Explanation::new(
                format!("{path} was changed in Git by another author; it was left as it is"),
                "nothing until it is deployed again",
            )
            .act(Owner::Operator, "compare the file with what was planned and deploy again")
            .since(*since),
            CentralCause::NotFetched { site, path, commit, removal, at, last_heard, since } => {
                let act = if *removal { "removed" } else { "committed" };
                let at = at.as_ref().map_or("no commit", GitRevision::short);
                let contact = last_heard.map(|it| format!(", last contact {}", ago(it, now)));
                let contact = contact.unwrap_or_default();
                Explanation::new(
                    format!("{path} is {act} in {}; site {site} is at {at}{contact}", commit.short()),
                    format!("site {site} applies it at its next fetch"),
                )
                .since(*since)
            }
            CentralCause::AwaitsRevert { path, since } => Explanation::new(
                format!("the site rolled back; {path} in Git still has to be reverted"),
                "it is reverted with the next commit, unless the file changes before",
            )
            .since(*since),
            CentralCause::InconsistentReport { node, problem, since } => Explanation::new(
                format!("inconsistent report of node {node}: {problem}"),
                "the mark goes when the placement is installed",
            )
            .act(Owner::Operator, "look at the events of the placement")
            .since(*since),
            CentralCause::NotExplained { site, state, since } => Explanation::new(
                format!("it is {state}, and site {site} has not sent the reason"),
                "the reason comes with the site's next report",
            )
            .act(
                Owner::SiteEngineer,
                format!("upgrade the orchestrator of site {site} if it is older than this one"),
            )
            .since(*since),
        }
    }
}
