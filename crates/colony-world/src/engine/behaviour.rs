//! The behaviour of a workload depends on its version alone, so that a story
//! can choose good and bad revisions.

use colony_core::attempt::Failure;
use colony_core::code::Code;

/// The behaviour of a revision when it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    Good,
    /// Ends three seconds after its start.
    Exits,
    /// Runs, but its health check never passes.
    Unhealthy,
    /// Its image does not exist.
    Missing,
    /// Its compose file uses an unsupported key.
    Unsupported,
    /// Its archive breaks the rules.
    Broken,
    /// Its configuration cannot be applied.
    Misconfigured,
    /// Its health check neither passes nor fails.
    Undecided,
}

impl Behaviour {
    /// The last number of the version decides.
    pub fn of(version: &str) -> Behaviour {
        let last = version.rsplit('.').next().and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
        match last {
            6 => Behaviour::Exits,
            7 => Behaviour::Unhealthy,
            8 => Behaviour::Missing,
            9 => Behaviour::Unsupported,
            10 => Behaviour::Broken,
            11 => Behaviour::Misconfigured,
            12 => Behaviour::Undecided,
            _ => Behaviour::Good,
        }
    }

    /// Why it cannot be prepared, if that is so.
    pub(super) fn flaw(self) -> Option<Failure> {
        let (code, message) = match self {
            Behaviour::Missing => (Code::ImageMissing, "manifest unknown"),
            Behaviour::Unsupported => {
                (Code::UnsupportedKey, "compose.yaml:7:5: services.web.devices is not supported")
            }
            Behaviour::Broken => (Code::ArchiveInvalid, "the archive has no compose.yaml"),
            Behaviour::Misconfigured => (Code::InvalidConfig, "`PORT` is not a number"),
            Behaviour::Good | Behaviour::Exits | Behaviour::Unhealthy | Behaviour::Undecided => {
                return None;
            }
        };
        Some(Failure::new(code, message))
    }

    /// Versions with an even last digit have a health check.
    pub(super) fn has_check(version: &str) -> bool {
        version.as_bytes().last().is_some_and(|it| it % 2 == 0)
    }
}
