//! What CO has to do because of an event, as data.

use std::fmt;

use crate::attempt::Revision;
use crate::fleet::Flag;
use crate::id::{BlobId, DeploymentId, DeploymentName, PlacementId, SiteName};

/// Something for the shell to act on or to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A site has rolled back: Git is to follow it.
    Revert(Revert),
    /// A transition was stored that the table or the view does not explain.
    Flagged { site: SiteName, placement: PlacementId, flag: Flag },
}

/// A revision a site has left, to be taken out of Git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revert {
    pub site: SiteName,
    pub deployment: DeploymentId,
    pub name: DeploymentName,
    pub bad: Revision,
    pub good: Option<Revision>,
}

/// What to write for a revert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevertDecision {
    /// Put exactly this content back, if the bad one is still there on push.
    Restore(BlobId),
    Skip(RevertSkip),
}

/// Why Git is left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevertSkip {
    /// Nothing was good before: the file stays and the quarantine stands.
    NothingGood { bad: BlobId },
    /// Somebody has written the file since.
    Moved { head: BlobId, bad: BlobId },
    /// Somebody has removed the file since.
    Removed { bad: BlobId },
    /// Good and bad are one file: there is nothing to restore.
    SameFile { blob: BlobId },
}

/// Decides a revert by what the head of the branch holds at the file's path.
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

/// The first digits, for people.
pub(super) fn short(blob: &BlobId) -> &str {
    blob.as_str().get(..7).unwrap_or(blob.as_str())
}
