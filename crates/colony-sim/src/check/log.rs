//! The invariants of a site's log: it is in order and within the transition
//! table, and a revision is quarantined only for its own fault.

use colony_core::attempt::Revision;
use colony_core::code::Class;
use colony_core::event::{Body, Event, Transition};
use colony_core::id::PlacementId;
use colony_core::state::State;
use colony_core::transition::{Trigger, is_legal};

use crate::check::Checker;

impl Checker {
    pub(super) fn follow(&mut self, site: usize, event: &Event) -> Result<(), String> {
        let log = self.logs.get_mut(&site).ok_or("an event of an unknown site")?;
        log.follow(event).map_err(|it| it.to_string())?;
        if let Body::StateTransition(it) = &event.body {
            return self.transition(site, it);
        }
        let (Body::Quarantined { failure, .. }
        | Body::RolloutStopped { failure, .. }
        | Body::RevisionRejected { failure, .. }) = &event.body
        else {
            return Ok(());
        };
        if failure.code.class() != Class::Revision && !event.actor.is_operator() {
            return Err(format!("{} condemned a revision", failure.code));
        }
        Ok(())
    }

    fn transition(&mut self, site: usize, it: &Transition) -> Result<(), String> {
        let id = PlacementId { deployment: it.deployment.clone(), node: it.node.clone() };
        let key = (site, id);
        let from = self.states.get(&key).copied();
        if from != it.from {
            return Err(format!("{}: moves from {:?} but was {from:?}", key.1, it.from));
        }
        if !is_legal(it.from, it.trigger, it.to) {
            return Err(format!("{}: {:?} to {} is not in the table", key.1, it.from, it.to));
        }
        self.note_staged(&key, it);
        if it.to == State::Deleted {
            self.states.remove(&key);
        } else {
            self.states.insert(key, it.to);
        }
        Ok(())
    }

    /// If another revision replaces a staged one, it takes the active version
    /// down, unless it is that version.
    fn note_staged(&mut self, key: &(usize, PlacementId), it: &Transition) {
        let was =
            if it.staged { !self.staged.insert(key.clone()) } else { self.staged.remove(key) };
        let workload = |it: &Option<Revision>| it.as_ref().map(|it| it.workload);
        let back = workload(&it.revisions.target) == workload(&it.revisions.last_good);
        if was && !it.staged && !back && it.trigger == Trigger::Superseded {
            self.replaced.push(it.deployment.clone());
        }
    }
}
