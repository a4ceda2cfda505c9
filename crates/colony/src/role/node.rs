//! `colony node`: this machine as a node of a site.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tokio_util::sync::CancellationToken;

use colony_node::{
    Choice, CredentialStore, DocumentPolicy, ImagePolicy, Node, Policy, usual_credential_files,
};

use super::Flag;
use crate::config::{self, Config};
use crate::say;

#[derive(Debug, Default, Clone, clap::Args)]
pub(crate) struct Args {
    /// The invitation, printed by `colony node invite`; needed once
    #[arg(long, value_name = "INVITATION")]
    pub(crate) join: Option<String>,
    /// The name to join with; the host's by default
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// auto, docker, podman, the path of their socket, containerd,
    /// containerd:<socket>, kubernetes, or
    /// kubernetes:<kubeconfig>; or two, such as docker,kubernetes
    #[arg(long)]
    pub(crate) engine: Option<String>,
    /// Labels of the node: key=value, comma-separated
    #[arg(long, value_name = "LABELS")]
    pub(crate) label: Option<String>,
    /// Where /healthz, /readyz and /metrics are answered; `off` disables it
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) health: Option<String>,
    /// Credentials for registries, a file as `docker login` writes it
    #[arg(long, value_name = "FILE")]
    pub(crate) registry_credentials: Option<PathBuf>,
}

impl Args {
    pub(crate) fn flags(&self) -> Vec<Flag> {
        vec![
            ("node.name", "name", self.name.clone()),
            ("node.engine", "engine", self.engine.clone()),
            ("node.labels", "label", self.label.clone()),
            ("node.health", "health", self.health.clone()),
            credentials_flag(self.registry_credentials.as_deref()),
        ]
    }
}

/// The flag is kept by a join, and the next start may be in another folder.
pub(super) fn credentials_flag(path: Option<&Path>) -> Flag {
    let path = path.map(|it| std::path::absolute(it).unwrap_or_else(|_| it.to_owned()));
    let path = path.map(|it| it.display().to_string());
    ("node.registry-credentials", "registry-credentials", path)
}

pub(crate) async fn run(
    config: &Config,
    args: &Args,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let start = Node::start(settings(config, args.join.clone())?);
    // Joining retries until the site responds.
    let node = tokio::select! {
        started = start => started?,
        () = stop.cancelled() => return Ok(()),
    };
    if args.join.is_some() {
        config.keep_joined("node", &args.flags())?;
    }
    say(&format!("node {} of site {} ({})", node.name(), node.site(), node.engine()));
    node.run(stop).await
}

