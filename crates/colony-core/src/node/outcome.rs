//! Handles the end of an action.

use colony_margo::{ComponentName, Digest};

use crate::attempt::Failure;
use crate::document::Side;
use crate::node::decision::removal;
use crate::node::decision::repair;
use crate::node::deployment_entry::{DecisionInput, DeploymentEntry};
use crate::node::engine::{Action, Prepared};
use crate::node::row::{ComponentStart, Phase};

impl DeploymentEntry {
    /// Handles the result of an action. `current` means that it was begun for
    /// the document being applied; otherwise it only shows what is prepared.
    pub(super) fn done(
        &mut self,
        action: &Action,
        result: Result<Prepared, Failure>,
        current: bool,
        input: &DecisionInput<'_>,
    ) {
        self.memory.acted = input.now.mono;
        self.memory.stale = true;
        match (result, &self.record.phase) {
            (result, Phase::Removing { .. }) => removal::done(self, action, result, input),
            (Ok(prepared), _) => self.worked(action, prepared, current, input),
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
                    repair::repair_failed(self, side, action, &failure, input);
                }
            }
        }
    }

    fn worked(
        &mut self,
        action: &Action,
        found: Prepared,
        current: bool,
        input: &DecisionInput<'_>,
    ) {
        match action {
            Action::Prepare { fingerprint, .. } => self.prepared(*fingerprint, found),
            Action::Start { component, .. } | Action::Stage { component, .. } => {
                self.started(action, component, current, input)
            }
            Action::Unstage { component, .. } | Action::Clear { component, keep: None, .. } => {
                self.cleared(component);
            }
            Action::Clear { .. } | Action::Remove { .. } => {}
        }
    }

    /// No earlier container of the component is left, so it is not outdated.
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
        input: &DecisionInput<'_>,
    ) {
        let (upkeep, side) = (self.is_upkeep(action), self.side(action));
        match &mut self.record.phase {
            Phase::Applying { starts, .. } if current && !upkeep => {
                let turn = ComponentStart { since: input.now.mono, started: true };
                starts.entry(component.clone()).or_insert(turn).started = true;
            }
            Phase::Installed { .. } | Phase::Failed { .. } => {
                repair::repair_started(self, side, component, input)
            }
            Phase::Applying { .. } if upkeep => {
                repair::repair_started(self, side, component, input)
            }
            Phase::Applying { .. } | Phase::Removing { .. } | Phase::Removed { .. } => {}
        }
    }
}

impl DeploymentEntry {
    /// The side an action works on. A `Prepare` belongs to the current
    /// document, unless only the previous one has the fingerprint.
    fn side(&self, action: &Action) -> Side {
        match action {
            Action::Stage { .. } | Action::Unstage { .. } => Side::Stage,
            Action::Start { .. } | Action::Clear { .. } | Action::Remove { .. } => Side::Active,
            Action::Prepare { fingerprint, .. } => {
                let own =
                    self.plan.as_ref().ok().filter(|it| it.fingerprints().contains(fingerprint));
                own.map_or(Side::Active, |it| it.side)
            }
        }
    }

    /// A failed `Prepare` of a fingerprint that both documents have counts on
    /// both sides.
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

    /// The action repairs the active version while another one is staged.
    fn is_upkeep(&self, action: &Action) -> bool {
        self.is_staging() && self.side(action) == Side::Active
    }
}

fn blame(action: &Action, failure: Failure) -> Failure {
    let source = action.component().map(ToString::to_string).unwrap_or_default();
    Failure { source, ..failure }
}
