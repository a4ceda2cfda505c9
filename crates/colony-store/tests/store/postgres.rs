//! A real Postgres server of our own, gone when the test is.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// Listens on a Unix socket in its own folder.
pub(crate) struct Server {
    folder: TempDir,
    child: Child,
}

impl Server {
    /// `settings` as `name=value`.
    pub(crate) fn start(settings: &[&str]) -> Server {
        let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").expect("a folder");
        let data = folder.path().join("data");
        if root() {
            run(Command::new("chown").arg("postgres").arg(folder.path()));
        }
        let mut init = as_postgres(folder.path(), "initdb");
        run(init.arg("-D").arg(&data).args(["-U", "colony", "-A", "trust", "--no-sync"]).args([
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
        ]));
        let mut server = as_postgres(folder.path(), "postgres");
        server.arg("-D").arg(&data).arg("-k").arg(folder.path()).args(["-h", ""]);
        for setting in settings {
            server.args(["-c", setting]);
        }
        let child = server.stderr(Stdio::piped()).stdout(Stdio::null()).spawn();
        let mut server = Server { folder, child: child.expect("postgres starts") };
        server.wait();
        server
    }

    /// Waits for the line that says so, and goes on reading behind it.
    fn wait(&mut self) {
        let mut log = BufReader::new(self.child.stderr.take().expect("it is piped"));
        let (mut line, mut all) = (String::new(), String::new());
        while !line.contains("ready to accept connections") {
            line.clear();
            let read = log.read_line(&mut line).expect("the log is readable");
            assert!(read > 0, "Postgres ended:\n{all}");
            all.push_str(&line);
        }
        std::thread::spawn(move || {
            let mut sink = Vec::new();
            log.read_to_end(&mut sink)
        });
    }

    pub(crate) fn url(&self, database: &str) -> String {
        let folder = self.folder.path().to_str().expect("a plain path").replace('/', "%2F");
        format!("postgres://colony@{folder}/{database}")
    }

    /// Ends it at once, as if the machine had gone.
    pub(crate) fn stop(&mut self) {
        let pid = self.child.id().to_string();
        let told = Command::new("kill").args(["-QUIT", &pid]).status();
        if !told.is_ok_and(|it| it.success()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.stop();
        }
    }
}

/// Postgres refuses to run as root.
fn as_postgres(folder: &Path, program: &str) -> Command {
    let program = programs().join(program);
    let mut command = if root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
        command.args(["--pdeathsig", "QUIT", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.env("LC_ALL", "C").current_dir(folder);
    command
}

fn root() -> bool {
    fs::metadata("/proc/self").expect("/proc is there").uid() == 0
}

fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found = versions.map(|it| it.path().join("bin")).filter(|it| it.join("initdb").exists());
    found.max().expect("Postgres is missing; install it: apt-get install -y postgresql")
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
}
