//! Taking the end of an action.

use colony_margo::{ComponentName, Digest};

use super::engine::{Action, Prepared};
use super::held::{Held, Scene};
use super::plan::Side;
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
            (Err(_), Phase::Removed { .. }) => {}
            (Err(_), Phase::Applying { .. }) if !current => {}
            (Err(failure), Phase::Applying { .. }) if !self.is_upkeep(action) => {
                self.fail(blame(action, failure));
            }
            (
                Err(failure),
                Phase::Applying { .. } | Phase::Installed { .. } | Phase::Failed { .. },
            ) => {
                for side in self.sides(action) {
                    repair::missed(self, side, action, &failure, scene);
                }
            }
        }
    }

    fn worked(&mut self, action: &Action, found: Prepared, current: bool, scene: &Scene<'_>) {
        match action {
            Action::Prepare { fingerprint, .. } => self.prepared(*fingerprint, found),
            Action::Start { component, .. } | Action::Stage { component, .. } => {
                self.started(action, component, current, scene)
            }
            Action::Unstage { component, .. } | Action::Clear { component, keep: None, .. } => {
                self.cleared(component);
            }
            Action::Clear { .. } | Action::Remove { .. } => {}
        }
    }

    /// Nothing that was made before is left of the component.
    fn cleared(&mut self, component: &ComponentName) {
        let part = self.plan.as_ref().ok().and_then(|it| it.part(component));
        if let Some(fingerprint) = part.map(|it| it.fingerprint) {
            self.memory.outdated.remove(&fingerprint);
        }
    }

    fn prepared(&mut self, fingerprint: Digest, found: Prepared) {
        if self.needed().contains(&fingerprint) {
            self.record.services.insert(fingerprint, found.services);
            if found.outdated {
                self.memory.outdated.insert(fingerprint);
            }
            self.memory.prepared.insert(fingerprint);
        }
    }

    fn started(
        &mut self,
        action: &Action,
        component: &ComponentName,
        current: bool,
        scene: &Scene<'_>,
    ) {
        let (upkeep, side) = (self.is_upkeep(action), self.side(action));
        match &mut self.record.phase {
            Phase::Applying { turns, .. } if current && !upkeep => {
                let turn = Turn { since: scene.now.mono, started: true };
                turns.entry(component.clone()).or_insert(turn).started = true;
            }
            Phase::Installed { .. } | Phase::Failed { .. } => {
                repair::started(self, side, component, scene)
            }
            Phase::Applying { .. } if upkeep => repair::started(self, side, component, scene),
            Phase::Applying { .. } | Phase::Removing { .. } | Phase::Removed { .. } => {}
        }
    }
}

impl Held {
    /// On which side an action works. What is prepared is for the document at
    /// hand, unless only the one before is made from it.
    fn side(&self, action: &Action) -> Side {
        match action {
            Action::Stage { .. } | Action::Unstage { .. } => Side::Stage,
            Action::Start { .. } | Action::Clear { .. } | Action::Remove { .. } => Side::Active,
            Action::Prepare { fingerprint, .. } => {
                let own =
                    self.plan.as_ref().ok().filter(|it| it.fingerprints().contains(fingerprint));
                own.map_or(Side::Active, |it| it.phase)
            }
        }
    }

    /// What both documents are made from is missed on both sides.
    fn sides(&self, action: &Action) -> Vec<Side> {
        let own = self.side(action);
        let old = self.previous.as_ref().filter(|_| own == Side::Stage && self.is_staging());
        let shared = |it: &Digest| old.is_some_and(|plan| plan.fingerprints().contains(it));
        match action {
            Action::Prepare { fingerprint, .. } if shared(fingerprint) => vec![own, Side::Active],
            Action::Prepare { .. }
            | Action::Start { .. }
            | Action::Stage { .. }
            | Action::Unstage { .. }
            | Action::Clear { .. }
            | Action::Remove { .. } => vec![own],
        }
    }

    /// It repairs what runs on while something else is being staged.
    fn is_upkeep(&self, action: &Action) -> bool {
        self.is_staging() && self.side(action) == Side::Active
    }
}

fn blame(action: &Action, failure: Failure) -> Failure {
    let source = action.component().map(ToString::to_string).unwrap_or_default();
    Failure { source, ..failure }
}
