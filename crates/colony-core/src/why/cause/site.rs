//! Causes that block a whole site, or that operators set there.

use colony_margo::Finding;

use super::{Explanation, causes};
use crate::event::Incarnation;
use crate::id::{DeploymentName, GitRevision};
use crate::time::Timestamp;
use crate::why::Owner;
use crate::why::text::words::{ago, all, lasting, note_suffix};

causes! {
    /// The causes that block a site.
    SiteCause:
    CentralUnreachable = "central-unreachable" { since: Timestamp, problem: String }
    GitUnreachable = "git-unreachable" { since: Timestamp, problem: String }
    /// This orchestrator was replaced and must not change anything.
    Fenced = "fenced" { by: Incarnation }
    /// What runs at the site is not known yet.
    SiteNotSeeded = "site-not-seeded" {}
    GitNotRead = "git-not-read" {}
    NoNodes = "no-nodes" {}
    /// Git's history was rewritten and waits to be accepted.
    HistoryHeld = "history-held" { commit: GitRevision, in_force: Option<GitRevision>, since: Timestamp }
    /// A commit removes too much at once.
    RemovalHeld = "removal-held" { deployments: Vec<DeploymentName>, since: Timestamp }
    FileRefused = "file-refused" { path: String, findings: Vec<Finding>, runs: Option<String>, since: Timestamp }
    HoldSite = "hold-site" { by: String, note: String, since: Timestamp }
    HoldDeployment = "hold-deployment" { by: String, note: String, since: Timestamp }
    WindowClosed = "window-closed" { opens: Timestamp }
}

impl SiteCause {
    pub(super) fn explain(&self, now: Timestamp, then: &str) -> Explanation {
        match self {
            SiteCause::CentralUnreachable { since, problem } => Explanation::new(
                format!(
                    "the central orchestrator has not answered for {}: {problem}",
                    lasting(*since, now)
                ),
                "the site keeps working; its events are sent when the connection is restored",
            )
            .act(Owner::SiteEngineer, CHECK_CENTRAL)
            .since(*since),
            SiteCause::GitUnreachable { since, problem } => Explanation::new(
                format!("Git has not answered for {}: {problem}", lasting(*since, now)),
                "the site keeps working from its clone; new commits are applied when Git answers",
            )
            .act(Owner::SiteEngineer, CHECK_GIT)
            .since(*since),
            SiteCause::Fenced { by } => Explanation::new(
                format!("this orchestrator was replaced by incarnation {by} and changes nothing"),
                "nodes follow the orchestrator that replaced it",
            )
            .act(Owner::SiteEngineer, "stop this orchestrator, or let it join again"),
            SiteCause::SiteNotSeeded {} => Explanation::new(
                "the central orchestrator has not sent the state of this site yet",
                "nodes are served once their state and Git are read",
            )
            .act(Owner::SiteEngineer, CHECK_CENTRAL),
            SiteCause::GitNotRead {} => {
                Explanation::new("Git has not been read yet", "nodes are served once Git is read")
                    .act(Owner::SiteEngineer, CHECK_GIT)
            }
            SiteCause::NoNodes {} => Explanation::new(
                "no node has joined this site",
                "deployments are placed when a node joins",
            )
            .act(Owner::SiteEngineer, "invite a node and let it join this site"),
            SiteCause::HistoryHeld { commit, in_force, since } => Explanation::new(
                history(commit, in_force.as_ref()),
                format!("nothing of {} is applied until it is accepted", commit.short()),
            )
            .act(
                Owner::Operator,
                format!("accept history {} or restore the old one", commit.short()),
            )
            .since(*since),
            SiteCause::RemovalHeld { deployments, since } => Explanation::new(
                format!(
                    "the removal of {} deployments at once ({}), more than half, is held",
                    deployments.len(),
                    all(deployments)
                ),
                "they keep running until the removal is released",
            )
            .act(Owner::Operator, "release the removal, or put the files back")
            .since(*since),
            SiteCause::FileRefused { path, findings, runs, since } => Explanation::new(
                refused(path, findings, runs.as_deref()),
                "the file is read again with the commit that corrects it",
            )
            .act(Owner::GitAuthor, "commit a corrected file")
            .since(*since),
            SiteCause::HoldSite { by, note, since } => held("site", by, note, *since, now, then),
            SiteCause::HoldDeployment { by, note, since } => {
                held("deployment", by, note, *since, now, then)
            }
            SiteCause::WindowClosed { opens } => Explanation::new(
                "the maintenance window is closed",
                format!("the window opens and {then}"),
            )
            .at(*opens)
            .gate(),
        }
    }
}

const CHECK_CENTRAL: &str = "check the connection to the central orchestrator";
const CHECK_GIT: &str = "check the connection to the Git repository";

fn history(commit: &GitRevision, in_force: Option<&GitRevision>) -> String {
    let (commit, in_force) = (commit.short(), in_force.map_or("nothing", GitRevision::short));
    format!("Git's history was rewritten; {commit} waits to be accepted, {in_force} is in force")
}

fn refused(path: &str, findings: &[Finding], runs: Option<&str>) -> String {
    let first = findings.first().map_or(path.to_owned(), ToString::to_string);
    let more = match findings.len().saturating_sub(1) {
        0 => String::new(),
        1 => " (and 1 more finding)".to_owned(),
        more => format!(" (and {more} more findings)"),
    };
    let stays = runs.map(|it| format!(" and {it} stays in force")).unwrap_or_default();
    format!("a file in Git cannot be used{stays}: {first}{more}")
}

fn held(
    what: &str,
    by: &str,
    note: &str,
    since: Timestamp,
    now: Timestamp,
    then: &str,
) -> Explanation {
    Explanation::new(
        format!("{by} put the {what} on hold {}{}", ago(since, now), note_suffix(note)),
        format!("{then} when the hold is released"),
    )
    .act(Owner::SiteEngineer, "release the hold")
    .since(since)
    .gate()
}
