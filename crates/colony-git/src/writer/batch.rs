//! What is to be written at once, and what came of it.

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

/// One path: what must be there, and what shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub path: String,
    /// `None`: there must be no file.
    pub expected: Option<BlobId>,
    /// `None`: the file goes away.
    pub text: Option<String>,
}

/// What came of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The commit that was made; `None` if nothing was to be written.
    pub revision: Option<GitRevision>,
    /// Where the branch stands: all of `done` is in it.
    pub head: Option<GitRevision>,
    /// Paths that hold what was asked for, also if they did before, with their blob.
    pub done: Vec<(String, Option<BlobId>)>,
    pub conflicts: Vec<Conflict>,
}

/// A path that held something else than the edit expected, and was left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub path: String,
    pub expected: Option<BlobId>,
    pub found: Option<BlobId>,
    /// From what is there to what was to be written, as a unified diff of at most 16 KiB.
    pub diff: String,
}

/// A commit that changed a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub revision: GitRevision,
    pub at_ms: i64,
    pub author: String,
    pub subject: String,
    /// What the path held after it; `None` if it was removed.
    pub blob: Option<BlobId>,
}
