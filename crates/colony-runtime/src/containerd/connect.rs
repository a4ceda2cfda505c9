//! Finding containerd, and refusing one that a kubelet uses.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::{EngineInfo, EngineKind, Facts};
use crate::containerd::client::ContainerdClient;
use crate::containerd::folder::Folder;
use crate::containerd::grpc::Grpc;
use crate::containerd::wire::{Empty, Pod, VersionResponse};
use crate::containers::api::{Answer, Labels};
use crate::containers::engine_error::EngineError;
use crate::containers::label;
use crate::error::Error;

const SOCKET: &str = "/run/containerd/containerd.sock";
/// How long containerd may take to answer the first call.
const GREETING: Duration = Duration::from_secs(20);
/// A label that every pod of a kubelet has.
const KUBELET: &str = "io.kubernetes.pod.uid";

/// Connects to the containerd of `socket`, or to the usual one. `dir` is the
/// node's folder.
pub(crate) async fn find(socket: Option<&Path>, dir: &Path) -> Result<ContainerdClient, Error> {
    let socket = socket.unwrap_or(Path::new(SOCKET));
    let tried = |why: String| {
        let tried = vec![format!("{} ({why})", socket.display())];
        Error::NoEngine { tried }
    };
    if !socket.exists() {
        return Err(tried("does not exist".to_owned()));
    }
    let grpc = Grpc::new(socket);
    let version = "/runtime.v1.RuntimeService/Version";
    let version = grpc.call::<VersionResponse>(version, &Empty {}, GREETING).await;
    let version = version.map_err(|it| tried(explained(&it)))?.runtime_version;
    let address = socket.to_string_lossy().into_owned();
    let info = EngineInfo { kind: EngineKind::Containerd, version, address };
    let images = PathBuf::from(ContainerdClient::image_folder(&grpc).await);
    let folder = Folder::new(&std::path::absolute(dir).unwrap_or(dir.to_owned()));
    let client = ContainerdClient::new(grpc, folder, info, facts(), images);
    let pods = client.pods_with(Labels::new()).await.map_err(|it| tried(it.to_string()))?;
    refuse_kubelet(&pods).map_err(|it| tried(it.to_string()))?;
    client.remove_lost_files(&pods).await;
    Ok(client)
}

/// A kubelet may also be started later, so this is asked before each pod.
pub(super) fn refuse_kubelet(pods: &[Pod]) -> Answer<()> {
    let of_kubelet = |it: &Labels| it.contains_key(KUBELET) && !it.contains_key(label::NODE);
    match pods.iter().any(|it| of_kubelet(&it.labels)) {
        true => Err(EngineError::Rejected { status: 500, message: SHARED.to_owned() }),
        false => Ok(()),
    }
}

const SHARED: &str = "a kubelet uses this containerd, and removes pods that it does not know; give \
                      the node a containerd of its own, or run charts with --engine kubernetes";

/// Docker's own containerd answers too, without CRI.
fn explained(trouble: &EngineError) -> String {
    match trouble {
        EngineError::Rejected { status: 501, .. } => {
            "its CRI plugin is off: remove `cri` from `disabled_plugins` in its configuration"
                .to_owned()
        }
        EngineError::Unavailable(_)
        | EngineError::Timeout
        | EngineError::Rejected { .. }
        | EngineError::Unexpected(_)
        | EngineError::Unreadable(_) => trouble.to_string(),
    }
}

/// containerd runs on the machine of the node.
fn facts() -> Facts {
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    Facts {
        cpus: f64::from(u32::try_from(cpus).unwrap_or(u32::MAX)),
        architecture: std::env::consts::ARCH.to_owned(),
        memory_bytes: total(&memory).unwrap_or_default(),
        storage_bytes: 0,
        os: "linux".to_owned(),
    }
}

fn total(memory: &str) -> Option<u64> {
    let line = memory.lines().find_map(|it| it.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_the_machine_is_read() {
        assert_eq!(total("MemTotal:       16 kB\nMemFree: 1 kB\n"), Some(16 << 10));
        assert_eq!(total("nothing"), None);
    }

    #[tokio::test]
    async fn a_socket_that_is_not_there_is_named() {
        let error = find(Some(Path::new("/nowhere.sock")), Path::new("/")).await.unwrap_err();
        let said = "no container engine answers; tried /nowhere.sock (does not exist)";
        assert_eq!(error.to_string(), said);
    }
}
