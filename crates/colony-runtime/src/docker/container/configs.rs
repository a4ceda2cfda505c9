//! Configuration files of services, below `configs/<fingerprint>/<service>/`.
//!
//! They are mounted from there: written before the container is created, they
//! are available from its first moment, even if its file system is read-only.

use std::path::PathBuf;

use colony_core::attempt::Failure;
use colony_core::code::Code;

use crate::compose::Service;
use crate::docker::container::work::Work;
use crate::docker::engine::DockerEngine;
use crate::file;
use crate::oci::archive::disk;

impl DockerEngine {
    /// Writes the service's files. Returns each with its path in the container.
    pub(crate) async fn configs(
        &self,
        work: &Work<'_>,
        name: &str,
        service: &Service,
    ) -> Result<Vec<(String, String)>, Failure> {
        let mut files = Vec::new();
        for (number, mount) in service.configs.iter().enumerate() {
            let config = work.project.configs.get(&mount.config).ok_or_else(|| {
                let message = format!("the config `{}` does not exist", mount.config);
                Failure::new(Code::InvalidConfig, message)
            })?;
            let path = self.config_folder(work, name).join(number.to_string());
            let there = file::read(&path).await.map_err(|it| disk(&it))?;
            if there.as_ref() != Some(&config.content) {
                let written = file::replace(&path, config.content.clone(), mount.mode).await;
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
