//! Why the API server of a cluster did not do what was asked.

use colony_core::attempt::Failure;
use colony_core::code::Code;
use serde::Deserialize;

use crate::helm::api::{ANSWER_TIME, one_line};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum KubeError {
    #[error("the API server does not answer: {0}")]
    Unavailable(String),
    #[error("the API server did not answer within {} s", ANSWER_TIME.as_secs())]
    Timeout,
    #[error(
        "the API server does not accept the credentials of this node (401 {message}): \
         the token or certificate has expired or is not valid"
    )]
    Unauthorized { message: String },
    #[error("{message}")]
    Rejected { status: u16, message: String },
    #[error("the answer of the API server is larger than {} MiB", .limit >> 20)]
    TooLarge { limit: usize },
    #[error("the API server lists more than {limit} objects")]
    TooMany { limit: usize },
    #[error("the answer of the API server cannot be parsed: {0}")]
    Unexpected(String),
}

/// What the API server says when it refuses.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Refusal {
    message: String,
}

impl KubeError {
    /// The error behind an answer that is not a success.
    pub(super) fn refused(status: u16, body: &[u8]) -> KubeError {
        let said: Refusal = serde_json::from_slice(body).unwrap_or_default();
        let message = match said.message.is_empty() {
            true => String::from_utf8_lossy(body).into_owned(),
            false => said.message,
        };
        match status {
            401 => KubeError::Unauthorized { message },
            // Proxies and an API server that is starting or overloaded.
            429 | 502..=504 => KubeError::Unavailable(format!("{status} {message}")),
            _ => KubeError::Rejected { status, message },
        }
    }

    /// The API server did not answer.
    pub(super) fn is_outage(&self) -> bool {
        match self {
            KubeError::Unavailable(_) | KubeError::Timeout => true,
            KubeError::Unauthorized { .. }
            | KubeError::Rejected { .. }
            | KubeError::TooLarge { .. }
            | KubeError::TooMany { .. }
            | KubeError::Unexpected(_) => false,
        }
    }

    /// The failure of what we were `doing`.
    pub(super) fn failed(&self, doing: &str) -> Failure {
        let code = if self.is_outage() { Code::EngineUnavailable } else { Code::EngineError };
        Failure::new(code, format!("could not {doing}: {}", one_line(&self.to_string())))
    }
}

impl From<kube::Error> for KubeError {
    fn from(error: kube::Error) -> KubeError {
        KubeError::Unavailable(chain(&error))
    }
}

impl From<serde_json::Error> for KubeError {
    fn from(error: serde_json::Error) -> KubeError {
        KubeError::Unexpected(error.to_string())
    }
}

impl From<http::Error> for KubeError {
    fn from(error: http::Error) -> KubeError {
        KubeError::Unexpected(error.to_string())
    }
}

pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_the_words_of_the_server() {
        let status = br#"{"kind":"Status","message":"secrets is forbidden","code":403}"#;
        check(403, status, Code::EngineError, "could not look: secrets is forbidden");
        check(
            401,
            br#"{"message":"Unauthorized"}"#,
            Code::EngineError,
            "could not look: the API server does not accept the credentials of this node (401 \
             Unauthorized): the token or certificate has expired or is not valid",
        );
        check(
            503,
            b"upstream is down\n",
            Code::EngineUnavailable,
            "could not look: the API server does not answer: 503 upstream is down",
        );
    }

    #[track_caller]
    fn check(status: u16, body: &[u8], code: Code, message: &str) {
        let failure = KubeError::refused(status, body).failed("look");
        assert_eq!((failure.code, failure.message.as_str()), (code, message));
    }
}
