//! The baseline on containerd: the calls of CRI that a container takes.

use std::path::Path;

use anyhow::ensure;
use colony_runtime::{BareContainer, BareContainerd, BarePod};

use super::{CHECK, IMAGE};
use crate::fleet::free_port;

const NAME: &str = "colony-bench-bare";

#[derive(Debug)]
pub(crate) struct Containerd {
    bare: BareContainerd,
}

impl Containerd {
    pub(crate) fn new(socket: &Path, data: &Path) -> anyhow::Result<Containerd> {
        // containerd does not make the folder of the output.
        let logs = data.join("bench-logs");
        std::fs::create_dir_all(&logs)?;
        Ok(Containerd { bare: BareContainerd::new(socket, &logs) })
    }

    pub(crate) async fn start(&self, version: &str) -> anyhow::Result<BarePod> {
        let of = BareContainer {
            name: NAME,
            image: &format!("{IMAGE}:{version}"),
            variable: ("HELLO_GREETING", "Good day"),
            port: (8080, free_port()?),
        };
        Ok(self.bare.run(of).await?)
    }

    pub(crate) async fn check(&self, pod: &BarePod) -> anyhow::Result<bool> {
        Ok(self.bare.check(pod, &CHECK).await?)
    }

    pub(crate) async fn remove(&self, pod: &BarePod) -> anyhow::Result<()> {
        Ok(self.bare.remove(pod).await?)
    }

    pub(crate) async fn has_image(&self, version: &str) -> anyhow::Result<()> {
        let found = self.bare.has_image(&format!("{IMAGE}:{version}")).await?;
        ensure!(found, "the image {version} is not local yet");
        Ok(())
    }
}
