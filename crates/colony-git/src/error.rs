//! The errors of this crate.

use std::path::PathBuf;

/// Why an operation on the repository failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`{path}` is not a path colony writes: {problem}")]
    Path { path: String, problem: &'static str },
    #[error("`{text}` is not a valid branch name")]
    Branch { text: String },
    #[error("cannot use the Git URL `{url}`: {problem}")]
    Address { url: String, problem: &'static str },
    #[error("{what} has {found} bytes, more than the {limit} allowed")]
    TooLarge { what: String, found: u64, limit: u64 },
    #[error("{what}: more than the {limit} allowed")]
    TooMany { what: &'static str, limit: usize },
    /// The remote cannot be reached, or does not answer as Git does. Worth a
    /// retry.
    #[error("could not {doing}: {problem}")]
    Remote { doing: &'static str, problem: String },
    /// The remote does not accept the credentials, or they do not permit the
    /// operation. A retry needs other credentials.
    #[error("could not {doing}: access was refused: {problem}")]
    Refused { doing: &'static str, problem: String },
    /// The remote accepted the credentials and rejects the pushed content. A
    /// retry needs other content.
    #[error("could not {doing}: the content was rejected: {problem}")]
    Rejected { doing: &'static str, problem: String },
    /// The remote sends more, or takes longer, than is allowed.
    #[error("could not {doing}: {problem}")]
    Limit { doing: &'static str, problem: String },
    /// Other writers were faster every time. Worth a retry.
    #[error("could not {doing}: other writers changed it first, {tries} times in a row")]
    Contended { doing: &'static str, tries: usize },
    #[error("the `git` program is missing; install it with: apt-get install git")]
    NoGit,
    #[error("git could not {doing}: {problem}")]
    Git { doing: &'static str, problem: String },
    #[error("could not {doing}")]
    Repository {
        doing: &'static str,
        #[source]
        source: Box<gix::Error>,
    },
    #[error("could not {doing} {}", .path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the repository is damaged: {what}")]
    Corrupt { what: String },
}

impl Error {
    /// Whether the same call may succeed later without any change.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Remote { .. } | Error::Contended { .. } | Error::Io { .. })
    }

    /// Whether the content of the edits is the reason: the same edits fail
    /// again, others may not.
    pub fn is_about_content(&self) -> bool {
        matches!(
            self,
            Error::Rejected { .. }
                | Error::TooLarge { .. }
                | Error::TooMany { .. }
                | Error::Path { .. }
        )
    }
}

/// Adds the failed operation to an error of gix.
pub(crate) fn doing(doing: &'static str) -> impl Fn(gix::Error) -> Error {
    move |source| Error::Repository { doing, source: Box::new(source) }
}
