//! Configuration files and secrets of services, below
//! `configs/<fingerprint>/<service>/`.
//!
//! They are mounted from there: written before the container is created, they
//! are available from its first moment, even if its file system is read-only.

use std::path::PathBuf;

use colony_core::attempt::Failure;
use colony_core::code::Code;

use crate::compose::Service;
use crate::containers::component::work::Work;
use crate::containers::engine::ContainerEngine;
use crate::file;
use crate::oci::archive::disk;

impl ContainerEngine {
    /// Writes the service's files. Returns each with its path in the container.
    pub(crate) async fn configs(
        &self,
        work: &Work<'_>,
        name: &str,
        service: &Service,
    ) -> Result<Vec<(String, String)>, Failure> {
        let configs = service.configs.iter().map(|it| (it, work.project.configs.get(&it.config)));
        let secrets = service.secrets.iter().map(|it| (it, work.project.secrets.get(&it.config)));
        let mut files = Vec::new();
        for (number, (mount, file)) in configs.chain(secrets).enumerate() {
            let file = file.ok_or_else(|| {
                let message = format!("the config or secret `{}` does not exist", mount.config);
                Failure::new(Code::InvalidConfig, message)
            })?;
            let path = self.config_folder(work, name).join(number.to_string());
            let there = file::read(&path).await.map_err(|it| disk(&it))?;
            if there.as_ref() != Some(&file.content) {
                let written = file::replace(&path, file.content.clone(), mount.mode).await;
                written.map_err(|it| disk(&it))?;
            }
            files.push((path.to_string_lossy().into_owned(), mount.target.clone()));
        }
        Ok(files)
    }

    fn config_folder(&self, work: &Work<'_>, service: &str) -> PathBuf {
        let fingerprint = work.job.fingerprint.hex();
        self.config.dir.join("configs").join(fingerprint).join(service)
    }
}
