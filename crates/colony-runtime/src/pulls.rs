//! How far the fetching of images is.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bollard::models::CreateImageInfo;

use crate::config::PullProgress;

/// Bytes done and bytes known of, by layer.
type Layers = BTreeMap<String, (u64, u64)>;

/// What is being fetched.
#[derive(Debug, Default)]
pub(crate) struct Pulls {
    by_image: Mutex<BTreeMap<String, Layers>>,
}

/// Ends what is shown of a pull, however the pull ends.
#[derive(Debug)]
pub(crate) struct Shown<'a> {
    pulls: &'a Pulls,
    image: String,
}

impl Pulls {
    pub(crate) fn begin(&self, image: &str) -> Shown<'_> {
        self.lock().insert(image.to_owned(), BTreeMap::new());
        Shown { pulls: self, image: image.to_owned() }
    }

    pub(crate) fn note(&self, image: &str, step: &CreateImageInfo) {
        let (Some(layer), Some(detail)) = (&step.id, &step.progress_detail) else { return };
        // Docker tells of unpacking in the same way, and begins again at zero.
        if step.status.as_deref() != Some("Downloading") {
            return;
        }
        let number = |it: Option<i64>| it.and_then(|it| u64::try_from(it).ok());
        let (Some(done), Some(total)) = (number(detail.current), number(detail.total)) else {
            return;
        };
        if let Some(layers) = self.lock().get_mut(image) {
            layers.insert(layer.clone(), (done, total));
        }
    }

    pub(crate) fn set(&self, image: &str, done: u64, total: u64) {
        if let Some(layers) = self.lock().get_mut(image) {
            layers.insert(String::new(), (done, total));
        }
    }

    pub(crate) fn shown(&self) -> Vec<PullProgress> {
        let sum = |layers: &Layers, part: fn(&(u64, u64)) -> u64| layers.values().map(part).sum();
        let each = |(image, layers): (&String, &Layers)| PullProgress {
            image: image.clone(),
            done_bytes: sum(layers, |it| it.0),
            total_bytes: sum(layers, |it| it.1),
        };
        self.lock().iter().map(each).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Layers>> {
        self.by_image.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        self.pulls.lock().remove(&self.image);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_the_sum_of_layers_and_ends_with_the_pull() {
        let pulls = Pulls::default();
        let shown = pulls.begin("a");
        pulls.note("a", &step("Downloading", "l1", 10, 100));
        pulls.note("a", &step("Downloading", "l2", 5, 50));
        pulls.note("a", &step("Downloading", "l1", 100, 100));
        pulls.note("a", &step("Extracting", "l1", 1, 100));
        let expected = PullProgress { image: "a".to_owned(), done_bytes: 105, total_bytes: 150 };
        assert_eq!(pulls.shown(), [expected]);
        drop(shown);
        assert_eq!(pulls.shown(), []);
    }

    fn step(status: &str, layer: &str, current: i64, total: i64) -> CreateImageInfo {
        let detail = bollard::models::ProgressDetail { current: Some(current), total: Some(total) };
        CreateImageInfo {
            id: Some(layer.to_owned()),
            status: Some(status.to_owned()),
            progress_detail: Some(detail),
            ..CreateImageInfo::default()
        }
    }
}
