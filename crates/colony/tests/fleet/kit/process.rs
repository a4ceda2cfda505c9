//! A role of the product as a process, with its log beside it.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use super::wait;

#[derive(Debug)]
pub(crate) struct Process {
    arguments: Vec<String>,
    /// Of its next start.
    pub(crate) environment: Vec<(String, String)>,
    /// The network namespace it is in, if not the test's own.
    namespace: Option<String>,
    log: PathBuf,
    child: Child,
}

impl Process {
    pub(crate) fn start(
        arguments: Vec<String>,
        environment: Vec<(String, String)>,
        namespace: Option<String>,
        log: &Path,
    ) -> Process {
        let child = spawn(&arguments, &environment, namespace.as_deref(), log);
        Process { arguments, environment, namespace, log: log.to_owned(), child }
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "it had ended before: {}", self.log());
    }

    /// The same command again.
    pub(crate) fn restart(&mut self) {
        let namespace = self.namespace.as_deref();
        self.child = spawn(&self.arguments, &self.environment, namespace, &self.log);
    }

    /// How it ended by itself.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> ExitStatus {
        wait("the process to end", || self.child.try_wait().unwrap())
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
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

fn spawn(
    arguments: &[String],
    environment: &[(String, String)],
    namespace: Option<&str>,
    log: &Path,
) -> Child {
    let log = File::options().create(true).append(true).open(log).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    if let Some(namespace) = namespace {
        command.args(["nsenter", &format!("--net=/run/netns/{namespace}")]);
    }
    command.arg(crate::program()).args(arguments);
    command.envs(environment.iter().cloned());
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    command.spawn().unwrap()
}
