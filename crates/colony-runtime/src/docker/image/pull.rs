//! Pulls an image by a request of its own: the client library encodes
//! credentials in another alphabet than engines read, so that some passwords
//! would not arrive.
//!
//! From a registry without TLS it is pulled through Podman's own API: the API
//! it shares with Docker has no option for it. For Docker the node fetches such an
//! image itself and loads it (see `load`).

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
use crate::containers::api::Pull;
use crate::containers::engine_error::EngineError;
use crate::containers::image::Reference;
use crate::containers::pulls::Shown;
use crate::docker::api::EngineApi;
use crate::url::escaped;

/// The longest line of progress that is read, and the longest refusal.
const LINE_LIMIT: usize = 1 << 20;

/// One line of Podman's progress output.
#[derive(Debug, Default, Deserialize)]
struct Line {
    error: Option<String>,
}

impl EngineApi {
    pub(crate) async fn pull(&self, pull: &Pull<'_>, shown: &Shown<'_>) -> Result<(), EngineError> {
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

impl Pull<'_> {
    fn request(&self) -> Result<http::Request<Empty<Bytes>>, EngineError> {
        let mut request = http::Request::post(self.path()).header(http::header::HOST, "engine");
        if let Some(credential) = self.credential {
            request = request.header("x-registry-auth", auth_header(credential));
        }
        request.body(Empty::new()).map_err(|it| EngineError::Unexpected(it.to_string()))
    }

    fn path(&self) -> String {
        if self.plain { self.plain_path() } else { self.shared_path() }
    }

    fn shared_path(&self) -> String {
        let Reference { name, version } = Reference::read(self.image);
        let (name, version) = (escaped(name), escaped(version));
        let platform = escaped(self.platform.unwrap_or_default());
        format!("/images/create?fromImage={name}&tag={version}&platform={platform}")
    }

    fn plain_path(&self) -> String {
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

/// Docker reports unpacking in the same way as downloading, and starts again at
/// zero.
fn note_step(step: &CreateImageInfo, shown: &Shown<'_>) {
    let (Some(layer), Some(detail)) = (&step.id, &step.progress_detail) else { return };
    if step.status.as_deref() != Some("Downloading") {
        return;
    }
    let number = |it: Option<i64>| it.and_then(|it| u64::try_from(it).ok());
    if let (Some(done), Some(total)) = (number(detail.current), number(detail.total)) {
        shown.note(layer, done, total);
    }
}

/// What both engines read: JSON in the URL-safe alphabet of base64.
fn auth_header(credential: &Credential) -> String {
    let auth = match credential {
        Credential::Password { user, password } => {
            json!({ "username": user, "password": password })
        }
        Credential::IdentityToken(token) => json!({ "identitytoken": token }),
    };
    URL_SAFE.encode(auth.to_string())
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
        note_step(&step, shown);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bollard::models::ProgressDetail;
    use colony_core::margo::DeploymentId;

    use super::*;
    use crate::containers::pulls::Pulls;

    #[test]
    fn only_downloading_is_progress() {
        let pulls = Pulls::default();
        let shown = pulls.begin(&DeploymentId::from_bytes([1; 16]), "a");
        for (status, current) in [("Downloading", 10), ("Extracting", 1)] {
            let step = CreateImageInfo {
                id: Some("l1".to_owned()),
                status: Some(status.to_owned()),
                progress_detail: Some(ProgressDetail { current: Some(current), total: Some(100) }),
                ..CreateImageInfo::default()
            };
            note_step(&step, &shown);
            assert_eq!(pulls.shown()[0].done_bytes, 10, "{status}");
        }
    }

    #[test]
    fn podman_is_asked_without_tls_and_for_the_platform() {
        check(None, "");
        check(Some("linux/arm64"), "&OS=linux&Arch=arm64");
        check(Some("linux/arm/v7"), "&OS=linux&Arch=arm&Variant=v7");
    }

    #[test]
    fn other_pulls_use_the_api_that_engines_share() {
        let stall = Duration::from_secs(1);
        let (image, platform) = ("r.example:5000/a:1", Some("linux/arm64"));
        let pull = Pull { image, platform, credential: None, plain: false, stall };
        let expected = "/images/create?fromImage=r.example%3A5000%2Fa&tag=1&platform=linux%2Farm64";
        assert_eq!(pull.path(), expected);
    }

    #[test]
    fn credentials_are_sent_in_the_alphabet_that_engines_read() {
        // In the usual alphabet this password has a `/` and a `+`.
        let (user, password) = ("ann".to_owned(), "s3??????~~~>>>".to_owned());
        let header = auth_header(&Credential::Password { user, password });
        assert!(header.contains('_') && header.contains('-'), "{header}");
        let token = auth_header(&Credential::IdentityToken("t0k3n".to_owned()));
        assert_eq!(URL_SAFE.decode(token).expect("base64"), b"{\"identitytoken\":\"t0k3n\"}");
    }

    #[track_caller]
    fn check(platform: Option<&str>, expected: &str) {
        let stall = Duration::from_secs(1);
        let image = "r.example:5000/a:1";
        let pull = Pull { image, platform, credential: None, plain: true, stall };
        let path = pull.path();
        let (start, end) = path.split_once("&compatMode=true").expect("it asks for progress");
        assert!(
            start.ends_with("reference=r.example%3A5000%2Fa%3A1&tlsVerify=false&policy=always")
        );
        assert_eq!(end, expected);
    }
}
