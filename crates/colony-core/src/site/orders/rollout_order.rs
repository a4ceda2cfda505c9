//! The operator's commands for a rollout: promote, pause, resume, abort.
//! `orders` has checked before that the site can execute them.

use crate::attempt::Failure;
use crate::code::Code;
use crate::event::{Actor, Body};
use crate::id::DeploymentId;
use crate::site::Hold;
use crate::site::orders::command::{Done, unknown};
use crate::site::step_context::StepContext;

impl StepContext<'_> {
    /// Opens the next step, even before the soak is over.
    pub(in crate::site) fn promote(&mut self, by: &str, id: &DeploymentId) -> Done {
        self.open_step(id, Actor::Operator(by.to_owned()));
        Ok(())
    }

    pub(in crate::site) fn pause(&mut self, by: &str, id: &DeploymentId, note: &str) -> Done {
        let since = self.now.wall;
        let hold = Hold { by: by.to_owned(), note: note.to_owned(), since };
        if let Some(deployment) = self.site.deployments.get_mut(id) {
            deployment.rollout.paused = Some(hold);
        }
        let body = Body::RolloutPaused { deployment: id.clone(), note: note.to_owned() };
        self.emit(Actor::Operator(by.to_owned()), body);
        self.mark_changed(id);
        Ok(())
    }

    pub(in crate::site) fn resume(&mut self, by: &str, id: &DeploymentId) -> Done {
        let deployment = self.site.deployments.get_mut(id).ok_or_else(|| unknown(id))?;
        deployment.rollout.paused = None;
        self.emit(Actor::Operator(by.to_owned()), Body::RolloutUnpaused { deployment: id.clone() });
        self.mark_changed(id);
        Ok(())
    }

    /// Quarantines the accepted revision at this site: all nodes roll back.
    pub(in crate::site) fn abort(&mut self, by: &str, id: &DeploymentId, note: &str) -> Done {
        let deployment = self.site.deployments.get(id).ok_or_else(|| unknown(id))?;
        let bad = deployment.accepted.clone();
        let earlier = self.earlier(id, &bad);
        if let Some(deployment) = self.site.deployments.get_mut(id) {
            deployment.last_converged = deployment.last_converged.take().or(earlier);
            deployment.rollout.paused = None;
        }
        let note = if note.is_empty() { String::new() } else { format!(": {note}") };
        let failure = Failure::new(Code::RolledBack, format!("aborted by {by}{note}"));
        self.quarantine_by(Actor::Operator(by.to_owned()), id, bad, None, failure);
        Ok(())
    }
}
