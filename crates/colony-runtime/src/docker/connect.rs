//! Finding the container engine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bollard::{API_DEFAULT_VERSION, Docker};

use crate::config::{Choice, EngineInfo, EngineKind};
use crate::docker::api::{EngineApi, Version};
use crate::docker::client::DockerClient;
use crate::error::Error;

/// How long an engine may take to answer the first call; some start with it.
const GREETING: Duration = Duration::from_secs(20);
/// How long any other answer may take, in seconds.
const ANSWER: u64 = 120;
const PODMAN: &str = "/run/podman/podman.sock";
const DOCKER: &str = "/var/run/docker.sock";

/// Hints of the environment about where engines are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hints {
    pub(crate) docker_host: Option<String>,
    pub(crate) runtime_dir: Option<PathBuf>,
}

impl Hints {
    pub(crate) fn of_process() -> Hints {
        Hints {
            docker_host: std::env::var("DOCKER_HOST").ok().filter(|it| !it.is_empty()),
            runtime_dir: std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from),
        }
    }

    /// The sockets to try, in this order; `Err` for an address that cannot be
    /// used.
    fn places(&self, choice: &Choice) -> Vec<Result<PathBuf, String>> {
        let own = |it: &str| self.runtime_dir.as_ref().map(|dir| Ok(dir.join(it)));
        let host = self.docker_host.as_deref().map(socket);
        let fixed = |it: &str| Some(Ok(PathBuf::from(it)));
        let places = match choice {
            Choice::Auto => [host, fixed(PODMAN), fixed(DOCKER), own("podman/podman.sock")],
            Choice::Docker => [host, fixed(DOCKER), own("docker.sock"), None],
            Choice::Podman => [host, fixed(PODMAN), own("podman/podman.sock"), None],
            Choice::Socket(path) => [Some(Ok(path.clone())), None, None, None],
            Choice::Containerd(_) | Choice::Kubernetes(_) => [const { None }; 4],
        };
        places.into_iter().flatten().collect()
    }
}

fn socket(host: &str) -> Result<PathBuf, String> {
    match host.strip_prefix("unix://") {
        Some(path) => Ok(PathBuf::from(path)),
        None => Err(format!("DOCKER_HOST={host} (only unix:// is supported)")),
    }
}

/// The first engine that answers and matches the choice.
pub(crate) async fn find(choice: &Choice, hints: &Hints) -> Result<DockerClient, Error> {
    let mut tried = Vec::new();
    for place in hints.places(choice) {
        let path = match place {
            Ok(path) => path,
            Err(why) => {
                tried.push(why);
                continue;
            }
        };
        match greet(&path).await {
            Ok(version) if suits(choice, &version) => return connected(path, &version).await,
            Ok(version) => tried.push(format!("{} (it is {})", path.display(), version.kind())),
            Err(why) => tried.push(format!("{} ({why}{})", path.display(), hint(&path))),
        }
    }
    Err(Error::NoEngine { tried })
}

/// A socket of containerd does not answer Docker's API.
fn hint(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.contains("containerd") {
        true => format!("; for containerd, name it containerd:{}", path.display()),
        false => String::new(),
    }
}

async fn greet(path: &Path) -> Result<Version, String> {
    if !path.exists() {
        return Err("does not exist".to_owned());
    }
    let api = EngineApi { socket: path.to_owned(), kind: EngineKind::Docker };
    match tokio::time::timeout(GREETING, api.version()).await {
        Ok(answer) => answer.map_err(|it| it.to_string()),
        Err(_) => Err("does not answer".to_owned()),
    }
}

fn suits(choice: &Choice, version: &Version) -> bool {
    match choice {
        Choice::Auto | Choice::Socket(_) => true,
        Choice::Docker => version.kind() == EngineKind::Docker,
        Choice::Podman => version.kind() == EngineKind::Podman,
        Choice::Containerd(_) | Choice::Kubernetes(_) => false,
    }
}

async fn connected(socket: PathBuf, version: &Version) -> Result<DockerClient, Error> {
    let path = socket.to_string_lossy().into_owned();
    let failed = |it| Error::Engine { address: path.clone(), source: Box::new(it) };
    let docker = Docker::connect_with_unix(&path, ANSWER, API_DEFAULT_VERSION).map_err(failed)?;
    let docker = docker.negotiate_version().await.map_err(failed)?;
    let info = EngineInfo {
        kind: version.kind(),
        version: version.version.clone(),
        address: path.clone(),
    };
    let api = EngineApi { socket, kind: info.kind };
    let of = api.info().await;
    let of = of.map_err(|it| Error::NoEngine { tried: vec![format!("{path} ({it})")] })?;
    Ok(DockerClient::new(docker, api, info, of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_looked_for_in_the_order_of_the_choice() {
        let hints = Hints {
            docker_host: Some("unix:///a.sock".to_owned()),
            runtime_dir: Some(PathBuf::from("/run/user/1")),
        };
        let all =
            "/a.sock /run/podman/podman.sock /var/run/docker.sock /run/user/1/podman/podman.sock";
        check(&hints, Choice::Auto, all);
        let docker = "/a.sock /var/run/docker.sock /run/user/1/docker.sock";
        check(&hints, Choice::Docker, docker);
        let podman = "/a.sock /run/podman/podman.sock /run/user/1/podman/podman.sock";
        check(&hints, Choice::Podman, podman);
        check(&hints, Choice::Socket("/x".into()), "/x");
        check(&Hints::default(), Choice::Docker, "/var/run/docker.sock");
        let remote = Hints { docker_host: Some("tcp://h:1".to_owned()), runtime_dir: None };
        let said = "DOCKER_HOST=tcp://h:1 (only unix:// is supported) /var/run/docker.sock";
        check(&remote, Choice::Docker, said);
    }

    #[tokio::test]
    async fn where_there_is_no_engine_it_says_what_was_tried() {
        let error = find(&Choice::Socket("/nowhere.sock".into()), &Hints::default()).await;
        let said = "no container engine answers; tried /nowhere.sock (does not exist)";
        assert_eq!(error.unwrap_err().to_string(), said);
    }

    #[tokio::test]
    async fn socket_of_containerd_is_to_be_named_as_one() {
        let error = find(&Choice::Socket("/no/containerd.sock".into()), &Hints::default()).await;
        let said = "no container engine answers; tried /no/containerd.sock (does not exist; for \
                    containerd, name it containerd:/no/containerd.sock)";
        assert_eq!(error.unwrap_err().to_string(), said);
    }

    #[track_caller]
    fn check(hints: &Hints, choice: Choice, expected: &str) {
        let places = hints.places(&choice).into_iter();
        let places = places.map(|it| it.map_or_else(|why| why, |it| it.display().to_string()));
        assert_eq!(places.collect::<Vec<_>>().join(" "), expected);
    }
}
