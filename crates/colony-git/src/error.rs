//! Why something with Git did not work.

use std::path::PathBuf;

/// Why the repository did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`{path}` is not a path colony writes: {problem}")]
    Path { path: String, problem: &'static str },
    #[error("`{text}` is not the name of a branch")]
    Branch { text: String },
    #[error("`{url}` is not a Git address colony can use: {problem}")]
    Address { url: String, problem: &'static str },
    #[error("{what} has {found} bytes, more than the {limit} allowed")]
    TooLarge { what: String, found: u64, limit: u64 },
    #[error("{what}: more than the {limit} allowed")]
    TooMany { what: &'static str, limit: usize },
    /// The other side cannot be reached, or does not answer as Git does. Worth another try.
    #[error("could not {doing}: {problem}")]
    Remote { doing: &'static str, problem: String },
    /// The other side knows us not, or lets us not. Another try needs other credentials.
    #[error("could not {doing}: access was refused: {problem}")]
    Refused { doing: &'static str, problem: String },
    /// The other side let us in and does not take what was pushed. Another try needs another content.
    #[error("could not {doing}: the content was rejected: {problem}")]
    Rejected { doing: &'static str, problem: String },
    /// The other side sends more, or takes longer, than is allowed.
    #[error("could not {doing}: {problem}")]
    Limit { doing: &'static str, problem: String },
    /// Others wrote faster than we could. Worth another try.
    #[error("could not {doing}: others wrote in between, {tries} times in a row")]
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
    /// Whether the same call may work later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Remote { .. } | Error::Contended { .. } | Error::Io { .. })
    }

    /// Whether what was to be written is the reason: the same edits fail again, others may not.
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

/// Says what was being done when gix failed.
pub(crate) fn doing(doing: &'static str) -> impl Fn(gix::Error) -> Error {
    move |source| Error::Repository { doing, source: Box::new(source) }
}
