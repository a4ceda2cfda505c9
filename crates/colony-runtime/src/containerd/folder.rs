//! The files of pods, networks and volumes, below the node's folder.
//!
//! - `pods/<uid>/`: `hosts`, `output.log` and its predecessor, `volumes/<n>` and
//!   `tmpfs/<n>` for mounts without a name; removed with the pod.
//! - `networks/<name>.json`: the labels of a network. All pods share the
//!   network of the machine; a network of a compose file decides which names a
//!   service can resolve.
//! - `volumes/<name>/`: `labels.json` and `data`.

use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::containers::api::{Labels, ListedNetwork, ListedVolume};
use crate::file;

pub(super) const OUTPUT: &str = "output.log";
const JSON: &str = ".json";
/// Any user may write to a volume: which one the container has is not known, and
/// only containers that mount it reach it.
const OPEN: u32 = 0o777;

/// The node's folder.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    dir: PathBuf,
}

impl Folder {
    pub(super) fn new(dir: &Path) -> Folder {
        Folder { dir: dir.to_owned() }
    }

    pub(super) fn pod(&self, uid: &str) -> PathBuf {
        self.dir.join("pods").join(uid)
    }

    pub(super) async fn pods(&self) -> io::Result<Vec<String>> {
        file::names(&self.dir.join("pods")).await
    }

    pub(super) fn hosts(&self, uid: &str) -> PathBuf {
        self.pod(uid).join("hosts")
    }

    pub(super) async fn make_pod(&self, uid: &str) -> io::Result<()> {
        file::make_private(&self.dir.join("pods")).await?;
        // Containers read files in it as any user.
        make_open(&self.pod(uid), 0o755).await?;
        write_in_place(&self.hosts(uid), "").await
    }

    /// A folder for a mount without a name.
    pub(super) async fn make_volume(&self, uid: &str, number: usize) -> io::Result<PathBuf> {
        let path = self.pod(uid).join("volumes").join(number.to_string());
        make_open(&path, OPEN).await?;
        Ok(path)
    }

    /// A file system in memory, with the options of `mount`.
    pub(super) async fn make_tmpfs(
        &self,
        uid: &str,
        number: usize,
        options: &str,
    ) -> io::Result<PathBuf> {
        let path = self.pod(uid).join("tmpfs").join(number.to_string());
        make_open(&path, OPEN).await?;
        let (flags, data) = mount_options(options);
        let data = std::ffi::CString::new(data).map_err(io::Error::other)?;
        mount("tmpfs", &path, "tmpfs", flags, data.as_c_str())?;
        Ok(path)
    }

    /// Removes the files of a pod. One that has none is fine.
    pub(super) async fn remove_pod(&self, uid: &str) -> io::Result<()> {
        let tmpfs = self.pod(uid).join("tmpfs");
        for name in file::names(&tmpfs).await? {
            match unmount(tmpfs.join(name), UnmountFlags::DETACH) {
                // It was lost with a restart of the machine.
                Ok(()) | Err(rustix::io::Errno::INVAL) => {}
                Err(error) => return Err(error.into()),
            }
        }
        gone_is_fine(tokio::fs::remove_dir_all(self.pod(uid)).await)
    }

    pub(super) async fn networks(&self) -> io::Result<Vec<ListedNetwork>> {
        let mut networks = Vec::new();
        for file in file::names(&self.dir.join("networks")).await? {
            let Some(name) = file.strip_suffix(JSON) else { continue };
            let Some(labels) = self.network(name).await? else { continue };
            networks.push(ListedNetwork { id: name.to_owned(), name: name.to_owned(), labels });
        }
        Ok(networks)
    }

    pub(super) async fn network(&self, name: &str) -> io::Result<Option<Labels>> {
        read_labels(&self.network_path(name)).await
    }

    pub(super) async fn make_network(&self, name: &str, labels: &Labels) -> io::Result<()> {
        write_labels(&self.network_path(name), labels).await
    }

    pub(super) async fn remove_network(&self, name: &str) -> io::Result<()> {
        gone_is_fine(tokio::fs::remove_file(self.network_path(name)).await)
    }

    fn network_path(&self, name: &str) -> PathBuf {
        self.dir.join("networks").join(format!("{name}{JSON}"))
    }

    pub(super) async fn volume(&self, name: &str) -> io::Result<Option<Labels>> {
        read_labels(&self.volume_path(name).join("labels.json")).await
    }

    /// The labels are written last: a volume without them is made again.
    pub(super) async fn make_named_volume(&self, name: &str, labels: &Labels) -> io::Result<()> {
        make_open(&self.volume_data(name), OPEN).await?;
        write_labels(&self.volume_path(name).join("labels.json"), labels).await
    }

