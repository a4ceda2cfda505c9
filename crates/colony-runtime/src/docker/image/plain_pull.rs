//! Pulls an image from a registry without TLS, through Podman's own API: the
//! API it shares with Docker has no option for it. Docker has its own list of
//! such registries (`insecure-registries` in its `daemon.json`) and accepts
//! none from clients.

use crate::url::escaped;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use bollard::models::CreateImageInfo;
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::json;

use crate::config::Credential;
use crate::docker::api::EngineApi;
use crate::docker::engine_error::EngineError;
use crate::docker::pulls::Shown;

/// The longest line of progress that is read, and the longest refusal.
const LINE_LIMIT: usize = 1 << 20;

/// What to pull.
#[derive(Debug)]
pub(crate) struct PlainPull<'a> {
    pub(crate) image: &'a str,
    /// `os/architecture[/variant]`.
    pub(crate) platform: Option<&'a str>,
    pub(crate) credential: Option<&'a Credential>,
    /// How long the answer may stall.
    pub(crate) stall: Duration,
}

/// One line of Podman's progress output.
#[derive(Debug, Default, Deserialize)]
struct Line {
    error: Option<String>,
}

impl EngineApi {
    pub(crate) async fn pull_plain(
        &self,
        pull: &PlainPull<'_>,
        shown: &Shown<'_>,
    ) -> Result<(), EngineError> {
        let down = |it: String| EngineError::Unavailable(it);
        let stream = tokio::net::UnixStream::connect(&self.socket).await;
        let stream = stream.map_err(|it| down(it.to_string()))?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|it| down(it.to_string()))?;
        let request = pull.request()?;
        let answer = async {
            let sent = tokio::time::timeout(pull.stall, sender.send_request(request)).await;
            let answer =
                sent.map_err(|_| EngineError::Timeout)?.map_err(|it| down(it.to_string()))?;
            follow(answer, pull.stall, shown).await
        };
        // The connection has no task of its own: it lives as long as the answer.
        tokio::pin!(answer);
        tokio::select! {
            biased;
            answer = &mut answer => answer,
            _ = connection => answer.await,
        }
    }
}

impl PlainPull<'_> {
    fn request(&self) -> Result<http::Request<Empty<Bytes>>, EngineError> {
        let mut request = http::Request::post(self.path()).header(http::header::HOST, "engine");
        if let Some(credential) = self.credential {
            let auth = json!({ "username": credential.user, "password": credential.password });
            request = request.header("x-registry-auth", URL_SAFE.encode(auth.to_string()));
        }
        request.body(Empty::new()).map_err(|it| EngineError::Unexpected(it.to_string()))
    }

    fn path(&self) -> String {
        let mut path = format!(
            "/v4.0.0/libpod/images/pull?reference={}&tlsVerify=false&policy=always&compatMode=true",
            escaped(self.image)
        );
        let parts = self.platform.unwrap_or_default().split('/');
        for (key, value) in ["OS", "Arch", "Variant"].into_iter().zip(parts) {
            if !value.is_empty() {
                path.push_str(&format!("&{key}={}", escaped(value)));
            }
        }
        path
    }
}

/// Reads the answer line by line; an error may come in the middle of it.
async fn follow(
    answer: http::Response<Incoming>,
    stall: Duration,
    shown: &Shown<'_>,
) -> Result<(), EngineError> {
    let status = answer.status();
    let (mut body, mut left) = (answer.into_body(), Vec::new());
    loop {
        let frame =
            tokio::time::timeout(stall, body.frame()).await.map_err(|_| EngineError::Timeout)?;
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|it| EngineError::Unavailable(it.to_string()))?;
        left.extend_from_slice(frame.data_ref().map_or(&[][..], |it| it));
        if left.len() > LINE_LIMIT {
            return Err(EngineError::Unexpected(format!("a line of more than {LINE_LIMIT} bytes")));
        }
        if !status.is_success() {
            continue;
        }
        while let Some(end) = left.iter().position(|it| *it == b'\n') {
            let line: Vec<u8> = left.drain(..=end).collect();
            note(&line, shown)?;
        }
    }
    match status.is_success() {
        true => note(&left, shown),
        false => Err(EngineError::refused(status.as_u16(), &left)),
    }
}

fn note(line: &[u8], shown: &Shown<'_>) -> Result<(), EngineError> {
    let said: Line = serde_json::from_slice(line).unwrap_or_default();
    if let Some(message) = said.error.filter(|it| !it.is_empty()) {
        return Err(EngineError::Rejected { status: 200, message });
    }
    if let Ok(step) = serde_json::from_slice::<CreateImageInfo>(line) {
        shown.note(&step);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn podman_is_asked_without_tls_and_for_the_platform() {
        check(None, "");
        check(Some("linux/arm64"), "&OS=linux&Arch=arm64");
        check(Some("linux/arm/v7"), "&OS=linux&Arch=arm&Variant=v7");
    }

    #[track_caller]
    fn check(platform: Option<&str>, expected: &str) {
        let stall = Duration::from_secs(1);
        let pull = PlainPull { image: "r.example:5000/a:1", platform, credential: None, stall };
        let path = pull.path();
        let (start, end) = path.split_once("&compatMode=true").expect("it asks for progress");
        assert!(
            start.ends_with("reference=r.example%3A5000%2Fa%3A1&tlsVerify=false&policy=always")
        );
        assert_eq!(end, expected);
    }
}
