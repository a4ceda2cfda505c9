//! The baseline on Kubernetes: Helm by hand, with the chart that the node has.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use tokio::process::Command;

const RELEASE: &str = "colony-bench-bare";

/// A cluster. The program is `$COLONY_NODE_HELM`, which the node uses as well.
#[derive(Debug)]
pub(crate) struct Cluster {
    helm: PathBuf,
    kubeconfig: PathBuf,
    /// The folder of the node, which has the chart after its first deployment.
    data: PathBuf,
}

impl Cluster {
    pub(crate) fn new(kubeconfig: &Path, data: &Path) -> Cluster {
        let helm = std::env::var_os("COLONY_NODE_HELM").unwrap_or_else(|| "helm".into());
        let (helm, kubeconfig) = (PathBuf::from(helm), kubeconfig.to_owned());
        Cluster { helm, kubeconfig, data: data.to_owned() }
    }

    pub(crate) async fn install(&self) -> anyhow::Result<()> {
        let (chart, image) = (self.chart()?.display().to_string(), image()?);
        let image = format!("image={image}");
        let words = ["upgrade", "--install", RELEASE, &chart, "--set", &image];
        let namespace = ["--namespace", RELEASE, "--create-namespace", "--wait"];
        self.helm(&[&words[..], &namespace[..]].concat()).await
    }

    pub(crate) async fn uninstall(&self) -> anyhow::Result<()> {
        self.helm(&["uninstall", RELEASE, "--namespace", RELEASE, "--wait"]).await
    }

    async fn helm(&self, words: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new(&self.helm);
        command.args(words).env("KUBECONFIG", &self.kubeconfig);
        let ended = command.output().await.context("could not start helm")?;
        let said = String::from_utf8_lossy(&ended.stderr);
        ensure!(ended.status.success(), "helm {} failed: {said}", words.join(" "));
        Ok(())
    }

    /// The one archive below `charts/<fingerprint>/`.
    fn chart(&self) -> anyhow::Result<PathBuf> {
        let folders = std::fs::read_dir(self.data.join("charts"))?;
        let files = folders.filter_map(|it| std::fs::read_dir(it.ok()?.path()).ok()).flatten();
        let mut files = files.filter_map(|it| Some(it.ok()?.path()));
        let is_archive = |it: &PathBuf| it.extension().is_some_and(|it| it == "gz");
        files.find(is_archive).context("the node has no chart yet")
    }
}

/// Where the cluster pulls the image of `hello` from.
pub(crate) fn image() -> anyhow::Result<String> {
    std::env::var("BENCH_IMAGE").context("BENCH_IMAGE says where the cluster pulls hello from")
}
