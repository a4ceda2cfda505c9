//! Removes a deployment from the node, until none of its containers is
//! observed.

use crate::attempt::Failure;
use crate::code::Code;
use crate::node::deployment_entry::{DecisionInput, DeploymentEntry, Next};
use crate::node::engine::{Action, Prepared};
use crate::node::row::{Phase, Retry};

pub(in crate::node) fn next(entry: &mut DeploymentEntry, input: &DecisionInput<'_>) -> Next {
    let Phase::Removing { version, retry, purge, images, .. } = &mut entry.record.phase else {
        return Next::Wait(None);
    };
    if entry.memory.removed && input.containers.is_empty() {
        entry.record.phase = Phase::Removed { version: *version, purged: *purge };
        return Next::Wait(None);
    }
    if let Some(due) = retry.due.filter(|it| input.now.mono < *it) {
        return Next::Wait(Some(due));
    }
    Next::Act(Action::Remove {
        deployment: entry.record.id.clone(),
        purge: *purge,
        images: *images,
    })
}

/// Handles the end of an action. Only the result of a removal still matters.
pub(in crate::node) fn done(
    entry: &mut DeploymentEntry,
    action: &Action,
    result: Result<Prepared, Failure>,
    input: &DecisionInput<'_>,
) {
    let Action::Remove { purge: purged, .. } = action else { return };
    let name = entry.name();
    let Phase::Removing { failure, retry, purge, .. } = &mut entry.record.phase else { return };
    // A removal that began before the volumes had to go has left them.
    if *purge && !purged && result.is_ok() {
        return;
    }
    entry.memory.removed = result.is_ok();
    retry.again(input);
    if let Err(error) = result {
        let message = format!("{}: {}", error.code, error.message);
        let removal = Failure::new(Code::RemovalFailed, message);
        *failure = Some(Failure { source: name, log: error.log, ..removal });
    }
}

impl Retry {
    /// Counts a try and schedules the next one.
    pub(in crate::node) fn again(&mut self, input: &DecisionInput<'_>) {
        let wait = input.policy.backoff.wait(self.tries, input.now.entropy);
        self.due = Some(input.now.mono.after(wait));
        self.tries += 1;
    }
}
