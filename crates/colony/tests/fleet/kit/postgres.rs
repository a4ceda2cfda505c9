//! A real Postgres server of the test's own that can be stopped and started.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::wait;

#[derive(Debug)]
pub(crate) struct Postgres {
    child: Child,
    folder: TempDir,
}

impl Postgres {
    pub(crate) fn start() -> Postgres {
        let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(folder.path()));
        }
        let mut init = command(folder.path(), "initdb");
        init.arg("-D").arg(folder.path().join("data")).args(["-U", "colony", "-A", "trust"]);
        run(init.args(["--no-sync", "-E", "UTF8", "--locale=C.UTF-8"]));
        let child = serve(folder.path());
        let server = Postgres { child, folder };
        server.ready();
        server
    }

    pub(crate) fn url(&self) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://colony@{folder}/postgres")
    }

    /// Ends it at once, as if its machine had gone.
    pub(crate) fn stop(&mut self) {
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-QUIT", &pid]).status();
        let _ = self.child.wait();
    }

    pub(crate) fn start_again(&mut self) {
        self.child = serve(self.folder.path());
        self.ready();
    }

    #[track_caller]
    fn ready(&self) {
        let ready = || {
            let mut ask = command(self.folder.path(), "pg_isready");
            let answer = ask.arg("-q").arg("-h").arg(self.folder.path()).status().ok()?;
            answer.success().then_some(())
        };
        wait("Postgres", ready);
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(folder: &Path) -> Child {
    let mut server = command(folder, "postgres");
    server.arg("-D").arg(folder.join("data")).arg("-k").arg(folder).args(["-h", ""]);
    server.args(["-c", "fsync=off"]).stdout(Stdio::null()).stderr(Stdio::null());
    server.spawn().unwrap()
}

/// Postgres refuses to run as root.
fn command(folder: &Path, program: &str) -> Command {
    let program = programs().join(program);
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "QUIT"]);
    if is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    }
    command.arg("--").arg(program).env("LC_ALL", "C").current_dir(folder);
    command
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found = versions.map(|it| it.path().join("bin")).filter(|it| it.join("initdb").exists());
    found.max().expect("Postgres is missing: apt-get install -y postgresql")
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
