//! The one place where errors become answers.

use colony_api::problem::Kind;
use colony_core::margo::problem::TryLater;
use colony_core::margo::{Problem, ProblemType};
use colony_core::site::Refused;
use tracing::error;

use crate::brain::BrainError;

/// Retry delay in seconds until a seed, a fetch or a disk recovers.
const SOON: u64 = 2;
/// Retry delay of a fenced orchestrator, which never serves again: a retry may
/// reach its successor.
const LATER: u64 = 30;

pub(crate) fn of_brain(error: BrainError) -> Problem {
    match error {
        BrainError::Refused(refused) => self::refused(&refused),
        BrainError::Unavailable | BrainError::Stopping => later(SOON, error.to_string()),
    }
}

pub(crate) fn refused(refused: &Refused) -> Problem {
    let said = refused.to_string();
    match refused {
        Refused::NotReady(_) => later(SOON, said),
        Refused::Fenced { .. } => later(LATER, said),
        Refused::UnknownNode(_) => Problem::new(ProblemType::NotAuthorized).detail(said),
        Refused::Command(_)
        | Refused::OtherBase { .. }
        | Refused::Rewritten { .. }
        | Refused::AlreadySeeded => Kind::Refused.problem(said),
    }
}

/// Logs an error that the client cannot act on, and returns as little of it as
/// possible.
pub(crate) fn internal(doing: &'static str, error: &dyn std::error::Error) -> Problem {
    error!("could not {doing}: {}", chain(error));
    later(SOON, format!("could not {doing}"))
}

pub(crate) fn later(seconds: u64, detail: impl Into<String>) -> Problem {
    Problem::try_later(TryLater::Unavailable, seconds).detail(detail)
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
