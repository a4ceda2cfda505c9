//! gRPC on a Unix socket: one HTTP/2 connection, made again when it breaks.
//!
//! A call is one POST request. Each message of its body and of the answer has a
//! prefix of five bytes: whether it is compressed, and its length. The result
//! follows in the trailers, or in the headers if there is no body.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures_util::{Stream, TryStreamExt};
use http::HeaderMap;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::UnixStream;
use tokio::sync::Mutex;

use crate::containers::api::Answer;
use crate::containers::engine_error::EngineError;

/// The largest message that is read, as engines limit theirs.
const MESSAGE_LIMIT: usize = 16 << 20;
const PREFIX: usize = 5;
/// How long an answer may take that needs no work.
pub(super) const ANSWER: Duration = Duration::from_secs(60);

/// What is sent: one message or several, or messages as they are made.
pub(super) type RequestBody = UnsyncBoxBody<Bytes, io::Error>;
type Sender = SendRequest<RequestBody>;

/// Result codes of gRPC with an error variant of their own.
const INVALID_ARGUMENT: u16 = 3;
const DEADLINE_EXCEEDED: u16 = 4;
const NOT_FOUND: u16 = 5;
const ALREADY_EXISTS: u16 = 6;
const UNIMPLEMENTED: u16 = 12;
const UNAVAILABLE: u16 = 14;

/// What CRI says while containerd starts, with a result code of its own.
const NOT_READY: &str = "server is not initialized yet";

/// A client of the services behind one socket.
#[derive(Debug)]
pub(super) struct Grpc {
    socket: PathBuf,
    connection: Mutex<Option<Sender>>,
}

/// The messages of an answer.
#[derive(Debug)]
pub(super) struct Messages {
    body: Incoming,
    read: BytesMut,
    /// The result, if the headers held it already.
    result: Option<Answer<()>>,
}

impl Grpc {
    pub(super) fn new(socket: &Path) -> Grpc {
        Grpc { socket: socket.to_owned(), connection: Mutex::default() }
    }

