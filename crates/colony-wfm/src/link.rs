//! todo
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use std::sync::Arc;
use std::time::Duration;

/// Kept-alive connections to one server.
#[derive(Debug, Clone)]
pub struct Link {}

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// What a server answered, with a body that is read piece by piece.
#[derive(Debug)]
pub struct Streamed {
    pub status: StatusCode,
    pub headers: HeaderMap,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("`{0}` is no https URL")]
    Url(String),
}

impl Link {
    pub fn new(_base_url: &str, _tls: Arc<rustls::ClientConfig>) -> Result<Link, LinkError> {
        todo!()
    }
    pub async fn send(
        &self,
        _method: Method,
        _path: &str,
        _headers: &[(&str, &str)],
        _body: Bytes,
        _limit: usize,
        _timeout: Duration,
    ) -> Result<Answer, LinkError> {
        todo!()
    }
    /// `idle` is the longest wait for the answer to begin and for each piece.
    pub async fn send_stream(
        &self,
        _method: Method,
        _path: &str,
        _headers: &[(&str, &str)],
        _body: Bytes,
        _idle: Duration,
    ) -> Result<Streamed, LinkError> {
        todo!()
    }
}

impl Streamed {
    /// The next piece; none at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, LinkError> {
        todo!()
    }
}
