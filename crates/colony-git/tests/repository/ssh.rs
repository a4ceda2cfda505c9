//! A repository behind a real `sshd`, with keys and a port of its own.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use tempfile::TempDir;

use crate::child::Child;
use crate::kit::{Person, bare, git};

const SSHD: &str = "/usr/sbin/sshd";

#[test]
fn a_known_key_reads_and_writes() {
    let world = World::new();
    assert_eq!(world.output_with(KnownHosts::Host, "own"), "fetch: ok\nwrite: ok");
    assert_eq!(git(&world.upstream(), &["show", "main:x"]), "y");
}

#[test]
fn a_key_nobody_knows_is_refused_and_says_what_to_do() {
    let told = World::new().output_with(KnownHosts::Host, "other");
    assert_eq!(told.matches(": refused: ").count(), 2, "{told}");
    assert_eq!(told.matches("Permission denied (publickey").count(), 2, "{told}");
    assert_eq!(told.matches("IdentityFile").count(), 2, "{told}");
}

#[test]
fn an_unknown_host_is_refused_and_says_what_to_do() {
    let world = World::new();
    for known in [KnownHosts::Nothing, KnownHosts::Other] {
        let told = world.output_with(known, "own");
        assert_eq!(told.matches(": refused: ").count(), 2, "{told}");
        assert_eq!(told.matches("Host key verification failed").count(), 2, "{told}");
        assert_eq!(told.matches("known_hosts of the user").count(), 2, "{told}");
    }
    assert_eq!(git(&world.upstream(), &["rev-list", "--count", "main"]), "1");
}

#[test]
fn a_repository_that_is_not_there_says_so() {
    let world = World::new();
    std::fs::rename(world.upstream(), world.path("away.git")).expect("moved");
    let told = world.output_with(KnownHosts::Host, "own");
    assert_eq!(told.matches(": failed: ").count(), 2, "{told}");
}

/// What stands in `known_hosts`.
#[derive(Debug, Clone, Copy)]
enum KnownHosts {
    Host,
    Other,
    Nothing,
}

struct World {
    keep: TempDir,
    server: Sshd,
}

impl World {
    fn new() -> World {
        let keep = TempDir::new().expect("a folder");
        bare(keep.path());
        for name in ["host", "own", "other"] {
            let file = keep.path().join(name);
            let mut command = Command::new("ssh-keygen");
            command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file);
            let status = command.status().expect("apt-get install openssh-client openssh-server");
            assert!(status.success());
        }
        Person::of(keep.path().join("upstream.git").to_str().expect("UTF-8"))
            .put("README.md", "hello\n")
            .commit("first")
            .push();
        let server = Sshd::start(keep.path());
        World { keep, server }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.keep.path().join(name)
    }

    fn upstream(&self) -> PathBuf {
        self.path("upstream.git")
    }

    /// The output of a process whose `ssh` finds this key and these hosts.
    fn output_with(&self, known: KnownHosts, key: &str) -> String {
        let own = TempDir::new().expect("a folder");
        let public = |name: &str| std::fs::read_to_string(self.path(name)).expect("a key");
        let port = self.server.addr.port();
        let hosts = match known {
            KnownHosts::Host => format!("[127.0.0.1]:{port} {}", public("host.pub")),
            KnownHosts::Other => format!("[127.0.0.1]:{port} {}", public("other.pub")),
            KnownHosts::Nothing => String::new(),
        };
        std::fs::write(own.path().join("known_hosts"), hosts).expect("a file");
        self.program(own.path(), key);
        let path = std::env::var("PATH").unwrap_or_default();
        let variables = vec![("PATH", format!("{}:{path}", own.path().display()))];
        let (user, upstream) = (user(), self.upstream());
        let url = format!("ssh://{user}@127.0.0.1:{port}{}", upstream.display());
        Child { url: &url, token: None, variables }.run(own.path())
    }

    /// An `ssh` that looks into no file of the user's.
    fn program(&self, dir: &Path, key: &str) {
        let file = dir.join("ssh");
        let (hosts, key) = (dir.join("known_hosts"), self.path(key));
        let text = format!(
            "#!/bin/sh\nexec /usr/bin/ssh -F none -o IdentitiesOnly=yes -o IdentityFile='{}' \
             -o UserKnownHostsFile='{}' -o GlobalKnownHostsFile=none \"$@\"\n",
            key.display(),
            hosts.display(),
        );
        std::fs::write(&file, text).expect("a file");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("a program");
    }
}

/// Takes connections, and starts an `sshd` for each: so the port is free for certain.
struct Sshd {
    addr: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sshd {
    fn start(dir: &Path) -> Sshd {
        assert!(Path::new(SSHD).exists(), "no sshd; run: apt-get install openssh-server");
        if user() == "root" {
            // What the package's start script does.
            std::fs::create_dir_all("/run/sshd").expect("a folder");
        }
        let (own, path) = (dir.display(), std::env::var("PATH").unwrap_or_default());
        let config = format!(
            "HostKey {own}/host\nAuthorizedKeysFile {own}/own.pub\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n\
             AcceptEnv GIT_PROTOCOL\nSetEnv PATH={path}\nPidFile none\n"
        );
        let file = dir.join("sshd_config");
        std::fs::write(&file, config).expect("a file");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (addr, stop) = (listener.local_addr().expect("an address"), Arc::default());
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || accept(&listener, &file, &stopped));
        Sshd { addr, stop, thread: Some(thread) }
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread.
        drop(TcpStream::connect(self.addr));
        self.thread.take().map(JoinHandle::join).transpose().expect("no panic");
    }
}

fn accept(listener: &TcpListener, config: &Path, stop: &AtomicBool) {
    let mut children = Vec::new();
    for stream in listener.incoming() {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let input = OwnedFd::from(stream.expect("a connection"));
        let output = input.try_clone().expect("a descriptor");
        let mut command = Command::new(SSHD);
        command.args(["-i", "-e", "-f"]).arg(config);
        command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::null());
        children.push(command.spawn().expect("sshd starts"));
    }
    for mut child in children {
        child.wait().expect("sshd ends with its connection");
    }
}

fn user() -> String {
    let output = Command::new("id").arg("-un").output().expect("id is there");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
