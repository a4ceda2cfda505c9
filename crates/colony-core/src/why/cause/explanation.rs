//! What there is to say about a cause.

use crate::code::Code;
use crate::time::Wall;
use crate::why::Owner;

/// A cause in words, who has to act, and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Explanation {
    /// What is the case, as a clause.
    pub(crate) clause: String,
    pub(crate) owner: Owner,
    /// What the owner can do, as a clause.
    pub(crate) act: Option<String>,
    /// When it began, where the cause itself knows.
    pub(crate) since: Option<Wall>,
    /// What happens next.
    pub(crate) next: String,
    /// When that is due, if it is known.
    pub(crate) at: Option<Wall>,
    /// It keeps something from starting, and ends on its own terms.
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

    /// The one who can act on an error is known by its code.
    pub(super) fn act_on(self, code: &Code) -> Explanation {
        let owner = owner(code);
        if owner == Owner::Colony { self } else { self.act(owner, code.remedy()) }
    }

    pub(super) fn since(self, since: impl Into<Option<Wall>>) -> Explanation {
        Explanation { since: since.into(), ..self }
    }

    pub(super) fn at(self, at: impl Into<Option<Wall>>) -> Explanation {
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
