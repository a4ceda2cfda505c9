//! Executes the actions of the core, and surveys the engine: asks it for all
//! containers of this node.
//!
//! Actions of different deployments run concurrently, those of one deployment
//! never. There is a survey after an event of the engine, after an action, and
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
use colony_core::node::Input;
use colony_core::time::Monotonic;
use colony_runtime::{Observation, Runtime};

use crate::act::actions::Actions;
use crate::act::alarm::{Alarm, Due};
use crate::brain::{Brain, Work};

/// How often the engine is surveyed without an event.
const SURVEY_INTERVAL: Duration = Duration::from_secs(10);
/// How long a survey may take before it is abandoned.
const SURVEY_TIME_LIMIT: Duration = Duration::from_secs(30);
/// How long after the last change unneeded files and images are removed.
const CLEAN_DELAY: Duration = Duration::from_secs(60);

pub(crate) async fn run(
    brain: Arc<Brain>,
    runtime: Runtime,
    own: Capabilities,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let Some(mut work_receiver) = brain.take_work_receiver() else { return Ok(()) };
    let mut act = Act::new(brain, runtime, own);
    act.begin();
    loop {
        let (tick, survey, clean) = (act.alarm.at(), act.next_survey, act.next_clean);
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            Some(work) = work_receiver.recv() => act.start_work(work),
            Some((action, result)) = act.actions.ended() => {
                act.step(Input::Done { action, result });
            }
            Some(Ok(result)) = act.surveys.join_next() => act.survey_ended(result),
            () = act.runtime.changed(), if act.surveys.is_empty() => act.start_survey(),
            () = sleep_until(survey) => act.start_survey(),
            () = sleep_until(tick.unwrap_or(survey)), if tick.is_some() => {
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
    surveys: JoinSet<Option<(Monotonic, Observation)>>,
    /// Another survey was requested while one was in progress.
    survey_again: bool,
    alarm: Alarm,
    next_survey: Instant,
    next_clean: Instant,
}

impl Act {
    fn new(brain: Arc<Brain>, runtime: Runtime, own: Capabilities) -> Act {
        Act {
            actions: Actions::new(runtime.clone()),
            brain,
            runtime,
            own,
            surveys: JoinSet::new(),
            survey_again: false,
            alarm: Alarm::default(),
            next_survey: after(SURVEY_INTERVAL),
            next_clean: after(CLEAN_DELAY),
        }
    }

    fn begin(&mut self) {
        self.step(Input::Capabilities(Box::new(self.own.clone())));
        self.start_survey();
    }

    fn step(&self, input: Input) {
        // A step that could not be stored is signalled by `Work::restored`.
        let _ = self.brain.step(input);
    }

    fn wake(&mut self) {
        match self.alarm.ring() {
            Due::Begin => self.begin(),
            Due::Tick => self.step(Input::Tick),
        }
    }

    fn start_work(&mut self, work: Work) {
        for (action, subject) in work.actions {
            self.next_clean = after(CLEAN_DELAY);
            self.actions.begin(action, subject);
        }
        match work.restored {
            true => self.alarm.core_was_restored(),
            false => self.alarm.set(work.wake.map(|it| after(self.brain.clock().until(it)))),
        }
        if work.observe {
            self.start_survey();
        }
    }

    /// One survey at a time; requests in the meantime lead to one more.
    fn start_survey(&mut self) {
        self.next_survey = after(SURVEY_INTERVAL);
        if !self.surveys.is_empty() {
            self.survey_again = true;
            return;
        }
        let (runtime, taken) = (self.runtime.clone(), self.brain.clock().mono());
        let known = self.brain.recorded_deployments();
        self.surveys.spawn(async move {
            match tokio::time::timeout(SURVEY_TIME_LIMIT, runtime.observe(&known)).await {
                Ok(Ok(observation)) => Some((taken, observation)),
                Ok(Err(failure)) => {
                    warn!(code = %failure.code, "could not survey the engine: {}", failure.message);
                    None
                }
                Err(_) => {
                    warn!("the engine did not answer within {} s", SURVEY_TIME_LIMIT.as_secs());
                    None
                }
            }
        });
    }

    fn survey_ended(&mut self, result: Option<(Monotonic, Observation)>) {
        if let Some((taken, Observation { containers, away })) = result {
            self.step(match away.is_empty() {
                true => Input::Observed { taken, containers },
                false => Input::ObservedInPart { taken, containers, away },
            });
        }
        if std::mem::take(&mut self.survey_again) {
            self.start_survey();
        }
    }

    fn clean(&mut self) {
        self.next_clean = after(CLEAN_DELAY * 10);
        if let Some(needed) = self.brain.needed() {
            self.actions.clean(needed);
        }
    }
}

fn after(wait: Duration) -> Instant {
    Instant::now() + wait
}
