//! Reads through the node's manager: the content of the host `colony.builtin`
//! comes over the connection that exists anyway.

use bytes::Bytes;

/// The host in repository and image names that stands for the manager.
pub const BUILTIN: &str = "colony.builtin";

/// An OCI registry that is read through the manager.
#[async_trait::async_trait]
pub trait Source: Send + Sync {
    /// Gets `path`, which begins with `/v2/`. An answer of any status is `Ok`;
    /// `Err` explains why there was none. An answer above `limit` bytes is an
    /// error.
    async fn fetch(&self, path: &str, accept: &str, limit: usize) -> Result<Fetched, String>;
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    pub status: u16,
    pub content_type: String,
    pub bytes: Bytes,
}
