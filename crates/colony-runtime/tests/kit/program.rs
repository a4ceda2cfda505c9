//! Programs a test runs beside itself.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PACKAGES: &str = "podman runc docker.io containerd docker-registry netavark aardvark-dns \
    iptables busybox-static apache2-utils";

/// A program that ends with the test, however that ends.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    line: Line,
    log: PathBuf,
}

/// What it is started with.
#[derive(Debug)]
struct Line {
    name: String,
    arguments: Vec<String>,
    environment: Vec<(String, PathBuf)>,
}

/// Where the program is, or how to get it.
pub(crate) fn find(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin", "/usr/lib/podman"].map(PathBuf::from);
    let found = std::env::split_paths(&path).chain(more).map(|it| it.join(name));
    found.into_iter().find(|it| it.is_file()).unwrap_or_else(|| {
        panic!("`{name}` is missing: apt-get install -y --no-install-recommends {PACKAGES}")
    })
}

impl Program {
    pub(crate) fn start(
        name: &str,
        arguments: &[&str],
        environment: &[(&str, &Path)],
        log: &Path,
    ) -> Program {
        let arguments = arguments.iter().map(|it| (*it).to_owned()).collect();
        let variable = |it: &(&str, &Path)| (it.0.to_owned(), it.1.to_owned());
        let environment = environment.iter().map(variable).collect();
        let line = Line { name: name.to_owned(), arguments, environment };
        Program { child: line.spawn(log), line, log: log.to_owned() }
    }

    /// The same program again, after it ended.
    pub(crate) fn start_again(&mut self) {
        self.child = self.line.spawn(&self.log);
    }

    /// Waits until `ready`, and fails with what the program printed.
    #[track_caller]
    pub(crate) fn await_ready(&mut self, ready: impl Fn() -> bool) {
        let end = now() + Duration::from_secs(30);
        while !ready() {
            let ended = self.child.try_wait().unwrap();
            if ended.is_some() || now() > end {
                let log = std::fs::read_to_string(&self.log).unwrap_or_default();
                panic!("{} is not ready ({ended:?}):\n{log}", self.log.display());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn end(&mut self) {
        if self.child.try_wait().is_ok_and(|it| it.is_some()) {
            return;
        }
        let id = self.child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &id]).status();
        let end = now() + Duration::from_secs(15);
        while self.child.try_wait().is_ok_and(|it| it.is_none()) {
            if now() > end {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Line {
    fn spawn(&self, log: &Path) -> Child {
        let output = std::fs::File::options().create(true).append(true).open(log).unwrap();
        let mut command = Command::new(find("setpriv"));
        command.args(["--pdeathsig", "TERM"]).arg(find(&self.name)).args(&self.arguments);
        command.envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        command.spawn().unwrap()
    }
}

#[expect(clippy::disallowed_methods, reason = "a test waits for a real program")]
fn now() -> Instant {
    Instant::now()
}
