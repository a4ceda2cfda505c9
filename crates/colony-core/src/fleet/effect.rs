//! What central has to do because of an event, as data.

use std::fmt;

use crate::attempt::Revision;
use crate::fleet::Flag;
use crate::id::{BlobId, DeploymentId, DeploymentName, PlacementId, SiteName};

/// Something for the shell to act on or to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A site has rolled back: its file in Git has to be reverted.
    Revert(Revert),
    /// A stored transition is not in the transition table, or does not start in
    /// the state of the view.
    Flagged { site: SiteName, placement: PlacementId, flag: Flag },
}

/// A revision that a site has rolled back from, to be reverted in Git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revert {
    pub site: SiteName,
    pub deployment: DeploymentId,
    pub name: DeploymentName,
    pub bad: Revision,
    pub good: Option<Revision>,
    /// The operator who ordered the rollback; `None` if the site decided it.
    pub by: Option<String>,
    /// Why the site rolled back, as a clause; `None` if the quarantine entry is
    /// gone.
    pub reason: Option<String>,
}

/// What to write for a revert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevertDecision {
    /// Restore exactly this content, if the bad one is still there on push.
    Restore(BlobId),
    Skip(RevertSkip),
}

/// Why a revert leaves Git as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevertSkip {
    /// There is no good revision: the file and the quarantine stay.
    NothingGood { bad: BlobId },
    /// The file was changed since.
    Moved { head: BlobId, bad: BlobId },
    /// The file was removed since.
    Removed { bad: BlobId },
    /// The good and the bad revision are the same file: there is nothing to
    /// restore.
    SameFile { blob: BlobId },
}

/// Decides a revert by the content of the file at the head of the branch.
pub fn revert_decision(revert: &Revert, head: Option<&BlobId>) -> RevertDecision {
    let bad = revert.bad.blob.clone();
    let Some(good) = &revert.good else {
        return RevertDecision::Skip(RevertSkip::NothingGood { bad });
    };
    match head {
        None => RevertDecision::Skip(RevertSkip::Removed { bad }),
        Some(head) if *head != bad => {
            RevertDecision::Skip(RevertSkip::Moved { head: head.clone(), bad })
        }
        Some(_) if good.blob == bad => RevertDecision::Skip(RevertSkip::SameFile { blob: bad }),
        Some(_) => RevertDecision::Restore(good.blob.clone()),
    }
}

impl fmt::Display for RevertSkip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RevertSkip::NothingGood { bad } => {
                write!(f, "nothing ran before {}; the file stays, quarantined", short(bad))
            }
            RevertSkip::Moved { head, bad } => {
                write!(f, "Git holds {}, no longer the bad {}", short(head), short(bad))
            }
            RevertSkip::Removed { bad } => {
                write!(f, "the file with the bad {} was removed from Git", short(bad))
            }
            RevertSkip::SameFile { blob } => {
                write!(f, "{} is the bad and the good file at once", short(blob))
            }
        }
    }
}

/// The first digits of the id, for display.
pub(super) fn short(blob: &BlobId) -> &str {
    blob.as_str().get(..7).unwrap_or(blob.as_str())
}
