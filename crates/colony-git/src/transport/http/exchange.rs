//! One request with its answer, and the readers and writers that gix holds of
//! it.
//!
//! gix writes a body, then reads headers, then reads an answer. The request is
//! sent when the first of the two is read.

use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use reqwest::blocking::{RequestBuilder, Response};

use super::problem;
use crate::transport::limit::Meter;

/// A request with its answer.
pub(crate) struct Exchange {
    pub(super) request: Option<RequestBuilder>,
    pub(super) body: Vec<u8>,
    pub(super) answer: Option<io::Result<Response>>,
    /// The end of the URL, for a request that may be redirected.
    pub(super) tail: Option<String>,
    pub(super) moved: Arc<Mutex<Option<String>>>,
    pub(super) failure: Failure,
}

impl Exchange {
    pub(super) fn send(&mut self) {
        let Some(request) = self.request.take() else { return };
        let answer = request.body(std::mem::take(&mut self.body)).send();
        let answer = answer.map_err(|it| problem::error(&it)).and_then(problem::judged);
        if let (Ok(it), Some(tail)) = (&answer, &self.tail) {
            // The same as before if there was no redirect.
            *self.moved.lock() = it.url().as_str().strip_suffix(tail.as_str()).map(str::to_owned);
        }
        if let Err(error) = &answer {
            self.failure.note(error);
        }
        self.answer = Some(answer);
    }

    fn headers(&mut self) -> io::Result<Vec<u8>> {
        self.send();
        let answer = match self.answer.as_mut() {
            Some(Ok(it)) => it,
            Some(Err(_)) | None => return Err(self.failure()),
        };
        let line =
            |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
                [name.as_str().as_bytes(), b":", value.as_bytes(), b"\n"].concat()
            };
        Ok(answer.headers().iter().flat_map(line).collect())
    }

    fn response(&mut self) -> io::Result<Response> {
        self.send();
        match self.answer.take() {
            Some(answer) => answer,
            None => Err(self.failure()),
        }
    }

    fn failure(&mut self) -> io::Error {
        match self.answer.take() {
            Some(Err(error)) => error,
            Some(Ok(_)) | None => io::Error::other("the answer was read before"),
        }
    }
}

/// The answer's headers, a line each.
pub(crate) struct Headers {
    pub(super) exchange: Arc<Mutex<Exchange>>,
    pub(super) text: Option<Cursor<Vec<u8>>>,
}

impl Read for Headers {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.text.is_none() {
            self.text = Some(Cursor::new(self.exchange.lock().headers()?));
        }
        self.text.as_mut().map_or(Ok(0), |it| it.read(buf))
    }
}

/// The answer itself.
pub(crate) struct Body {
    pub(super) exchange: Arc<Mutex<Exchange>>,
    pub(super) response: Option<Response>,
    pub(super) meter: Arc<Meter>,
}

impl Read for Body {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.response.is_none() {
            self.response = Some(self.exchange.lock().response()?);
        }
        let meter = &self.meter;
        self.response.as_mut().map_or(Ok(0), |it| meter.read(it, buf))
    }
}

/// A connection is used again only if its last answer was read to the end.
impl Drop for Body {
    fn drop(&mut self) {
        const REST: u64 = 1024;
        if let Some(response) = &mut self.response
            && self.meter.exceeded("read on").is_none()
        {
            // A failure to read only ends the connection.
            let _ = io::copy(&mut response.take(REST), &mut io::sink());
        }
    }
}

/// The request body, kept until the answer is read.
pub(crate) struct PostBody(pub(super) Arc<Mutex<Exchange>>);

impl Write for PostBody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().body.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The cause of a failed session, as the server or the connection reported it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<(String, bool)>>>);

impl Failure {
    /// The error message, and whether access was refused.
    pub(crate) fn take(&self) -> Option<(String, bool)> {
        self.0.lock().take()
    }

    fn note(&self, error: &io::Error) {
        let refused = error.kind() == io::ErrorKind::PermissionDenied;
        *self.0.lock() = Some((error.to_string(), refused));
    }
}
