//! What an operator does to a rollout: promote, pause, resume, abort. Whether
//! it can be done is checked before, by `orders`.

use crate::attempt::Failure;
use crate::code::Code;
use crate::event::{Actor, Body};
use crate::id::DeploymentId;
use crate::site::Hold;
use crate::site::command::{Done, unknown};
use crate::site::turn::Turn;

impl Turn<'_> {
    /// Opens the next step, also before its soak is over.
    pub(super) fn promote(&mut self, by: &str, id: &DeploymentId) -> Done {
        self.open_step(id, Actor::Operator(by.to_owned()));
        Ok(())
    }

    pub(super) fn pause(&mut self, by: &str, id: &DeploymentId, note: &str) -> Done {
        let since = self.now.wall;
        let hold = Hold { by: by.to_owned(), note: note.to_owned(), since };
        if let Some(deployment) = self.site.deployments.get_mut(id) {
            deployment.rollout.paused = Some(hold);
        }
        let body = Body::RolloutPaused { deployment: id.clone(), note: note.to_owned() };
        self.emit(Actor::Operator(by.to_owned()), body);
        self.touch(id);
        Ok(())
    }

    pub(super) fn resume(&mut self, by: &str, id: &DeploymentId) -> Done {
        let deployment = self.site.deployments.get_mut(id).ok_or_else(|| unknown(id))?;
        deployment.rollout.paused = None;
        self.emit(Actor::Operator(by.to_owned()), Body::RolloutUnpaused { deployment: id.clone() });
        self.touch(id);
        Ok(())
    }

    /// The wanted revision is refused here, and everything goes back.
    pub(super) fn abort(&mut self, by: &str, id: &DeploymentId, note: &str) -> Done {
        let deployment = self.site.deployments.get(id).ok_or_else(|| unknown(id))?;
        let bad = deployment.wanted.clone();
        let earlier = self.earlier(id, &bad);
        if let Some(deployment) = self.site.deployments.get_mut(id) {
            deployment.good = deployment.good.take().or(earlier);
            deployment.rollout.paused = None;
        }
        let note = if note.is_empty() { String::new() } else { format!(": {note}") };
        let failure = Failure::new(Code::RolledBack, format!("aborted by {by}{note}"));
        self.quarantine_by(Actor::Operator(by.to_owned()), id, bad, None, failure);
        Ok(())
    }
}
