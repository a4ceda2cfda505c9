//! The central orchestrator in the model: it restarts at once when it dies.

use std::sync::Arc;

use colony_core::event::{Event, Incarnation};
use colony_world::{CentralShell, ToCentral, UplinkShell, WriterShell};

use crate::check::Rule;
use crate::world::{LOCAL, World};

impl World {
    /// The central orchestrator receives all events at once, in worlds whose
    /// subject is not its line.
    pub(crate) fn central_take_all(&mut self) {
        let local = &self.roles.sites[LOCAL];
        let incarnation = local.incarnation;
        let next = self.roles.central.next(&local.name, incarnation);
        let stored = usize::try_from(next - 1).unwrap_or(0);
        let fresh: Vec<Arc<Event>> = local.log.iter().skip(stored).cloned().collect();
        if !fresh.is_empty() {
            self.quiet = true;
            self.central_events(LOCAL, incarnation, &fresh, None);
            self.quiet = false;
        }
    }

    /// A message arrives at the central orchestrator, which may die and not
    /// answer it.
    pub(crate) fn central_hears(&mut self, message: ToCentral) {
        self.answered = false;
        self.central_receive(LOCAL, message);
        if !self.answered {
            self.miss_central();
        }
    }

    /// A request of the site got no answer.
    pub(crate) fn miss_central(&mut self) {
        self.roles.sites[LOCAL].uplink.away = true;
    }

    /// The site has events to send, or does not know the position.
    pub(crate) fn has_news(&self) -> bool {
        let (uplink, log) = (&self.local().uplink, self.local().core.log());
        uplink.next_batch(log.next, uplink.returns).0.is_some()
    }

    /// The site and the central orchestrator exchange all that is pending.
    pub(crate) fn talk_to_central(&mut self, rounds: u32) {
        for _ in 0..rounds {
            if !self.has_news() {
                break;
            }
            self.local_send_events(LOCAL);
            self.deliver_all();
        }
        self.local_request_commands(LOCAL);
        self.deliver_all();
    }

    fn deliver_all(&mut self) {
        while let Some(letter) = self.out.take(0, false) {
            self.central_hears(letter.text.clone());
        }
        while let Some(letter) = self.back.take(0, false) {
            self.local_hears_central(letter.text.clone());
        }
    }

    pub(crate) fn central_dies(&mut self, when: &str) {
        self.say(format!("CO dies {when}, and comes back from its database"));
        let central = &mut *self.roles.central;
        central.restore();
        central.process.life += 1;
        self.check_acknowledged();
    }

    /// There is a rollback to follow, or a queued change to continue.
    pub(crate) fn may_revert(&self) -> bool {
        let central = &self.roles.central;
        let due = || central.core.reverts_open().iter().any(|it| self.revert_due(it).is_some());
        !central.changes.is_empty() || due()
    }

    /// Reverts the file after a rollback, if Git still has the bad version;
    /// `true` if it was written.
    pub(crate) fn central_revert(&mut self) -> bool {
        let (head, life) = (self.roles.git.head().clone(), self.roles.central.process.life);
        if self.roles.central.changes.is_empty() && self.may_revert() {
            self.central_queue_reverts();
        }
        let number = self.roles.central.changes.keys().next().copied();
        if let Some(number) = number.filter(|_| self.roles.central.process.life == life) {
            self.central_push(number);
        }
        *self.roles.git.head() != head
    }

    /// Every acknowledged event is stored.
    fn check_acknowledged(&mut self) {
        let stored = |it: &Incarnation| self.roles.central.next(&self.site, *it);
        let lost = self.acked.iter().find(|it| stored(it.0) < *it.1);
        if let Some((incarnation, acked)) = lost {
            let stored = stored(incarnation);
            let what = format!("CO acknowledged all before {incarnation}/{acked}, has {stored}");
            self.break_rule(Rule::Acknowledged, what);
        }
    }

    /// The stored events equal those that the site has written, and the answers
    /// and the projection that follow from them are right.
    pub(crate) fn check_central(&mut self, incarnation: Incarnation) {
        if self.trail.dry {
            return;
        }
        self.check_acknowledged();
        let verdict = self.ask_central();
        self.judge(verdict);
        let local = &self.roles.sites[LOCAL];
        let stored = self.roles.central.events.get(&(self.site.clone(), incarnation));
        let Some(stored) = stored.filter(|_| incarnation == local.incarnation) else { return };
        let differs = stored.iter().zip(&local.log).any(|it| it.0.0 != *it.1);
        if differs || stored.len() > local.log.len() {
            return self.break_rule(Rule::Acknowledged, "CO has what LO has not".to_owned());
        }
        if stored.len() == local.log.len() {
            let verdict = self.check_belief();
            self.judge(verdict);
        }
    }
}
