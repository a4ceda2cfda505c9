//! Removes archives, configurations and images that nothing needs.
//!
//! Only images that this runtime fetched are ever removed; `images.json` lists
//! them. Never by force: an engine refuses to remove an image that a container
//! uses, ours or not, and the removal is tried again later.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use bollard::query_parameters::RemoveImageOptions;
use colony_core::attempt::Failure;
use colony_core::margo::Digest;
use tracing::{debug, info};

use crate::docker::api::Image;
use crate::docker::engine::DockerEngine;
use crate::docker::engine_error::EngineError;
use crate::docker::image;
use crate::file;
use crate::oci::archive::disk;

/// Names of fetched images. An image that lost its name to a newer one of the
/// same name is remembered by its id.
type Fetched = BTreeMap<String, ()>;

impl DockerEngine {
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
        let fetched = self.fetched().await?;
        for name in fetched.keys().filter(|it| !keep.contains(*it)) {
            if self.image_remove(name).await? {
                // Read again: others may have been fetched in between.
                self.fetched_change(|it| it.remove(name).is_some()).await?;
            }
        }
        Ok(())
    }

    /// Removes an image; true if it is gone.
    async fn image_remove(&self, name: &str) -> Result<bool, Failure> {
        let options = None::<RemoveImageOptions>;
        match self.docker.remove_image(name, options, None).await.map_err(EngineError::from) {
            Ok(_) => {
                info!(image = name, "removed an image that nothing needs");
                Ok(true)
            }
            Err(trouble) if trouble.is_gone() => Ok(true),
            Err(trouble @ (EngineError::Unavailable(_) | EngineError::Timeout)) => {
                Err(trouble.failed(&format!("remove the image `{name}`")))
            }
            Err(trouble) => {
                debug!(image = name, "an image stays: {trouble}");
                Ok(false)
            }
        }
    }

    /// Records that `name` is about to be fetched. An image that existed before
    /// and that we did not fetch belongs to another user of the engine.
    pub(crate) async fn pulled_note(
        &self,
        name: &str,
        there: Option<&Image>,
    ) -> Result<(), Failure> {
        let note = |fetched: &mut Fetched| match there {
            None => fetched.insert(name.to_owned(), ()).is_none(),
            Some(old) if fetched.contains_key(name) => fetched.insert(old.id.clone(), ()).is_none(),
            Some(_) => false,
        };
        self.fetched_change(note).await
    }

    async fn fetched(&self) -> Result<Fetched, Failure> {
        let bytes = file::read(&self.fetched_path()).await.map_err(|it| disk(&it))?;
        // A list that cannot be read only costs disk space.
        Ok(serde_json::from_slice(&bytes.unwrap_or_default()).unwrap_or_default())
    }

    async fn fetched_change(
        &self,
        change: impl FnOnce(&mut Fetched) -> bool,
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
