//! For which deployments an action is under way in this process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use colony_margo::DeploymentId;

#[derive(Debug, Default)]
pub(crate) struct Acting {
    counts: Mutex<BTreeMap<DeploymentId, usize>>,
}

/// As long as it lives, an action is under way; a dropped action ends too.
#[derive(Debug)]
pub(crate) struct Guard<'a> {
    acting: &'a Acting,
    deployment: DeploymentId,
}

impl Acting {
    pub(crate) fn begin(&self, deployment: &DeploymentId) -> Guard<'_> {
        *self.lock().entry(deployment.clone()).or_default() += 1;
        Guard { acting: self, deployment: deployment.clone() }
    }

    pub(crate) fn is_on(&self, deployment: &DeploymentId) -> bool {
        self.lock().contains_key(deployment)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<DeploymentId, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let mut counts = self.acting.lock();
        let left = counts.get(&self.deployment).map_or(0, |it| it - 1);
        match left {
            0 => counts.remove(&self.deployment),
            left => counts.insert(self.deployment.clone(), left),
        };
    }
}
