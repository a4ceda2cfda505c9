//! Errors of the client library.

use bollard::errors::Error;

use crate::containers::engine_error::EngineError;

impl From<Error> for EngineError {
    fn from(error: Error) -> EngineError {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the library's other errors are all about answers it could not read"
        )]
        match error {
            Error::DockerResponseServerError { status_code, message } => {
                EngineError::Rejected { status: status_code, message }
            }
            // Sent in the middle of an answer that began well.
            Error::DockerStreamError { error } => {
                EngineError::Rejected { status: 200, message: error }
            }
            Error::RequestTimeoutError => EngineError::Timeout,
            Error::IOError { err } => EngineError::Unavailable(err.to_string()),
            Error::HyperResponseError { err } => EngineError::Unavailable(chain(&err)),
            Error::HyperLegacyError { err } => EngineError::Unavailable(chain(&err)),
            Error::SocketNotFoundError(path) => {
                EngineError::Unavailable(format!("{path} does not exist"))
            }
            other => EngineError::Unexpected(other.to_string()),
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