pub(crate) fn settings(
    config: &Config,
    join: Option<String>,
) -> anyhow::Result<colony_node::Config> {
    let health = match config.get("node.health") {
        None | Some("off") => None,
        Some(_) => Some(config.parse("node.health")?),
    };
    let labels = config::pairs(config.get("node.labels")).context("in node.labels")?;
    let settle = config::seconds(config.get("node.settle").unwrap_or("5s"))?;
    let otel = config.get("node.otel-endpoint").map(str::to_owned);
    let otel = otel.map(|it| ("HTTP_OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), it));
    Ok(colony_node::Config {
        data: config.data().join("node"),
        join,
        name: config.get("node.name").map(str::to_owned),
        helm: config.get("node.helm").map(PathBuf::from),
        engines: engines(config.get("node.engine").unwrap_or("auto"))?,
        labels,
        health,
        insecure_registries: config::list(config.get("node.insecure-registries"))
            .into_iter()
            .collect(),
        images: images(config)?,
        documents: documents(config)?,
        credentials: credentials(config.get("node.registry-credentials")),
        environment: otel.into_iter().collect(),
        policy: Policy { settle, ..Policy::default() },
    })
}

fn images(config: &Config) -> anyhow::Result<ImagePolicy> {
    let usual = ImagePolicy::default();
    let keep = config.get("node.image-keep").map(config::seconds).transpose();
    let low = config.get("node.disk-low").map(config::bytes).transpose();
    Ok(ImagePolicy {
        keep: keep.context("in node.image-keep")?.unwrap_or(usual.keep),
        low: low.context("in node.disk-low")?.unwrap_or(usual.low),
    })
}

fn documents(config: &Config) -> anyhow::Result<DocumentPolicy> {
    let allowed = |name: &str| {
        let text = config.get(name).unwrap_or_default();
        is_allowed(text).with_context(|| format!("in {name}"))
    };
    Ok(DocumentPolicy {
        container_names: allowed("node.container-names")?,
        external_resources: allowed("node.external-resources")?,
        namespaces: config::list(config.get("node.namespaces")).into_iter().collect(),
    })
}

fn is_allowed(text: &str) -> anyhow::Result<bool> {
    match text {
        "allow" => Ok(true),
        "refuse" => Ok(false),
        text => bail!("`{text}` is neither `allow` nor `refuse`"),
    }
}

fn engines(text: &str) -> anyhow::Result<Vec<Choice>> {
    let words: Vec<&str> = text.split(',').map(str::trim).collect();
    if words.iter().any(|it| it.is_empty() || it.ends_with(':')) {
        bail!("node.engine: in `{text}` an engine or its path is missing");
    }
    let engines = words.into_iter().map(engine).collect::<anyhow::Result<Vec<Choice>>>()?;
    let is_cluster = |it: &&Choice| matches!(it, Choice::Kubernetes(_));
    let clusters = engines.iter().filter(is_cluster).count();
    if clusters > 1 || engines.len() - clusters > 1 {
        bail!("node.engine: `{text}`: at most one container engine and one cluster are possible");
    }
    Ok(engines)
}

fn credentials(named: Option<&str>) -> CredentialStore {
    let usual = usual_credential_files(|it| std::env::var_os(it));
    CredentialStore::files(named.map(PathBuf::from), usual)
}

/// A misspelled name must not pass as the path of a socket: the node would join
/// and then wait for it. So a path has a slash.
fn engine(text: &str) -> anyhow::Result<Choice> {
    Ok(match text {
        "auto" => Choice::Auto,
        "docker" => Choice::Docker,
        "podman" => Choice::Podman,
        "containerd" => Choice::Containerd(None),
        "kubernetes" => Choice::Kubernetes(None),
        text => match text.split_once(':') {
            Some(("containerd", path)) => Choice::Containerd(Some(PathBuf::from(path))),
            Some(("kubernetes", path)) => Choice::Kubernetes(Some(PathBuf::from(path))),
            Some(("unix", path)) => Choice::Socket(PathBuf::from(path.trim_start_matches("//"))),
            Some((folder, _)) if folder.contains('/') => Choice::Socket(PathBuf::from(text)),
            None if text.contains('/') => Choice::Socket(PathBuf::from(text)),
            Some(_) | None => bail!(
                "node.engine: `{text}` is not an engine; expected auto, docker, podman, containerd, \
                 kubernetes, or the path of a socket (`./engine.sock`)"
            ),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_a_list() {
        let cluster = |it: &str| Choice::Kubernetes(Some(PathBuf::from(it)));
        check("auto", Some(vec![Choice::Auto]));
        check("containerd", Some(vec![Choice::Containerd(None)]));
        let socket = PathBuf::from("/c.sock");
        check("containerd:/c.sock", Some(vec![Choice::Containerd(Some(socket))]));
        check("docker, kubernetes", Some(vec![Choice::Docker, Choice::Kubernetes(None)]));
        check("kubernetes:/k.conf", Some(vec![cluster("/k.conf")]));
        check("unix:///a.sock", Some(vec![Choice::Socket(PathBuf::from("/a.sock"))]));
        check("docker,podman", None);
        check("containerd:", None);
        check("podmann", None);
        check("contianerd:/c.sock", None);
        check("./a:b.sock", Some(vec![Choice::Socket(PathBuf::from("./a:b.sock"))]));
        check("docker,", None);
        check("kubernetes,kubernetes:/k", None);
    }

    #[test]
    fn file_of_credentials_is_named_by_its_whole_path() {
        let folder = std::env::current_dir().expect("a folder");
        let (_, _, value) = credentials_flag(Some(Path::new("auth.json")));
        assert_eq!(value, Some(folder.join("auth.json").display().to_string()));
        let (_, _, value) = credentials_flag(Some(Path::new("/etc/auth.json")));
        assert_eq!(value.as_deref(), Some("/etc/auth.json"));
    }

    #[test]
    fn what_files_ask_for_is_allowed_or_refused() {
        let read = |text: &str| is_allowed(text).map_err(|it| it.to_string());
        assert_eq!((read("allow"), read("refuse")), (Ok(true), Ok(false)));
        assert_eq!(read("yes"), Err("`yes` is neither `allow` nor `refuse`".to_owned()));
    }

    #[track_caller]
    fn check(text: &str, expected: Option<Vec<Choice>>) {
        assert_eq!(engines(text).ok(), expected, "{text}");
    }
}
