//! The progress of image pulls, for each deployment that waits for them.

use std::collections::BTreeMap;

use colony_core::margo::DeploymentId;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::config::PullProgress;

/// The deployment that pulls, and the image.
type Key = (DeploymentId, String);
/// Bytes done and bytes announced, by layer.
type Layers = BTreeMap<String, (u64, u64)>;

/// The pulls in progress.
#[derive(Debug, Default)]
pub(crate) struct Pulls {
    open: Mutex<BTreeMap<Key, Layers>>,
    begun: Notify,
}

/// A pull in progress. Dropping it removes its progress.
#[derive(Debug)]
pub(crate) struct Shown<'a> {
    pulls: &'a Pulls,
    key: Key,
}

impl Pulls {
    /// Components of a deployment may share an image; then the first that has
    /// it removes the progress.
    pub(crate) fn begin(&self, deployment: &DeploymentId, image: &str) -> Shown<'_> {
        let key = (deployment.clone(), image.to_owned());
        self.open.lock().insert(key.clone(), BTreeMap::new());
        self.begun.notify_one();
        Shown { pulls: self, key }
    }

    pub(crate) async fn begun(&self) {
        self.begun.notified().await;
    }

    pub(crate) fn shown(&self) -> Vec<PullProgress> {
        let sum = |layers: &Layers, part: fn(&(u64, u64)) -> u64| layers.values().map(part).sum();
        let each = |((deployment, image), layers): (&Key, &Layers)| PullProgress {
            deployment: deployment.clone(),
            image: image.clone(),
            done_bytes: sum(layers, |it| it.0),
            total_bytes: sum(layers, |it| it.1),
        };
        self.open.lock().iter().map(each).collect()
    }
}

impl Shown<'_> {
    /// The progress of one layer.
    pub(crate) fn note(&self, layer: &str, done: u64, total: u64) {
        if let Some(layers) = self.pulls.open.lock().get_mut(&self.key) {
            layers.insert(layer.to_owned(), (done, total));
        }
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        self.pulls.open.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_the_sum_of_layers_and_ends_with_the_pull() {
        let (pulls, [one, two]) = (Pulls::default(), [1, 2].map(id));
        let shown = pulls.begin(&one, "a");
        let other = pulls.begin(&two, "a");
        shown.note("l1", 10, 100);
        shown.note("l2", 5, 50);
        shown.note("l1", 100, 100);
        other.note("", 1, 2);
        assert_eq!(pulls.shown(), [pull(&one, 105, 150), pull(&two, 1, 2)]);
        drop(shown);
        assert_eq!(pulls.shown(), [pull(&two, 1, 2)]);
        drop(other);
        assert_eq!(pulls.shown(), []);
    }

    #[tokio::test]
    async fn a_pull_that_began_before_somebody_waited_counts() {
        let pulls = Pulls::default();
        drop(pulls.begin(&id(1), "a"));
        pulls.begun().await;
    }

    fn id(byte: u8) -> DeploymentId {
        DeploymentId::from_bytes([byte; 16])
    }

    fn pull(deployment: &DeploymentId, done_bytes: u64, total_bytes: u64) -> PullProgress {
        let (deployment, image) = (deployment.clone(), "a".to_owned());
        PullProgress { deployment, image, done_bytes, total_bytes }
    }
}
