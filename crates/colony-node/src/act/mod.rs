//! Executes the actions of the core, and looks at the engine.
//!
//! Actions of different deployments run concurrently, those of one deployment
//! never. The engine is looked at after one of its events, after an action, and
//! every few seconds in case an event was missed.

mod actions;
mod alarm;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use colony_core::margo::Capabilities;
use colony_core::node::{Container, Input};
use colony_core::time::Monotonic;
use colony_runtime::Runtime;

use crate::act::actions::Actions;
use crate::act::alarm::{Alarm, Due};
use crate::brain::{Brain, Todo};

/// How often the engine is looked at without an event.
const LOOK: Duration = Duration::from_secs(10);
/// How long a look may take before it is abandoned.
const LOOK_LIMIT: Duration = Duration::from_secs(30);
/// How long after the last change unneeded files and images are removed.
const CLEAN: Duration = Duration::from_secs(60);

pub(crate) async fn run(
    brain: Arc<Brain>,
    runtime: Runtime,
    own: Capabilities,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let Some(mut todos) = brain.take_todos() else { return Ok(()) };
    let mut act = Act::new(brain, runtime, own);
    act.begin();
    loop {
        let (tick, look, clean) = (act.alarm.at(), act.next_look, act.next_clean);
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            Some(todo) = todos.recv() => act.take(todo),
            Some((action, result)) = act.actions.ended() => {
                act.step(Input::Done { action, result });
            }
            Some(Ok(sight)) = act.looks.join_next() => act.seen(sight),
            () = act.runtime.changed(), if act.looks.is_empty() => act.look(),
            () = sleep_until(look) => act.look(),
            () = sleep_until(tick.unwrap_or(look)), if tick.is_some() => {
                act.wake();
            }
            () = sleep_until(clean) => act.clean(),
        }
    }
}

struct Act {
    brain: Arc<Brain>,
    runtime: Runtime,
    own: Capabilities,
    actions: Actions,
    looks: JoinSet<Option<(Monotonic, Vec<Container>)>>,
    /// Another look was requested while one was in progress.
    again: bool,
    alarm: Alarm,
    next_look: Instant,
    next_clean: Instant,
}

impl Act {
    fn new(brain: Arc<Brain>, runtime: Runtime, own: Capabilities) -> Act {
        Act {
            actions: Actions::new(runtime.clone()),
            brain,
            runtime,
            own,
            looks: JoinSet::new(),
            again: false,
            alarm: Alarm::default(),
            next_look: after(LOOK),
            next_clean: after(CLEAN),
        }
    }

    fn begin(&mut self) {
        self.step(Input::Capabilities(Box::new(self.own.clone())));
        self.look();
    }

    fn step(&self, input: Input) {
        // A step that could not be stored is signalled by `reborn`.
        let _ = self.brain.step(input);
    }

    fn wake(&mut self) {
        match self.alarm.ring() {
            Due::Begin => self.begin(),
            Due::Tick => self.step(Input::Tick),
        }
    }

    fn take(&mut self, todo: Todo) {
        for (action, subject) in todo.actions {
            self.next_clean = after(CLEAN);
            self.actions.begin(action, subject);
        }
        match todo.reborn {
            true => self.alarm.reborn(),
            false => self.alarm.set(todo.wake.map(|it| after(self.brain.clock().until(it)))),
        }
        if todo.observe {
            self.look();
        }
    }

    /// One look at a time; requests in the meantime lead to one more.
    fn look(&mut self) {
        self.next_look = after(LOOK);
        if !self.looks.is_empty() {
            self.again = true;
            return;
        }
        let (runtime, taken) = (self.runtime.clone(), self.brain.clock().mono());
        let known = self.brain.known();
        self.looks.spawn(async move {
            match tokio::time::timeout(LOOK_LIMIT, runtime.observe(&known)).await {
                Ok(Ok(containers)) => Some((taken, containers)),
                Ok(Err(failure)) => {
                    warn!(code = %failure.code, "could not look at the engine: {}", failure.message);
                    None
                }
                Err(_) => {
                    warn!("the engine did not answer within {} s", LOOK_LIMIT.as_secs());
                    None
                }
            }
        });
    }

    fn seen(&mut self, sight: Option<(Monotonic, Vec<Container>)>) {
        if let Some((taken, containers)) = sight {
            self.step(Input::Observed { taken, containers });
        }
        if std::mem::take(&mut self.again) {
            self.look();
        }
    }

    fn clean(&mut self) {
        self.next_clean = after(CLEAN * 10);
        if let Some(needed) = self.brain.needed() {
            self.actions.clean(needed);
        }
    }
}

fn after(wait: Duration) -> Instant {
    Instant::now() + wait
}
