//! Does what the core wants, and looks at the engine.
//!
//! Actions of different deployments run side by side, those of one deployment
//! never. The engine is looked at when it says something, after an action,
//! and every few seconds in case it said something nobody heard.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use colony_core::node::{Container, Input};
use colony_core::time::Mono;
use colony_margo::Capabilities;
use colony_runtime::Runtime;

use crate::actions::Actions;
use crate::brain::{Brain, Todo};

/// How often the engine is looked at if it says nothing.
const LOOK: Duration = Duration::from_secs(10);
/// How long a look may take before it is given up.
const LOOK_LIMIT: Duration = Duration::from_secs(30);
/// How long nothing is tried after a step that could not be stored.
const TROUBLE: Duration = Duration::from_secs(2);
/// What is not needed any more is cleaned up so long after the last change.
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
        let (tick, look, clean) = (act.tick, act.next_look, act.next_clean);
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            Some(todo) = todos.recv() => act.take(todo),
            Some((action, result)) = act.actions.ended() => {
                act.brain.step(Input::Done { action, result });
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
    /// The core has to be told again what it can do and what there is.
    reborn: bool,
    actions: Actions,
    looks: JoinSet<Option<(Mono, Vec<Container>)>>,
    /// Another look was asked for while one was under way.
    again: bool,
    tick: Option<Instant>,
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
            reborn: false,
            looks: JoinSet::new(),
            again: false,
            tick: None,
            next_look: after(LOOK),
            next_clean: after(CLEAN),
        }
    }

    fn begin(&mut self) {
        self.brain.capabilities(&self.own);
        self.look();
    }

    fn wake(&mut self) {
        self.tick = None;
        match std::mem::take(&mut self.reborn) {
            true => self.begin(),
            false => self.brain.step(Input::Tick),
        }
    }

    fn take(&mut self, todo: Todo) {
        for (action, subject) in todo.actions {
            self.next_clean = after(CLEAN);
            self.actions.begin(action, subject);
        }
        self.tick = todo.wake.map(|it| after(self.brain.clock().until(it)));
        if todo.reborn {
            // The disk is in trouble: not at once again.
            (self.reborn, self.tick) = (true, Some(after(TROUBLE)));
        }
        if todo.observe {
            self.look();
        }
    }

    /// One look at a time; what is asked for meanwhile is one more.
    fn look(&mut self) {
        self.next_look = after(LOOK);
        if !self.looks.is_empty() {
            self.again = true;
            return;
        }
        let (runtime, taken) = (self.runtime.clone(), self.brain.clock().mono());
        self.looks.spawn(async move {
            match tokio::time::timeout(LOOK_LIMIT, runtime.observe()).await {
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

    fn seen(&mut self, sight: Option<(Mono, Vec<Container>)>) {
        if let Some((taken, containers)) = sight {
            self.brain.step(Input::Observed { taken, containers });
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