    /// Calls `method` (`/<package>.<service>/<name>`) with one message, and
    /// returns the one of the answer.
    pub(super) async fn call<T: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
        time: Duration,
    ) -> Answer<T> {
        self.call_with(&[], method, request, time).await
    }

    async fn call_with<T: Message + Default>(
        &self,
        headers: &[(&'static str, &str)],
        method: &str,
        request: &impl Message,
        time: Duration,
    ) -> Answer<T> {
        let call = async {
            let mut messages = self.open(method, headers, whole(framed([request]))).await?;
            let answer = messages.next().await?;
            let unanswered = || EngineError::Unexpected(format!("{method} has no answer"));
            answer.ok_or_else(unanswered)
        };
        tokio::time::timeout(time, call).await.unwrap_or(Err(EngineError::Timeout))
    }

    /// The same with a header.
    pub(super) async fn call_in<T: Message + Default>(
        &self,
        header: (&'static str, &str),
        method: &str,
        request: &impl Message,
        time: Duration,
    ) -> Answer<T> {
        self.call_with(&[header], method, request, time).await
    }

    /// Sends `body`, and returns the messages of the answer as they come.
    pub(super) async fn open(
        &self,
        method: &str,
        headers: &[(&'static str, &str)],
        body: RequestBody,
    ) -> Answer<Messages> {
        let mut sender = self.sender().await?;
        let mut request = http::Request::post(format!("http://engine{method}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body);
        let request = request.map_err(|it| EngineError::Unexpected(it.to_string()))?;
        let answer = match sender.send_request(request).await {
            Ok(answer) => answer,
            Err(error) => {
                self.forget().await;
                return Err(EngineError::Unavailable(error.to_string()));
            }
        };
        if !answer.status().is_success() {
            let (status, message) = (answer.status().as_u16(), answer.status().to_string());
            return Err(EngineError::Rejected { status, message });
        }
        let result = answer.headers().get("grpc-status").map(|_| result(answer.headers()));
        Ok(Messages { body: answer.into_body(), read: BytesMut::new(), result })
    }

    /// The open connection, or a new one.
    async fn sender(&self) -> Answer<Sender> {
        let mut connection = self.connection.lock().await;
        if let Some(sender) = connection.as_ref().filter(|it| !it.is_closed()) {
            return Ok(sender.clone());
        }
        let down = |it: String| EngineError::Unavailable(it);
        let stream = UnixStream::connect(&self.socket).await.map_err(|it| down(it.to_string()))?;
        let opened = handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (sender, driver) = opened.map_err(|it| down(it.to_string()))?;
        // It ends with the last sender, or with the engine.
        tokio::spawn(driver);
        *connection = Some(sender.clone());
        Ok(sender)
    }

    async fn forget(&self) {
        *self.connection.lock().await = None;
    }
}

impl Messages {
    /// The next message; `None` after the last one of a call that succeeded.
    pub(super) async fn next<T: Message + Default>(&mut self) -> Answer<Option<T>> {
        loop {
            if let Some(message) = taken(&mut self.read)? {
                let message = T::decode(message);
                return message.map(Some).map_err(|it| EngineError::Unexpected(it.to_string()));
            }
            if let Some(result) = self.result.take() {
                return result.map(|()| None);
            }
            match self.body.frame().await {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.read.put(data),
                    Err(frame) => {
                        let trailers = frame.into_trailers().unwrap_or_default();
                        self.result = Some(result(&trailers));
                    }
                },
                Some(Err(error)) => return Err(EngineError::Unavailable(error.to_string())),
                None => return Err(EngineError::Unavailable("the answer was cut off".to_owned())),
            }
        }
    }
}

/// A body of these bytes.
pub(super) fn whole(bytes: Bytes) -> RequestBody {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// A body that is sent as it comes. An error ends the call.
pub(super) fn streamed(
    parts: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> RequestBody {
    StreamBody::new(parts.map_ok(Frame::data)).boxed_unsync()
}

/// Messages with their prefixes.
pub(super) fn framed<'a, M: Message + 'a>(messages: impl IntoIterator<Item = &'a M>) -> Bytes {
    let mut body = BytesMut::new();
    for message in messages {
        let length = message.encoded_len();
        body.put_u8(0);
        body.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
        body.put_slice(&message.encode_to_vec());
    }
    body.freeze()
}

/// The first whole message of what was read.
fn taken(read: &mut BytesMut) -> Answer<Option<Bytes>> {
    let Some(prefix) = read.get(..PREFIX) else { return Ok(None) };
    if prefix[0] != 0 {
        return Err(EngineError::Unexpected("a compressed message".to_owned()));
    }
    let length = prefix[1..].iter().fold(0_usize, |sum, it| sum << 8 | usize::from(*it));
    if length > MESSAGE_LIMIT {
        return Err(EngineError::Unexpected(format!("a message of {length} bytes")));
    }
    if read.len() < PREFIX + length {
        return Ok(None);
    }
    read.advance(PREFIX);
    Ok(Some(read.split_to(length).freeze()))
}

fn result(headers: &HeaderMap) -> Answer<()> {
    let text = |name| headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let message = unescaped(text("grpc-message"));
    let status = match text("grpc-status").parse::<u16>() {
        Ok(0) => return Ok(()),
        Ok(_) if message.contains(NOT_READY) => return Err(EngineError::Unavailable(message)),
        Ok(UNAVAILABLE) => return Err(EngineError::Unavailable(message)),
        Ok(DEADLINE_EXCEEDED) => return Err(EngineError::Timeout),
        Ok(NOT_FOUND) => 404,
        Ok(ALREADY_EXISTS) => 409,
        Ok(INVALID_ARGUMENT) => 400,
        Ok(UNIMPLEMENTED) => 501,
        Ok(_) => 500,
        Err(_) => return Err(EngineError::Unexpected("an answer without a result".to_owned())),
    };
    Err(EngineError::Rejected { status, message })
}

/// Messages are percent-encoded.
fn unescaped(text: &str) -> String {
    let (bytes, mut plain) = (text.as_bytes(), Vec::new());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let hex = hex.and_then(|it| std::str::from_utf8(it).ok());
        match hex.and_then(|it| u8::from_str_radix(it, 16).ok()) {
            Some(escaped) => plain.push(escaped),
            None => plain.push(*byte),
        }
        at += if hex.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_one_by_one_and_whole() {
        let sent = ["a".to_owned(), "bcd".to_owned()];
        let body = framed(&sent);
        for cut in 0..=body.len() {
            let mut read = BytesMut::from(&body[..cut]);
            let mut messages = Vec::new();
            while let Some(bytes) = taken(&mut read).unwrap() {
                messages.push(String::decode(bytes).unwrap());
            }
            read.put_slice(&body[cut..]);
            while let Some(bytes) = taken(&mut read).unwrap() {
                messages.push(String::decode(bytes).unwrap());
            }
            assert_eq!(messages, sent, "cut at {cut}");
        }
    }

    #[test]
    fn messages_without_a_limit_are_refused() {
        let mut read = BytesMut::from(&[0, 0xff, 0xff, 0xff, 0xff][..]);
        assert!(taken(&mut read).is_err());
        let mut read = BytesMut::from(&[1, 0, 0, 0, 0][..]);
        assert!(taken(&mut read).is_err());
    }

    #[test]
    fn results_are_told_apart() {
        check("0", "", Ok(()));
        let rejected = |status, message: &str| {
            Err(EngineError::Rejected { status, message: message.to_owned() })
        };
        check("5", "no%20such%20pod 100%", rejected(404, "no such pod 100%"));
        check("6", "", rejected(409, ""));
        check("2", "what", rejected(500, "what"));
        check("14", "down", Err(EngineError::Unavailable("down".to_owned())));
        check("2", NOT_READY, Err(EngineError::Unavailable(NOT_READY.to_owned())));
        check("4", "", Err(EngineError::Timeout));
    }

    #[track_caller]
    fn check(status: &str, message: &str, expected: Answer<()>) {
        let mut headers = HeaderMap::new();
        headers.insert("grpc-status", status.parse().unwrap());
        headers.insert("grpc-message", message.parse().unwrap());
        assert_eq!(result(&headers), expected, "{status}");
    }
}
