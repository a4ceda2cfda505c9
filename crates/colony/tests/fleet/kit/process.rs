//! A role of the product as a process, with its log beside it.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use super::wait;

#[derive(Debug)]
pub(crate) struct Process {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    log: PathBuf,
    child: Child,
}

impl Process {
    pub(crate) fn start(
        arguments: Vec<String>,
        environment: Vec<(String, String)>,
        log: &Path,
    ) -> Process {
        let child = spawn(&arguments, &environment, log);
        Process { arguments, environment, log: log.to_owned(), child }
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "it had ended before: {}", self.log());
    }

    /// The same command again.
    pub(crate) fn restart(&mut self) {
        self.child = spawn(&self.arguments, &self.environment, &self.log);
    }

    /// How it ended by itself.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> ExitStatus {
        wait("the process to end", || self.child.try_wait().unwrap())
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            println!("── {}\n{}", self.log.display(), self.log());
        }
    }
}

fn spawn(arguments: &[String], environment: &[(String, String)], log: &Path) -> Child {
    let log = File::options().create(true).append(true).open(log).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", env!("CARGO_BIN_EXE_colony")]).args(arguments);
    command.envs(environment.iter().cloned());
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    command.spawn().unwrap()
}
