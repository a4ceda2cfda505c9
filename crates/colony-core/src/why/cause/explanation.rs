//! The explanation of a cause, for people.

use crate::code::Code;
use crate::time::Timestamp;
use crate::why::Owner;

/// A cause as text, with the role that has to act and what happens next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Explanation {
    /// What is the case, as a clause.
    pub(crate) clause: String,
    pub(crate) owner: Owner,
    /// What the owner can do, as a clause.
    pub(crate) act: Option<String>,
    /// When it began, if the cause contains that.
    pub(crate) since: Option<Timestamp>,
    /// What happens next.
    pub(crate) next: String,
    /// When that is due, if it is known.
    pub(crate) at: Option<Timestamp>,
    /// The cause blocks a start, and ends independently of other causes.
    pub(crate) is_gate: bool,
}

impl Explanation {
    /// A cause that goes away without help.
    pub(super) fn new(clause: impl Into<String>, next: impl Into<String>) -> Explanation {
        Explanation {
            clause: clause.into(),
            owner: Owner::Colony,
            act: None,
            since: None,
            next: next.into(),
            at: None,
            is_gate: false,
        }
    }

    pub(super) fn act(self, owner: Owner, act: impl Into<String>) -> Explanation {
        Explanation { owner, act: Some(act.into()), ..self }
    }

    /// The code of an error determines the owner and what the owner can do.
    pub(super) fn act_on(self, code: &Code) -> Explanation {
        let owner = owner(code);
        if owner == Owner::Colony { self } else { self.act(owner, code.remedy()) }
    }

    pub(super) fn since(self, since: impl Into<Option<Timestamp>>) -> Explanation {
        Explanation { since: since.into(), ..self }
    }

    pub(super) fn at(self, at: impl Into<Option<Timestamp>>) -> Explanation {
        Explanation { at: at.into(), ..self }
    }

    pub(super) fn gate(self) -> Explanation {
        Explanation { is_gate: true, ..self }
    }
}

fn owner(code: &Code) -> Owner {
    match code {
        Code::NodeShutdown => Owner::Colony,
        Code::RolledBack => Owner::Operator,
        Code::PullTimeout
        | Code::RegistryUnavailable
        | Code::RegistryDenied
        | Code::ProgressDeadline
        | Code::UnknownChild => Owner::SiteEngineer,
        Code::DiskFull
        | Code::EngineUnavailable
        | Code::EngineError
        | Code::PortInUse
        | Code::Interference
        | Code::NodeOffline
        | Code::RemovalFailed
        | Code::ChildUnreachable
        | Code::Foreign(_) => Owner::DeviceOwner,
        Code::ImageMissing
        | Code::ArchiveInvalid
        | Code::UnsupportedKey
        | Code::Exited
        | Code::Unhealthy
        | Code::ComponentTimeout => Owner::Vendor,
        Code::InvalidConfig | Code::NotEligible | Code::PlacementUnsupported => Owner::GitAuthor,
    }
}
