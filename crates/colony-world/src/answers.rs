//! The `why` answers that a local orchestrator sends to the central one: the
//! state around `colony_core::why::AnswerOutbox`.

use colony_core::why::{AnswerOutbox, Surroundings, Why};

/// The answers of an orchestrator, and the state of its surroundings.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    pub outbox: AnswerOutbox,
    pub outside: Surroundings,
    /// The life of the central process that the answers were sent to.
    pub central: Option<u64>,
}

impl Answers {
    /// Nothing of this is persisted: each start sends all answers again.
    pub fn restart(&mut self, session: u64) {
        // Session numbers increase, also if the shell is restored from its disk
        // in the same life.
        let session = session.max(self.outbox.session()) + 1;
        *self = Answers { outbox: AnswerOutbox::new(session), ..Answers::default() };
    }

    pub fn current(&self) -> impl Iterator<Item = &Why> {
        self.outbox.current().values().flatten()
    }

    pub fn is_settled(&self) -> bool {
        self.outbox.is_settled()
    }
}
