//! Where the rollouts of a site stand, as the site reports it.

use serde::{Deserialize, Serialize};

use crate::event::{Body, Event, StepStanding};
use crate::fleet::events::projection_writer::ProjectionWriter;
use crate::id::DeploymentId;
use crate::site::{Deployment, Hold, Rollout};
use crate::time::Now;

/// A rollout in steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutView {
    /// The step that is open, from 1.
    pub step: u32,
    pub of: u32,
    /// How many nodes may have the revision; absent if all may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// The revision runs beside the active version until the next step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub staged: bool,
    pub standing: StepStanding,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Hold>,
}

impl Deployment {
    /// Where the rollout stands, as the site would report it; `None` if there
    /// is nothing to report.
    pub fn rollout_view(&self, now: Now) -> Option<RolloutView> {
        let (gate, paused) = (self.gate(), self.rollout().paused.clone());
        let told = self.is_rolling_out() && (gate.is_some() || paused.is_some());
        told.then(|| RolloutView {
            step: self.rollout().step + 1,
            of: self.steps(),
            nodes: self.rollout().node_limit,
            staged: self.is_staging(),
            standing: self.rollout().standing(gate.map(|it| it.soak).unwrap_or_default(), now),
            paused,
        })
    }
}

impl RolloutView {
    /// The state that a local orchestrator needs to take over the rollout.
    pub(in crate::fleet) fn seed(&self) -> Rollout {
        let step = self.step.saturating_sub(1);
        Rollout { step, node_limit: self.nodes, paused: self.paused.clone(), ..Rollout::default() }
    }

    /// A rollout with one step, of which only a pause is known.
    fn plain() -> RolloutView {
        let standing = StepStanding::Open;
        RolloutView { step: 1, of: 1, nodes: None, staged: false, standing, paused: None }
    }
}

impl ProjectionWriter<'_> {
    pub(in crate::fleet) fn rollout_step(&mut self, event: &Event, id: &DeploymentId) {
        let Body::RolloutStep { step, of, nodes, staged, standing, .. } = &event.body else {
            return;
        };
        self.deployment(id, |it| {
            let paused = it.rollout.take().and_then(|it| it.paused);
            it.rollout = Some(RolloutView {
                step: *step,
                of: *of,
                nodes: *nodes,
                staged: *staged,
                standing: *standing,
                paused,
            });
        });
    }

    pub(in crate::fleet) fn paused(&mut self, event: &Event, id: &DeploymentId, note: &str) {
        let by = match &event.actor {
            crate::event::Actor::Operator(name) => name.clone(),
            crate::event::Actor::Local | crate::event::Actor::Node(_) => event.actor.to_string(),
        };
        let hold = Hold { by, note: note.to_owned(), since: event.at };
        self.deployment(id, |it| {
            it.rollout.get_or_insert_with(RolloutView::plain).paused = Some(hold);
        });
    }

    pub(in crate::fleet) fn unpaused(&mut self, id: &DeploymentId) {
        self.deployment(id, |it| {
            if let Some(rollout) = &mut it.rollout {
                rollout.paused = None;
            }
            it.rollout.take_if(|it| it.of == 1);
        });
    }
}
