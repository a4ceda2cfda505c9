//! Taking the end of an action.

use colony_margo::{ComponentName, Digest};

use super::engine::{Action, Prepared};
use super::held::{Held, Scene};
use super::row::{Phase, Turn};
use super::{remove, repair};
use crate::attempt::Failure;

impl Held {
    /// Takes the result of an action. `current` says that it was begun for the
    /// document being applied; otherwise it tells only what is at hand.
    pub(super) fn done(
        &mut self,
        action: &Action,
        result: Result<Prepared, Failure>,
        current: bool,
        scene: &Scene<'_>,
    ) {
        self.memory.acted = scene.now.mono;
        self.memory.stale = true;
        match (result, &self.record.phase) {
            (result, Phase::Removing { .. }) => remove::done(self, action, result, scene),
            (Ok(prepared), _) => self.worked(action, prepared, current, scene),
            (Err(failure), Phase::Applying { .. }) if current => self.fail(blame(action, failure)),
            (Err(_), Phase::Applying { .. }) | (Err(_), Phase::Removed { .. }) => {}
            (Err(failure), Phase::Installed { .. } | Phase::Failed { .. }) => {
                repair::missed(self, action, &failure, scene);
            }
        }
    }

    fn worked(&mut self, action: &Action, found: Prepared, current: bool, scene: &Scene<'_>) {
        match action {
            Action::Prepare { fingerprint, .. } => self.prepared(*fingerprint, found),
            Action::Start { component, .. } | Action::Stage { component, .. } => {
                self.started(component, current, scene)
            }
            Action::Unstage { .. } | Action::Clear { .. } | Action::Remove { .. } => {}
        }
    }

    fn prepared(&mut self, fingerprint: Digest, found: Prepared) {
        if self.needed().contains(&fingerprint) {
            self.record.services.insert(fingerprint, found.services);
            self.memory.prepared.insert(fingerprint);
        }
    }

    fn started(&mut self, component: &ComponentName, current: bool, scene: &Scene<'_>) {
        match &mut self.record.phase {
            Phase::Applying { turns, .. } if current => {
                let turn = Turn { since: scene.now.mono, started: true };
                turns.entry(component.clone()).or_insert(turn).started = true;
            }
            Phase::Installed { .. } | Phase::Failed { .. } => {
                repair::started(self, component, scene)
            }
            Phase::Applying { .. } | Phase::Removing { .. } | Phase::Removed { .. } => {}
        }
    }
}

fn blame(action: &Action, failure: Failure) -> Failure {
    let source = action.component().map(ToString::to_string).unwrap_or_default();
    Failure { source, ..failure }
}
