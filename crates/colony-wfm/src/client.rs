//! todo
use crate::asks::{Asks, LogAnswer};
use crate::join::Joined;
use crate::link::{Link, LinkError};
use bytes::Bytes;
use colony_margo::{Capabilities, DeploymentId, DeploymentStatus, DeviceId, Digest, Problem};
use std::time::Duration;

/// A client of a workload fleet manager.
#[derive(Debug, Clone)]
pub struct Client {}

/// The answer to a poll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Poll {
    Unchanged {
        asks: Asks,
    },
    /// `etag` is given back as it is with the next poll.
    Manifest {
        bytes: Bytes,
        etag: Option<String>,
        asks: Asks,
    },
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("manager answers {}: {}", problem.status, problem.detail.as_deref().unwrap_or(&problem.title))]
    Problem { problem: Box<Problem>, retry_after: Option<Duration> },
    #[error("could not talk to the manager")]
    Link(#[from] LinkError),
    #[error("manager sent content with digest {found}, not {expected}")]
    Digest { expected: Digest, found: Digest },
    #[error("manager's answer is not readable")]
    Answer(#[source] serde_json::Error),
}

impl Client {
    pub fn new(_link: Link) -> Client {
        todo!()
    }
    pub async fn manifest(
        &self,
        _etag: Option<&str>,
        _version: Option<u64>,
        _wait: Duration,
    ) -> Result<Poll, ClientError> {
        todo!()
    }
    pub async fn bundle(&self, _digest: &Digest) -> Result<Bytes, ClientError> {
        todo!()
    }
    pub async fn document(
        &self,
        _id: &DeploymentId,
        _digest: &Digest,
    ) -> Result<Bytes, ClientError> {
        todo!()
    }
    pub async fn status(&self, _status: &DeploymentStatus) -> Result<(), ClientError> {
        todo!()
    }
    pub async fn capabilities(
        &self,
        _device: &DeviceId,
        _body: &Capabilities,
    ) -> Result<(), ClientError> {
        todo!()
    }
    pub async fn logs(&self, _request: &str, _answer: &LogAnswer) -> Result<(), ClientError> {
        todo!()
    }
    pub async fn renew(&self, _csr_pem: &str) -> Result<Joined, ClientError> {
        todo!()
    }
}
