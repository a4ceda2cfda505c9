//! What a look makes of a container that never ran. Pure.
//!
//! One that was left between creation and start helps nobody: without it, the
//! core sees that the service is missing. But some are meant to wait.

use std::collections::BTreeSet;

use colony_core::node::staged;
use colony_margo::Digest;

use crate::label::Waits;
use crate::survey::Seen;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Shown,
    /// It is nobody's business yet.
    Hidden,
    Discarded,
}

impl Seen {
    /// A staged one that must not run twice: that it was made is all there is
    /// to it, and as well as it can be.
    pub(crate) fn is_still(&self) -> bool {
        self.owner.staged && self.waits()
    }

    /// An active one that was made before its time has come.
    pub(crate) fn is_ahead(&self) -> bool {
        !self.owner.staged && self.waits()
    }

    fn waits(&self) -> bool {
        self.care.waits != Waits::No && self.unborn
    }

    /// `beside` are the fingerprints of what is staged: one that is to take
    /// over stays for as long as its like is. `acting` says that an action is
    /// under way that may have made it.
    pub(crate) fn fate(&self, beside: &BTreeSet<Digest>, acting: bool) -> Fate {
        if self.is_ahead() {
            let kept = acting || beside.contains(&staged(self.owner.fingerprint));
            return if kept { Fate::Hidden } else { Fate::Discarded };
        }
        match self.unborn && !self.is_still() && !acting {
            true => Fate::Discarded,
            false => Fate::Shown,
        }
    }
}

#[cfg(test)]
mod tests {
    use colony_core::node::Status;
    use colony_margo::DeploymentId;

    use super::*;
    use crate::label::{Care, Owner};

    #[test]
    fn what_never_ran_is_discarded_unless_it_is_being_made() {
        check("active", Fate::Shown);
        check("active unborn", Fate::Discarded);
        check("active unborn acting", Fate::Shown);
        check("staged", Fate::Shown);
        check("staged unborn", Fate::Discarded);
    }

    #[test]
    fn what_must_not_run_twice_is_shown() {
        check("staged unborn turn", Fate::Shown);
    }

    #[test]
    fn what_is_to_take_over_waits_unseen_for_as_long_as_its_like_is_staged() {
        check("active unborn swap beside", Fate::Hidden);
        check("active unborn turn beside", Fate::Hidden);
        check("active unborn swap acting", Fate::Hidden);
        check("active unborn swap", Fate::Discarded);
        check("active swap", Fate::Shown);
    }

    #[track_caller]
    fn check(words: &str, expected: Fate) {
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
            (true, _) => Waits::Turn,
            (_, true) => Waits::Swap,
            (false, false) => Waits::No,
        };
        let seen = Seen {
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
