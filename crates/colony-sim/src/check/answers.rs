//! The `why` answers that an LO sends to CO: the simulated shell around
//! `colony_core::why::AnswerOutbox`, and its invariants.
//!
//! Answers are sent with the events. A batch carries answers only if it ends at
//! the head of the log, so that CO never explains a state it does not know yet.

use colony_core::event::Incarnation;
use colony_core::fleet::AnswersTaken;
use colony_core::id::NodeName;
use colony_core::site::Changed;
use colony_core::time::Now;
use colony_core::why::{self, AnswerUpdate, Outage};
use colony_world::projection_difference;
use colony_world::{Answers, AnswersReply, through_bytes};

use crate::world::World;

/// The size of one update, small enough that some answers need several.
const UPDATE_BYTES: usize = 4_000;

impl World {
    /// Refreshes the answers that a step may have changed.
    pub(crate) fn local_answers(&mut self, site: usize, changed: &Changed, now: Now) {
        let unready = self.unready(site);
        let local = &mut *self.roles.sites[site];
        local.answers.outside.unready = unready;
        let Answers { outbox, outside, .. } = &mut local.answers;
        outbox.refresh(&local.core, outside, changed, now);
    }

    /// Online nodes that report that their engine does not answer.
    fn unready(&self, site: usize) -> std::collections::BTreeMap<NodeName, Vec<String>> {
        let core = &self.roles.sites[site].core;
        let online = |it: &NodeName| core.site_node(it).is_some_and(|it| it.is_online());
        let own =
            self.roles.nodes.iter().filter(|it| it.site == site && it.process.up && !it.retired);
        let down = own.filter(|it| self.now < it.engine.down_until && online(&it.name));
        down.map(|it| (it.name.clone(), vec!["the engine does not answer".to_owned()])).collect()
    }

    /// Records whether Git answered the LO.
    pub(crate) fn local_git_answers(&mut self, site: usize, answers: bool) {
        let since = self.roles.sites[site].process.now(self.now, self.rng.next()).wall;
        let outage = &mut self.roles.sites[site].answers.outside.git;
        let known = outage.take().filter(|_| !answers);
        *outage = known.or((!answers).then(|| outage_since(since, "connection timed out")));
    }

    /// The update to send, with all answers as they are at this moment.
    pub(crate) fn local_answers_due(&mut self, site: usize) -> Option<Box<AnswerUpdate>> {
        let now = self.roles.sites[site].process.now(self.now, self.rng.next());
        let reachable =
            self.roles.central.process.up && self.now >= self.roles.sites[site].wan_until;
        let outage = &mut self.roles.sites[site].answers.outside.central;
        let known = outage.take().filter(|_| !reachable);
        *outage = known.or((!reachable).then(|| outage_since(now.wall, "connection refused")));
        self.local_answers(site, &Changed::default(), now);
        let life = self.roles.central.process.life;
        let local = &mut *self.roles.sites[site];
        local.answers.outbox.refresh_nonempty(&local.core, now);
        if local.answers.central.replace(life) != Some(life) {
            local.answers.outbox.start_over();
        }
        self.check_answers(site, now);
        let update = self.roles.sites[site].answers.outbox.next(UPDATE_BYTES)?;
        Some(Box::new(through_bytes(&update)))
    }

    /// Checks that the incrementally updated answers equal a full computation.
    fn check_answers(&mut self, site: usize, now: Now) {
        if !self.rng.chance(25) {
            return;
        }
        let Answers { outbox, outside, .. } = &self.roles.sites[site].answers;
        let full = why::answers(&self.roles.sites[site].core, outside, now);
        if *outbox.current() != full {
            let keys = full.keys().chain(outbox.current().keys());
            let mut keys = keys.filter(|it| full.get(it) != outbox.current().get(it));
            let key = keys.next().map(ToString::to_string).unwrap_or_default();
            let name = &self.roles.sites[site].name;
            let what = format!("the answers of {name} about {key} were not kept up");
            self.violate(what);
        }
    }

    /// Handles the reply of CO to an update.
    pub(crate) fn local_answered(
        &mut self,
        site: usize,
        incarnation: Incarnation,
        reply: Option<AnswersReply>,
    ) {
        let local = &mut *self.roles.sites[site];
        let Some(reply) = reply.filter(|it| it.session == local.answers.outbox.session()) else {
            return;
        };
        if incarnation != local.core.log().incarnation {
            return;
        }
        match reply.taken {
            AnswersTaken::Stored => local.answers.outbox.acknowledged(reply.number),
            AnswersTaken::Incomplete => local.answers.outbox.start_over(),
        }
        self.check_stored_answers(site);
    }

    /// If CO has all answers, they must equal those of the site.
    fn check_stored_answers(&mut self, site: usize) {
        let (local, central) = (&self.roles.sites[site], &self.roles.central);
        let told = local.answers.central == Some(central.process.life) && central.process.up;
        let current = central.incarnation(&local.name) == Some(local.core.log().incarnation);
        if local.ghost || !told || !current || !local.answers.is_settled() {
            return;
        }
        let Some(view) = central.core.site(&local.name) else { return };
        if *view.answers != *local.answers.outbox.current() {
            let name = local.name.clone();
            self.violate(format!("CO has other answers of {name} than it sent"));
        }
    }

    /// If CO has all events, its projection must equal the state of the site.
    pub(crate) fn check_projection(&mut self, site: usize) {
        let local = &self.roles.sites[site];
        let Some(view) = self.roles.central.core.site(&local.name) else { return };
        if local.ghost || !local.seeded || view.head.log.as_ref() != Some(local.core.log()) {
            return;
        }
        let now = local.process.now(self.now, self.rng.next());
        if let Some(what) = projection_difference(view, &local.core, now) {
            let name = local.name.clone();
            self.violate(format!("CO has another picture of {name}: {what}"));
        }
    }
}

fn outage_since(since: colony_core::time::Timestamp, problem: &str) -> Outage {
    Outage { since, problem: problem.to_owned() }
}
