//! How a survey handles a container that never ran. Pure.
//!
//! A container that was left between creation and start is useless: once it is
//! removed, the core sees that the service is missing. But some containers are
//! created to be started later.

use std::collections::BTreeSet;

use colony_core::margo::Digest;
use colony_core::node::staged;

use crate::containers::label::StartCondition;
use crate::containers::survey::ObservedContainer;

/// What a survey does with a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContainerFate {
    /// Reported to the core.
    Shown,
    /// Kept, but not reported yet.
    Hidden,
    /// Removed.
    Discarded,
}

impl ObservedContainer {
    /// A staged container that must not run beside the active one: it is only
    /// created, and that counts as healthy.
    pub(crate) fn must_not_start(&self) -> bool {
        self.owner.staged && self.waits()
    }

    /// An active container that was created ahead of the takeover.
    pub(crate) fn is_ahead(&self) -> bool {
        !self.owner.staged && self.waits()
    }

    fn waits(&self) -> bool {
        self.care.waits != StartCondition::No && self.unborn
    }

    /// `beside` holds the fingerprints of staged containers: a container
    /// created ahead stays as long as its staged counterpart. `acting` means
    /// that an action is in progress that may have created it.
    pub(crate) fn fate(&self, beside: &BTreeSet<Digest>, acting: bool) -> ContainerFate {
        if self.is_ahead() {
            let kept = acting || beside.contains(&staged(self.owner.fingerprint));
            return if kept { ContainerFate::Hidden } else { ContainerFate::Discarded };
        }
        match self.unborn && !self.must_not_start() && !acting {
            true => ContainerFate::Discarded,
            false => ContainerFate::Shown,
        }
    }
}

#[cfg(test)]
mod tests {
    use colony_core::margo::DeploymentId;
    use colony_core::node::Status;

    use super::*;
    use crate::containers::label::{Care, Owner};

    #[test]
    fn what_never_ran_is_discarded_unless_it_is_being_made() {
        check("active", ContainerFate::Shown);
        check("active unborn", ContainerFate::Discarded);
        check("active unborn acting", ContainerFate::Shown);
        check("staged", ContainerFate::Shown);
        check("staged unborn", ContainerFate::Discarded);
    }

    #[test]
    fn what_must_not_run_twice_is_shown() {
        check("staged unborn turn", ContainerFate::Shown);
    }

    #[test]
    fn what_is_to_take_over_waits_unseen_for_as_long_as_its_like_is_staged() {
        check("active unborn swap beside", ContainerFate::Hidden);
        check("active unborn turn beside", ContainerFate::Hidden);
        check("active unborn swap acting", ContainerFate::Hidden);
        check("active unborn swap", ContainerFate::Discarded);
        check("active swap", ContainerFate::Shown);
    }

    #[track_caller]
    fn check(words: &str, expected: ContainerFate) {
        let is = |word: &str| words.split(' ').any(|it| it == word);
        let fingerprint = Digest::of(b"next");
        let owner = Owner {
            deployment: DeploymentId::from_bytes([1; 16]),
            component: "web".parse().unwrap(),
            fingerprint: if is("staged") { staged(fingerprint) } else { fingerprint },
            staged: is("staged"),
            service: "web".to_owned(),
        };
        let waits = match (is("turn"), is("swap")) {
            (true, _) => StartCondition::Turn,
            (_, true) => StartCondition::Swap,
            (false, false) => StartCondition::No,
        };
        let seen = ObservedContainer {
            id: "1".to_owned(),
            owner,
            care: Care { waits, ..Care::new(0, None, None) },
            run: "1@".to_owned(),
            status: if is("unborn") { Status::Starting } else { Status::Running },
            unborn: is("unborn"),
        };
        let beside: BTreeSet<Digest> =
            is("beside").then(|| staged(fingerprint)).into_iter().collect();
        assert_eq!(seen.fate(&beside, is("acting")), expected, "{words}");
    }
}
