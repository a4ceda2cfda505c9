//! A batch of edits to write, and its result.

use colony_core::id::{BlobId, GitRevision};

/// Edits that become one commit.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Subject, and a body after an empty line.
    pub message: String,
    /// Such as `Colony-Actor`; keys are letters, digits and dashes.
    pub trailers: Vec<(String, String)>,
    pub author: String,
    pub at_unix: i64,
    pub edits: Vec<Edit>,
}

/// One path: its expected and its wanted content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub path: String,
    /// `None`: there must be no file.
    pub expected: Option<BlobId>,
    /// `None`: the file is removed.
    pub text: Option<String>,
    /// The edit is left out if the one of this path is in conflict.
    pub only_with: Option<String>,
}

/// The result of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The commit that was made; `None` if there was nothing to write.
    pub revision: Option<GitRevision>,
    /// The head of the branch, which contains all of `done`.
    pub head: Option<GitRevision>,
    /// Paths that hold the wanted content, also if they already did, with their
    /// blob.
    pub done: Vec<(String, Option<BlobId>)>,
    pub conflicts: Vec<Conflict>,
}

/// A path that did not hold the content the edit expected, and was left
/// unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub path: String,
    pub expected: Option<BlobId>,
    pub found: Option<BlobId>,
    /// From the present to the wanted content, as a unified diff of at most 16
    /// KiB.
    pub diff: String,
}

/// A commit that changed a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub revision: GitRevision,
    pub at_ms: i64,
    pub author: String,
    pub subject: String,
    /// The content of the path after the commit; `None` if it was removed.
    pub blob: Option<BlobId>,
}
