//! The deployments for which an action is in progress in this process.

use std::collections::BTreeMap;

use colony_core::margo::DeploymentId;
use parking_lot::Mutex;

use crate::news::News;

#[derive(Debug, Default)]
pub(crate) struct Acting {
    counts: Mutex<BTreeMap<DeploymentId, usize>>,
}

/// An action in progress; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Guard<'a> {
    acting: &'a Acting,
    deployment: DeploymentId,
    /// Notified if the action is dropped before its end: then no look follows.
    news: Option<&'a News>,
}

impl Acting {
    pub(crate) fn begin<'a>(&'a self, deployment: &DeploymentId, news: &'a News) -> Guard<'a> {
        *self.counts.lock().entry(deployment.clone()).or_default() += 1;
        Guard { acting: self, deployment: deployment.clone(), news: Some(news) }
    }

    pub(crate) fn is_on(&self, deployment: &DeploymentId) -> bool {
        self.counts.lock().contains_key(deployment)
    }
}

impl Guard<'_> {
    /// The action ended; its caller looks at the engine.
    pub(crate) fn end(mut self) {
        self.news = None;
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let mut counts = self.acting.counts.lock();
        let left = counts.get(&self.deployment).map_or(0, |it| it - 1);
        match left {
            0 => counts.remove(&self.deployment),
            left => counts.insert(self.deployment.clone(), left),
        };
        drop(counts);
        self.news.inspect(|it| it.notify());
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn only_an_action_that_is_cut_off_is_news() {
        check(true, None);
        check(false, Some(()));
    }

    #[track_caller]
    fn check(ends: bool, expected: Option<()>) {
        let (acting, news) = (Acting::default(), News::default());
        let deployment = DeploymentId::from_bytes([1; 16]);
        let guard = acting.begin(&deployment, &news);
        assert!(acting.is_on(&deployment));
        if ends {
            guard.end()
        } else {
            drop(guard)
        }
        assert!(!acting.is_on(&deployment));
        assert_eq!(news.since_look().now_or_never(), expected, "ends: {ends}");
    }
}
