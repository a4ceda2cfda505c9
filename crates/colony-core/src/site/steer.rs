//! What an operator does to a rollout: promote, pause, resume, abort.

use crate::attempt::Failure;
use crate::code::Code;
use crate::event::{Actor, Body};
use crate::id::DeploymentId;
use crate::site::command::{Done, unknown};
use crate::site::turn::Turn;
use crate::site::{Deployment, Hold};

impl Turn<'_> {
    /// Opens the next step, also before its soak is over.
    pub(super) fn promote(&mut self, by: &str, id: &DeploymentId) -> Done {
        let deployment = self.rollout_of(id)?;
        if deployment.is_open() {
            return Err("every step of the rollout is open already".to_owned());
        }
        if let Some(hold) = &deployment.rollout.paused {
            return Err(format!("{} paused the rollout; resume it first", hold.by));
        }
        if deployment.rollout.soaking.is_none() {
            let (done, of) = self.site.progress(deployment);
            return Err(format!("the open step is not done: {done} of {of} nodes run it well"));
        }
        self.open_step(id, Actor::Operator(by.to_owned()));
        Ok(())
    }

    pub(super) fn pause(&mut self, by: &str, id: &DeploymentId, note: &str) -> Done {
        let since = self.now.wall;
        if let Some(hold) = &self.rollout_of(id)?.rollout.paused {
            return Err(format!("{} paused the rollout already", hold.by));
        }
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
        deployment.rollout.paused.take().ok_or("its rollout is not paused")?;
        self.emit(Actor::Operator(by.to_owned()), Body::RolloutUnpaused { deployment: id.clone() });
        self.touch(id);
        Ok(())
    }

    /// The wanted revision is refused here, and everything goes back.
    pub(super) fn abort(&mut self, by: &str, id: &DeploymentId, note: &str) -> Done {
        let deployment = self.rollout_of(id)?;
        let bad = deployment.wanted.clone();
        let earlier = self.nodes_of(id).into_iter().find_map(|node| self.way_back(id, &node));
        if let Some(deployment) = self.site.deployments.get_mut(id) {
            deployment.good = deployment.good.take().or(earlier);
            deployment.rollout.paused = None;
        }
        let note = if note.is_empty() { String::new() } else { format!(": {note}") };
        let failure = Failure::new(Code::RolledBack, format!("aborted by {by}{note}"));
        self.quarantine_by(Actor::Operator(by.to_owned()), id, bad, None, failure);
        Ok(())
    }

    /// The deployment, if a revision of it is being rolled out.
    fn rollout_of(&self, id: &DeploymentId) -> Result<&Deployment, String> {
        let deployment = self.site.deployments.get(id).ok_or_else(|| unknown(id))?;
        match deployment.is_under_way() {
            true => Ok(deployment),
            false if deployment.is_quarantined() => Err("it is rolled back already".to_owned()),
            false => Err("no rollout of it is under way".to_owned()),
        }
    }
}
