//! Reading through the node's manager: what lies on the host `colony.builtin`
//! comes over the connection that is there anyway.

use bytes::Bytes;

/// The host in repository and image names that stands for the manager.
pub const BUILTIN: &str = "colony.builtin";

/// An OCI registry that is read through the manager.
#[async_trait::async_trait]
pub trait Source: Send + Sync {
    /// Gets `path`, which begins with `/v2/`. An answer of any status is an
    /// answer; `Err` says why there was none. More than `limit` bytes is none.
    async fn fetch(&self, path: &str, accept: &str, limit: usize) -> Result<Fetched, String>;
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    pub status: u16,
    pub content_type: String,
    pub bytes: Bytes,
}
