//! The answers of an LO on their way to CO: what every simulated shell does with
//! `colony_core::why::AnswerOutbox`, and what must hold of it.
//!
//! They travel with the events. A batch carries answers only if it ends at the
//! head of the log, so that CO never explains a state it does not know yet.

use colony_core::event::Incarnation;
use colony_core::fleet::AnswersTaken;
use colony_core::id::NodeName;
use colony_core::site::Changed;
use colony_core::time::Now;
use colony_core::why::{self, AnswerOutbox, AnswerUpdate, Outage, Surroundings, Why};
use colony_testkit::projection_difference;

use crate::world::World;

/// The size of one update: some need several.
const UPDATE_BYTES: usize = 4_000;

/// What an LO has to say, and what it sees of its outside.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    outbox: AnswerOutbox,
    outside: Surroundings,
    /// The life of CO that the answers were sent to.
    central: Option<u64>,
}

/// What CO did with an update.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswersReply {
    session: u64,
    number: u64,
    taken: AnswersTaken,
}

impl Answers {
    /// Nothing of it is persisted: each start sends everything again.
    pub(crate) fn restart(&mut self, session: u64) {
        // Sessions rise, also if the shell fell back to its disk in the same life.
        let session = session.max(self.outbox.session()) + 1;
        *self = Answers { outbox: AnswerOutbox::new(session), ..Answers::default() };
    }

    pub(crate) fn current(&self) -> impl Iterator<Item = &Why> {
        self.outbox.current().values().flatten()
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.outbox.is_settled()
    }
}

impl World {
    /// A step may have changed some answers.
    pub(crate) fn local_answers(&mut self, site: usize, changed: &Changed, now: Now) {
        let unready = self.unready(site);
        let local = &mut self.sites[site];
        local.answers.outside.unready = unready;
        let Answers { outbox, outside, .. } = &mut local.answers;
        outbox.refresh(&local.core, outside, changed, now);
    }

    /// Nodes that are heard and say that their engine does not answer.
    fn unready(&self, site: usize) -> std::collections::BTreeMap<NodeName, Vec<String>> {
        let core = &self.sites[site].core;
        let online = |it: &NodeName| core.member(it).is_some_and(|it| it.is_online());
        let own = self.nodes.iter().filter(|it| it.site == site && it.process.up && !it.retired);
        let down = own.filter(|it| self.now < it.engine.down_until && online(&it.name));
        down.map(|it| (it.name.clone(), vec!["the engine does not answer".to_owned()])).collect()
    }

    /// Git answered the LO, or did not.
    pub(crate) fn local_git_answers(&mut self, site: usize, answers: bool) {
        let since = self.sites[site].process.now(self.now, &mut self.rng).wall;
        let outage = &mut self.sites[site].answers.outside.git;
        let known = outage.take().filter(|_| !answers);
        *outage = known.or((!answers).then(|| gone(since, "connection timed out")));
    }

    /// The update to send, with all answers as they are at this moment.
    pub(crate) fn local_answers_due(&mut self, site: usize) -> Option<Box<AnswerUpdate>> {
        let now = self.sites[site].process.now(self.now, &mut self.rng);
        let reachable = self.central.process.up && self.now >= self.sites[site].wan_until;
        let outage = &mut self.sites[site].answers.outside.central;
        let known = outage.take().filter(|_| !reachable);
        *outage = known.or((!reachable).then(|| gone(now.wall, "connection refused")));
        self.local_answers(site, &Changed::default(), now);
        let life = self.central.process.life;
        let local = &mut self.sites[site];
        local.answers.outbox.refresh_waiting(&local.core, now);
        if local.answers.central.replace(life) != Some(life) {
            local.answers.outbox.start_over();
        }
        self.check_answers(site, now);
        let update = self.sites[site].answers.outbox.next(UPDATE_BYTES)?;
        Some(Box::new(through_bytes(&update)))
    }

    /// The answers that were kept up with the changes are all there are.
    fn check_answers(&mut self, site: usize, now: Now) {
        if !self.rng.chance(25) {
            return;
        }
        let Answers { outbox, outside, .. } = &self.sites[site].answers;
        let full = why::answers(&self.sites[site].core, outside, now);
        if *outbox.current() != full {
            let keys = full.keys().chain(outbox.current().keys());
            let mut keys = keys.filter(|it| full.get(it) != outbox.current().get(it));
            let key = keys.next().map(ToString::to_string).unwrap_or_default();
            let name = &self.sites[site].name;
            let what = format!("the answers of {name} about {key} were not kept up");
            self.violate(what);
        }
    }

    /// CO takes the answers over, in the commit of the events they came with.
    pub(crate) fn central_answers(&mut self, site: usize, update: &AnswerUpdate) -> AnswersReply {
        let name = self.sites[site].name.clone();
        let taken = self.central.core.answers_apply(&name, update).expect("the site was added");
        AnswersReply { session: update.session, number: update.number, taken }
    }

    /// CO answered an update.
    pub(crate) fn local_answered(
        &mut self,
        site: usize,
        incarnation: Incarnation,
        reply: Option<AnswersReply>,
    ) {
        let local = &mut self.sites[site];
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

    /// CO has all answers: they are those of the site.
    fn check_stored_answers(&mut self, site: usize) {
        let (local, central) = (&self.sites[site], &self.central);
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

    /// CO has all events: its picture of the site is the site's own.
    pub(crate) fn check_projection(&mut self, site: usize) {
        let local = &self.sites[site];
        let Some(view) = self.central.core.site(&local.name) else { return };
        if local.ghost || !local.seeded || view.head.log.as_ref() != Some(local.core.log()) {
            return;
        }
        let now = local.process.now(self.now, &mut self.rng);
        if let Some(what) = projection_difference(view, &local.core, now) {
            let name = local.name.clone();
            self.violate(format!("CO has another picture of {name}: {what}"));
        }
    }
}

fn gone(since: colony_core::time::Wall, problem: &str) -> Outage {
    Outage { since, problem: problem.to_owned() }
}

fn through_bytes(update: &AnswerUpdate) -> AnswerUpdate {
    let text = serde_json::to_string(update).expect("answers can be written");
    serde_json::from_str(&text).expect("answers can be read")
}
