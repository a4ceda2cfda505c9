//! Errors of the engine, and the failure codes they map to.
//!
//! Docker and Podman report many errors as text only, so the text is searched.
//! The lists contain messages that both of them, and the registries behind
//! them, really send; everything else is the engine's own error.

use colony_core::attempt::Failure;
use colony_core::code::Code;

use crate::messages;

/// How much of the engine's message is shown.
const SHOWN: usize = 600;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EngineError {
    #[error("the engine does not answer: {0}")]
    Unavailable(String),
    #[error("the engine took too long")]
    Timeout,
    #[error("{message}")]
    Rejected { status: u16, message: String },
    #[error("the engine's answer was not understood: {0}")]
    Unexpected(String),
    /// What was given to the engine cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

impl EngineError {
    pub(crate) fn refused(status: u16, body: &[u8]) -> EngineError {
        let json = serde_json::from_slice::<serde_json::Value>(body).ok();
        let message = json.as_ref().and_then(|it| it.get("message")?.as_str());
        let message = message.map_or_else(|| String::from_utf8_lossy(body).into(), str::to_owned);
        EngineError::Rejected { status, message }
    }

    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, EngineError::Rejected { status: 404, .. })
    }

    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, EngineError::Rejected { status: 409, .. })
            // Podman answers 500 to a name that is taken.
            || self.contains_text("name is already in use") || self.contains_text("is already in use by")
    }

    fn contains_text(&self, words: &str) -> bool {
        matches!(self, EngineError::Rejected { message, .. } if message.contains(words))
    }

    /// The failure of what we were `doing` with containers.
    pub(crate) fn failed(&self, doing: &str) -> Failure {
        let code = self.code(messages::of_start).unwrap_or(match self {
            EngineError::Rejected { status: 400, .. } => Code::InvalidConfig,
            EngineError::Unavailable(_) => Code::EngineUnavailable,
            EngineError::Unreadable(_) => Code::ImageMissing,
            EngineError::Timeout | EngineError::Rejected { .. } | EngineError::Unexpected(_) => {
                Code::EngineError
            }
        });
        failure(code, doing, self)
    }

    /// The failure of fetching an image through the engine.
    pub(crate) fn not_pulled(&self, image: &str) -> Failure {
        let code = self.code(messages::of_pull).unwrap_or(match self {
            EngineError::Rejected { status: 404, .. } | EngineError::Unreadable(_) => {
                Code::ImageMissing
            }
            EngineError::Rejected { status: 401 | 403, .. } => Code::RegistryDenied,
            EngineError::Rejected { status: 400, .. } => Code::InvalidConfig,
            EngineError::Unavailable(_) => Code::EngineUnavailable,
            EngineError::Timeout => Code::PullTimeout,
            EngineError::Rejected { .. } | EngineError::Unexpected(_) => Code::EngineError,
        });
        failure(code, &format!("fetch the image `{image}`"), self)
    }

    fn code(&self, read: fn(&str) -> Option<Code>) -> Option<Code> {
        let EngineError::Rejected { message, .. } = self else { return None };
        read(message)
    }
}

fn failure(code: Code, doing: &str, trouble: &EngineError) -> Failure {
    let told = trouble.to_string().replace(char::is_control, " ");
    let told: String = told.trim().chars().take(SHOWN).collect();
    Failure::new(code, format!("could not {doing}: {told}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_engines_say_about_pulling() {
        let docker = "manifest for 127.0.0.1:5/x:1 not found: manifest unknown: manifest unknown";
        pull(404, docker, Code::ImageMissing);
        let docker =
            "Get \"http://127.0.0.1:5/v2/\": dial tcp 127.0.0.1:5: connect: connection refused";
        pull(500, docker, Code::RegistryUnavailable);
        let podman = "initializing source docker://127.0.0.1:5/x:1: reading manifest 1 in 127.0.0.1:5/x: manifest unknown";
        pull(200, podman, Code::ImageMissing);
        let podman = "initializing source docker://r/x:1: pinging container registry r: Get \"https://r/v2/\": dial tcp: lookup r: no such host";
        pull(200, podman, Code::RegistryUnavailable);
        pull(200, "requested access to the resource is denied", Code::RegistryDenied);
        pull(200, "write /x: no space left on device", Code::DiskFull);
        pull(200, "context deadline exceeded", Code::PullTimeout);
        pull(500, "something else", Code::EngineError);
    }

    #[test]
    fn what_engines_say_about_starting() {
        let docker = "driver failed programming external connectivity on endpoint x: Bind for 0.0.0.0:80 failed: port is already allocated";
        made(500, docker, Code::PortInUse);
        let podman = "cannot listen on the TCP port: listen tcp4 :80: bind: address already in use";
        made(500, podman, Code::PortInUse);
        let docker = "OCI runtime create failed: exec: \"nope\": executable file not found in $PATH: unknown";
        made(400, docker, Code::InvalidConfig);
        made(404, "No such image: x:1", Code::ImageMissing);
        made(400, "invalid capability", Code::InvalidConfig);
        made(500, "something else", Code::EngineError);
    }

    #[test]
    fn what_an_engine_says_stays_on_the_line() {
        let forged = EngineError::refused(500, b"{\"message\":\"no\\r\\u001b[2Kall is well\\n\"}");
        assert_eq!(forged.failed("start").message, "could not start: no  [2Kall is well");
        let long = EngineError::refused(500, &[b'x'; 4096]);
        assert_eq!(long.failed("start").message.len(), "could not start: ".len() + SHOWN);
    }

    #[test]
    fn silence_is_not_the_revisions_fault() {
        let down = EngineError::Unavailable("No such file".to_owned());
        assert_eq!(down.failed("x").code, Code::EngineUnavailable);
        assert_eq!(down.not_pulled("x").code, Code::EngineUnavailable);
        assert_eq!(EngineError::Timeout.not_pulled("x").code, Code::PullTimeout);
        let text = "could not start it: the engine does not answer: No such file";
        assert_eq!(down.failed("start it").message, text);
    }

    #[track_caller]
    fn pull(status: u16, message: &str, expected: Code) {
        let trouble = EngineError::Rejected { status, message: message.to_owned() };
        assert_eq!(trouble.not_pulled("x").code, expected, "{message}");
    }

    #[track_caller]
    fn made(status: u16, message: &str, expected: Code) {
        let trouble = EngineError::Rejected { status, message: message.to_owned() };
        assert_eq!(trouble.failed("x").code, expected, "{message}");
    }
}
