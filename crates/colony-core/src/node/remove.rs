//! Taking a deployment off the node, until nothing of it is seen.

use super::engine::{Action, Prepared};
use super::held::{Held, Next, Scene};
use super::row::{Phase, Retry};
use crate::attempt::Failure;
use crate::code::Code;

pub(super) fn next(held: &mut Held, scene: &Scene<'_>) -> Next {
    let Phase::Removing { version, retry, .. } = &mut held.record.phase else {
        return Next::Wait(None);
    };
    if held.memory.removed && scene.containers.is_empty() {
        held.record.phase = Phase::Removed { version: *version };
        return Next::Wait(None);
    }
    if let Some(due) = retry.due.filter(|it| scene.now.mono < *it) {
        return Next::Wait(Some(due));
    }
    Next::Act(Action::Remove { deployment: held.record.id.clone() })
}

/// Takes the end of an action. Whatever was not a removal no longer matters.
pub(super) fn done(
    held: &mut Held,
    action: &Action,
    result: Result<Prepared, Failure>,
    scene: &Scene<'_>,
) {
    let Action::Remove { .. } = action else { return };
    let name = held.name();
    let Phase::Removing { failure, retry, .. } = &mut held.record.phase else { return };
    held.memory.removed = result.is_ok();
    retry.again(scene);
    if let Err(error) = result {
        let message = format!("{}: {}", error.code, error.message);
        let removal = Failure::new(Code::RemovalFailed, message);
        *failure = Some(Failure { source: name, log: error.log, ..removal });
    }
}

impl Retry {
    /// Counts a try and sets when the next one may be.
    pub(super) fn again(&mut self, scene: &Scene<'_>) {
        let wait = scene.policy.backoff.wait(self.tries, scene.now.entropy);
        self.due = Some(scene.now.mono.after(wait));
        self.tries += 1;
    }
}
