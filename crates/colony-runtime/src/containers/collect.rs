//! Removes archives, configurations and images that nothing needs.
//!
//! Only images that this runtime fetched are ever removed; `images.json` lists
//! them, and `colony_core::node::image` says which go. Never by force: an engine refuses to remove an image that a container
//! uses, ours or not, and the removal is tried again later.

use std::collections::BTreeSet;
use std::path::PathBuf;

use colony_core::attempt::Failure;
use colony_core::margo::{DeploymentId, Digest};
use colony_core::node::image::{FetchedImages, discard, note_user, review};
use colony_core::time::Timestamp;
use tracing::{debug, info};

use crate::containers::api::Image;
use crate::containers::engine::ContainerEngine;
use crate::containers::engine_error::EngineError;
use crate::containers::image;
use crate::file;
use crate::oci::archive::disk;

impl ContainerEngine {
    pub(crate) async fn collect(&self, needed: &BTreeSet<Digest>) -> Result<(), Failure> {
        let keep = image::needed(self, needed).await;
        self.images_remove(&keep).await?;
        let needed: BTreeSet<String> = needed.iter().map(Digest::hex).collect();
        for folder in ["archives", "configs"] {
            let removed = file::keep_folders(&self.config.dir.join(folder), &needed).await;
            removed.map_err(|it| disk(&it))?;
        }
        self.logs_prune().await
    }

    async fn images_remove(&self, keep: &BTreeSet<String>) -> Result<(), Failure> {
        let (policy, free) = (self.config.images, self.storage().map(|it| it.0));
        let mut gone = BTreeSet::new();
        let reviewed = self.fetched_change(|images| {
            let before = images.clone();
            gone = review(images, keep, policy, free, now());
            *images != before
        });
        // A full disk must not keep images.
        if let Err(failure) = reviewed.await
            && gone.is_empty()
        {
            return Err(failure);
        }
        for name in &gone {
            if self.image_remove(name, keep).await? {
                // Read again: others may have been fetched in between.
                self.fetched_change(|it| it.remove(name).is_some()).await?;
            }
        }
        Ok(())
    }

    /// Removes an image; true if it is gone.
    async fn image_remove(&self, name: &str, keep: &BTreeSet<String>) -> Result<bool, Failure> {
        match self.api.remove_image(name, keep).await {
            Ok(()) => {
                info!(image = name, "removed an image that nothing needs");
                Ok(true)
            }
            Err(trouble @ (EngineError::Unavailable(_) | EngineError::Timeout)) => {
                Err(trouble.failed(&format!("remove the image `{name}`")))
            }
            Err(trouble) => {
                debug!(image = name, "an image stays: {trouble}");
                Ok(false)
            }
        }
    }

    /// Records that `name` is about to be fetched; one that lost its name to a
    /// newer one is remembered by its id. An image that existed before
    /// and that we did not fetch belongs to another user of the engine.
    pub(crate) async fn pulled_note(
        &self,
        name: &str,
        there: Option<&Image>,
    ) -> Result<(), Failure> {
        let note = |fetched: &mut FetchedImages| match there {
            None => fetched.insert(name.to_owned(), None).is_none(),
            Some(old) if fetched.contains_key(name) => {
                fetched.insert(old.id.clone(), None).is_none()
            }
            Some(_) => false,
        };
        self.fetched_change(note).await
    }

    pub(crate) async fn image_used(&self, name: &str, by: &DeploymentId) -> Result<(), Failure> {
        self.fetched_change(|it| note_user(it, name, by)).await
    }

    /// The images of the deployment are not kept when nothing needs them.
    pub(crate) async fn images_discard(&self, deployment: &DeploymentId) -> Result<(), Failure> {
        self.fetched_change(|it| discard(it, deployment)).await
    }

    async fn fetched(&self) -> Result<FetchedImages, Failure> {
        let bytes = file::read(&self.fetched_path()).await.map_err(|it| disk(&it))?;
        // A list that cannot be read only costs disk space.
        Ok(serde_json::from_slice(&bytes.unwrap_or_default()).unwrap_or_default())
    }

    async fn fetched_change(
        &self,
        change: impl FnOnce(&mut FetchedImages) -> bool,
    ) -> Result<(), Failure> {
        let _one_at_a_time = self.noting.lock().await;
        let mut fetched = self.fetched().await?;
        if !change(&mut fetched) {
            return Ok(());
        }
        let bytes = serde_json::to_vec_pretty(&fetched).unwrap_or_default();
        file::replace(&self.fetched_path(), bytes, 0o600).await.map_err(|it| disk(&it))
    }

    fn fetched_path(&self) -> PathBuf {
        self.config.dir.join("images.json")
    }
}

#[expect(clippy::disallowed_methods, reason = "the age of images is kept across restarts")]
fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Timestamp(since.map_or(0, |it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX)))
}