    /// All volumes that are complete.
    pub(super) async fn volumes(&self) -> io::Result<Vec<ListedVolume>> {
        let mut volumes = Vec::new();
        for name in file::names(&self.dir.join("volumes")).await? {
            if let Some(labels) = self.volume(&name).await? {
                volumes.push(ListedVolume { name, labels });
            }
        }
        Ok(volumes)
    }

    /// The labels go last: a removal that was interrupted is found again.
    pub(super) async fn remove_named_volume(&self, name: &str) -> io::Result<()> {
        gone_is_fine(tokio::fs::remove_dir_all(self.volume_data(name)).await)?;
        gone_is_fine(tokio::fs::remove_dir_all(self.volume_path(name)).await)
    }

    pub(super) fn volume_data(&self, name: &str) -> PathBuf {
        self.volume_path(name).join("data")
    }

    fn volume_path(&self, name: &str) -> PathBuf {
        self.dir.join("volumes").join(name)
    }
}

/// Replaces the content of a file, not the file: containers have it mounted.
pub(super) async fn write_in_place(path: &Path, content: &str) -> io::Result<()> {
    use tokio::io::AsyncWriteExt;
    let mut options = tokio::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(false).open(path).await?;
    file.write_all(content.as_bytes()).await?;
    file.flush().await?;
    file.set_len(content.len() as u64).await
}

async fn make_open(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    tokio::fs::create_dir_all(path).await?;
    tokio::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).await
}

async fn read_labels(path: &Path) -> io::Result<Option<Labels>> {
    let bytes = file::read(path).await?;
    Ok(bytes.and_then(|it| serde_json::from_slice(&it).ok()))
}

async fn write_labels(path: &Path, labels: &Labels) -> io::Result<()> {
    let bytes = serde_json::to_vec_pretty(labels).unwrap_or_default();
    file::replace(path, bytes, 0o600).await
}

fn gone_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Splits options into flags and what the file system reads itself. The flags
/// that are not named are those of Docker.
fn mount_options(options: &str) -> (MountFlags, String) {
    let mut flags = MountFlags::NOEXEC | MountFlags::NOSUID | MountFlags::NODEV;
    let mut data = Vec::new();
    for option in options.split(',').filter(|it| !it.is_empty()) {
        match option {
            "ro" => flags |= MountFlags::RDONLY,
            "rw" => flags -= MountFlags::RDONLY,
            "noexec" => flags |= MountFlags::NOEXEC,
            "exec" => flags -= MountFlags::NOEXEC,
            "nosuid" => flags |= MountFlags::NOSUID,
            "suid" => flags -= MountFlags::NOSUID,
            "nodev" => flags |= MountFlags::NODEV,
            "dev" => flags -= MountFlags::NODEV,
            "noatime" => flags |= MountFlags::NOATIME,
            other => data.push(other),
        }
    }
    (flags, data.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_flags_or_data() {
        let docker = MountFlags::NOEXEC | MountFlags::NOSUID | MountFlags::NODEV;
        check("", docker, "");
        check("size=64m,mode=1777", docker, "size=64m,mode=1777");
        check("exec,size=1m,ro", (docker - MountFlags::NOEXEC) | MountFlags::RDONLY, "size=1m");
    }

    #[tokio::test]
    async fn a_mounted_file_stays_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hosts");
        write_in_place(&path, "a long text").await.unwrap();
        let open = std::fs::File::open(&path).unwrap();
        write_in_place(&path, "short").await.unwrap();
        assert_eq!(std::io::read_to_string(open).unwrap(), "short");
    }

    #[tokio::test]
    async fn networks_and_volumes_are_found_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        let labels = Labels::from([("a".to_owned(), "b".to_owned())]);
        assert_eq!(folder.network("n").await.unwrap(), None);
        folder.make_network("n", &labels).await.unwrap();
        assert_eq!(folder.networks().await.unwrap()[0].labels, labels);
        folder.remove_network("n").await.unwrap();
        folder.remove_network("n").await.unwrap();
        assert_eq!(folder.networks().await.unwrap(), []);
        folder.make_named_volume("v", &labels).await.unwrap();
        assert_eq!(folder.volume("v").await.unwrap(), Some(labels));
        assert!(folder.volume_data("v").is_dir());
        let listed: Vec<String> =
            folder.volumes().await.unwrap().into_iter().map(|it| it.name).collect();
        assert_eq!(listed, ["v"]);
        folder.remove_named_volume("v").await.unwrap();
        folder.remove_named_volume("v").await.unwrap();
        assert!(folder.volumes().await.unwrap().is_empty() && !folder.volume_path("v").exists());
    }

    #[track_caller]
    fn check(options: &str, flags: MountFlags, data: &str) {
        assert_eq!(mount_options(options), (flags, data.to_owned()), "{options}");
    }
}
