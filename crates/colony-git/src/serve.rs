//! Smart HTTP of the hosted repository, without any HTTP.

use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::{AsyncRead, ReadBuf};

use crate::Error;

/// The longest request body taken, after unpacking.
pub const BODY_LIMIT: usize = 64 * 1024 * 1024;

/// What a client of Git wants: to read, or to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    UploadPack,
    ReceivePack,
}

impl Service {
    /// By the name in `?service=…` or in the last segment of the path.
    pub fn named(_name: &str) -> Option<Service> {
        todo!()
    }

    pub fn name(self) -> &'static str {
        todo!()
    }

    /// `application/x-git-…-advertisement`, of the answer to `GET /info/refs`.
    pub fn advertisement_type(self) -> &'static str {
        todo!()
    }

    /// `application/x-git-…-request`, of the body of a `POST`.
    pub fn request_type(self) -> &'static str {
        todo!()
    }

    /// `application/x-git-…-result`, of the answer to a `POST`.
    pub fn result_type(self) -> &'static str {
        todo!()
    }
}

/// The body of the answer to `GET /info/refs?service=…`; `protocol` is the header `Git-Protocol`.
pub async fn advertise(_dir: &Path, _service: Service, _protocol: Option<&str>) -> Result<Vec<u8>, Error> {
    todo!()
}

/// The answer to `POST /git-…-pack`, read while git makes it. Dropping it ends git.
pub async fn exchange(
    _dir: &Path,
    _service: Service,
    _protocol: Option<&str>,
    _body: Bytes,
) -> Result<Reply, Error> {
    todo!()
}

/// Unpacks a body sent with `Content-Encoding: gzip`, up to `limit` bytes.
pub fn gunzip(_body: &[u8], _limit: usize) -> Result<Bytes, Error> {
    todo!()
}

/// What git answers, as it comes.
#[derive(Debug)]
pub struct Reply {}

impl AsyncRead for Reply {
    fn poll_read(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        _buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        todo!()
    }
}
