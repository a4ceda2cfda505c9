//! Podman's service, where no other process runs it: started by the node,
//! restarted when it ends, and stopped with the node. Containers are not
//! affected.
//!
//! A node that is killed leaves its service behind. The next one uses it if it
//! still answers; without a node it ends by itself.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};
use tracing::warn;

use colony_process::Backoff;

/// How long podman may take to listen.
const START_LIMIT: Duration = Duration::from_secs(10);
/// It ends after so many seconds without a connection. A node is always
/// connected: it listens to events.
const IDLE: &str = "--time=60";
/// How often a service is checked that is not a child of this process.
const LOOK: Duration = Duration::from_secs(2);
/// How long its answer to a ping may take.
const ANSWER: Duration = Duration::from_secs(5);
/// A service that ran this long did not fail because of its start.
const STEADY: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Service {
    podman: PathBuf,
    socket: PathBuf,
    /// `None` if a killed node left it behind.
    child: Option<Child>,
}

impl Service {
    pub(crate) async fn start(podman: PathBuf, socket: PathBuf) -> anyhow::Result<Service> {
        let mut service = Service { podman, socket, child: None };
        if !answers(&service.socket).await {
            service.begin().await?;
        }
        Ok(service)
    }

    /// Restarts the service whenever it has ended.
    pub(crate) async fn keep(&mut self) -> Infallible {
        let mut backoff = Backoff::default();
        loop {
            let begun = Instant::now();
            self.ended().await;
            if begun.elapsed() >= STEADY {
                backoff.reset();
            }
            warn!("podman's service has ended; starting it again");
            loop {
                sleep(backoff.next_delay()).await;
                match self.begin().await {
                    Ok(()) => break,
                    Err(error) => warn!("{error:#}"),
                }
            }
        }
    }

    async fn ended(&mut self) {
        match &mut self.child {
            // A failed wait counts as an end as well.
            Some(child) => drop(child.wait().await),
            None => {
                while answers(&self.socket).await {
                    sleep(LOOK).await;
                }
            }
        }
    }

    async fn begin(&mut self) -> anyhow::Result<()> {
        // A service that no longer answers still has this path.
        let _ = std::fs::remove_file(&self.socket);
        let mut command = Command::new(&self.podman);
        let address = format!("unix://{}", self.socket.display());
        command.args(["system", "service", IDLE, &address]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let child = command.spawn().context("could not start podman's service")?;
        let child = self.child.insert(child);
        match timeout(START_LIMIT, listens(&self.socket, child)).await {
            Ok(listening) => listening,
            Err(_) => bail!("podman's service did not listen within {} s", START_LIMIT.as_secs()),
        }
    }
}

async fn listens(socket: &Path, child: &mut Child) -> anyhow::Result<()> {
    while UnixStream::connect(socket).await.is_err() {
        if let Some(status) = child.try_wait()? {
            bail!("podman's service ended with {status}");
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Whether a service answers on the socket, and does not merely listen.
async fn answers(socket: &Path) -> bool {
    matches!(timeout(ANSWER, ping(socket)).await, Ok(Ok(true)))
}

async fn ping(socket: &Path) -> std::io::Result<bool> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(b"GET /_ping HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n").await?;
    let mut head = [0; 12];
    stream.read_exact(&mut head).await?;
    Ok(head.starts_with(b"HTTP/1.") && head.ends_with(b" 200"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[tokio::test]
    async fn it_is_started_again_when_it_ends() {
        let bed = Bed::new();
        let mut service = bed.service().await;
        let first = bed.pid();
        kill(&first);
        bed.kept_until(&mut service, &first).await;
        let second = bed.pid();
        kill(&second);
        bed.kept_until(&mut service, &second).await;
    }

    #[tokio::test]
    async fn one_that_was_left_behind_is_used_and_looked_after() {
        let bed = Bed::new();
        let mut left = bed.service().await;
        let (first, mut child) = (bed.pid(), left.child.take().expect("its own"));
        let mut service = bed.service().await;
        assert!(service.child.is_none(), "another one is not started");
        assert_eq!(bed.pid(), first);
        child.kill().await.expect("it is killed");
        bed.kept_until(&mut service, &first).await;
        assert!(service.child.is_some());
    }

    #[tokio::test]
    async fn it_ends_with_the_node() {
        let bed = Bed::new();
        drop(bed.service().await);
        let gone = async {
            while answers(&bed.socket()).await {
                tokio::task::yield_now().await;
            }
        };
        timeout(START_LIMIT, gone).await.expect("it ends");
    }

    /// Not a test: stands in for podman in those above.
    #[test]
    #[ignore = "stands in for podman in other tests"]
    fn stand_in() {
        let Some(socket) = std::env::var_os("STAND_IN") else { return };
        let listener = UnixListener::bind(socket).expect("it listens");
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        }
    }

    struct Bed(tempfile::TempDir);

    impl Bed {
        fn new() -> Bed {
            let bed = Bed(tempfile::tempdir().expect("a directory"));
            let own = std::env::current_exe().expect("a test has a program");
            let module = module_path!().trim_start_matches("colony_node::");
            let script = format!(
                "#!/bin/sh\necho $$ > {}\nSTAND_IN=${{4#unix://}} exec {} --ignored --exact \
                 {module}::stand_in\n",
                bed.0.path().join("pid").display(),
                own.display()
            );
            fs::write(bed.podman(), script).expect("it is written");
            let mode = fs::Permissions::from_mode(0o700);
            fs::set_permissions(bed.podman(), mode).expect("it may be run");
            bed
        }

        async fn service(&self) -> Service {
            Service::start(self.podman(), self.socket()).await.expect("it starts")
        }

        fn podman(&self) -> PathBuf {
            self.0.path().join("podman")
        }

        fn socket(&self) -> PathBuf {
            self.0.path().join("s")
        }

        fn pid(&self) -> String {
            fs::read_to_string(self.0.path().join("pid")).expect("it runs").trim().to_owned()
        }

        /// Keeps the service until another process than `before` answers.
        async fn kept_until(&self, service: &mut Service, before: &str) {
            let another = async {
                while self.pid() == before || !answers(&self.socket()).await {
                    tokio::task::yield_now().await;
                }
            };
            let kept = async {
                tokio::select! {
                    never = service.keep() => match never {},
                    () = another => {}
                }
            };
            timeout(Duration::from_secs(30), kept).await.expect("another one answers");
        }
    }

    fn kill(pid: &str) {
        let killed = std::process::Command::new("kill").args(["-9", pid]).status();
        assert!(killed.expect("kill is there").success());
    }
}
