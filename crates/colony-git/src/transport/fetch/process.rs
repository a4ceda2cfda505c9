//! The remote as a child process: `git upload-pack` for a path, or `ssh`.
//!
//! gix could start the child itself, but offers no access to it. Here the child
//! is ended when the time of the fetch is over, and the bytes it sends are
//! counted.

use std::fs::OpenOptions;
use std::io::{self, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use gix::bstr::ByteSlice;
use gix::protocol::transport::Protocol;
use gix::protocol::transport::client::git::ConnectMode;
use gix::protocol::transport::client::git::blocking_io::Connection;
use parking_lot::Mutex;

use crate::error::Error;
use crate::git;
use crate::transport::limit::{Meter, Metered, Watchdog};

/// Serves a repository on this machine.
pub(super) fn local(path: &Path) -> Command {
    let mut command = git::program(&[]);
    command.args(["upload-pack", "--"]).arg(path).stderr(Stdio::null());
    command
}

/// Serves a repository behind `ssh`; error messages are appended to `log`.
pub(super) fn ssh(url: &str, log: &Path) -> Result<Command, Error> {
    let unusable = |problem| Error::Address { url: url.to_owned(), problem };
    let parsed = gix::url::parse(url.as_bytes().as_bstr()).map_err(|_| unusable("not a URL"))?;
    let host = parsed.host_argument_safe().ok_or_else(|| unusable("its host is missing"))?;
    let user = match parsed.user() {
        Some(_) => parsed.user_argument_safe().ok_or_else(|| unusable("its user is a flag"))?,
        None => "",
    };
    let file = OpenOptions::new().append(true).create(true).open(log);
    let mut command = Command::new("ssh");
    command.args(git::SSH_OPTIONS).arg("-E").arg(log).args(["-o", "SendEnv=GIT_PROTOCOL"]);
    command.stderr(file.map_or_else(|_| Stdio::null(), Stdio::from));
    if let Some(port) = parsed.port {
        command.args(["-p", &port.to_string()]);
    }
    let at = if user.is_empty() { host.to_owned() } else { format!("{user}@{host}") };
    command.arg(at).arg(format!("git-upload-pack {}", quoted(&parsed.path.to_str_lossy())));
    Ok(command)
}

/// Quotes a path for the remote shell; `/~ana/x` is in the home of `ana`.
fn quoted(path: &str) -> String {
    let path = if path.starts_with("/~") { &path[1..] } else { path };
    let path = path.replace('\'', r"'\''").replace('!', r"'\!'");
    format!("'{path}'")
}

/// The connection to the child.
pub(super) type Line = Connection<BufReader<Metered<ChildStdout>>, ChildStdin>;

/// Ends the child when it is dropped, and when the time is over.
pub(super) struct Running {
    child: Arc<Mutex<Child>>,
    _watchdog: Watchdog,
}

/// Starts the child that serves `url`; the line is unusable once `Running` is
/// dropped.
pub(super) fn start(
    mut command: Command,
    url: &str,
    meter: &Arc<Meter>,
) -> io::Result<(Line, Running)> {
    command.env("GIT_PROTOCOL", "version=2").stdin(Stdio::piped()).stdout(Stdio::piped());
    // Helpers that ssh starts, such as a proxy command, are ended with it.
    command.process_group(0);
    let mut child = command.spawn()?;
    let pipes = (child.stdout.take(), child.stdin.take());
    let child = Arc::new(Mutex::new(child));
    let watched = Arc::clone(&child);
    let running = Running { child, _watchdog: meter.watch(move || git::end(&mut watched.lock())) };
    let (Some(stdout), Some(stdin)) = pipes else {
        return Err(io::Error::other("the program has no pipes"));
    };
    let read = BufReader::new(Metered { from: stdout, meter: Arc::clone(meter) });
    let nowhere = None::<(String, Option<u16>)>;
    let line =
        Connection::new(read, stdin, Protocol::V2, url, nowhere, ConnectMode::Process, false);
    // gix looks up settings by the URL.
    Ok((line.custom_url(Some(url.into())), running))
}

impl Drop for Running {
    fn drop(&mut self) {
        git::end(&mut self.child.lock());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_is_called_as_git_calls_it() {
        check("ssh://git@h:2222/srv/r.git", "-p 2222 git@h git-upload-pack '/srv/r.git'");
        check("git@h:team/r.git", "git@h git-upload-pack 'team/r.git'");
        check("ssh://h/~ana/r.git", "h git-upload-pack '~ana/r.git'");
        check("ssh://h/it's", r"h git-upload-pack '/it'\''s'");
        check("ssh://-oProxyCommand=id/r", "refused");
        check("ssh://-x@h/r", "refused");
    }

    #[test]
    fn a_program_that_never_answers_is_ended() {
        use std::io::Read;
        let limits = crate::FetchLimits {
            time: std::time::Duration::from_millis(200),
            ..Default::default()
        };
        let mut command = Command::new("sleep");
        command.arg("600");
        let (line, running) = start(command, "/x", &Meter::new(limits)).expect("it starts");
        let mut text = Vec::new();
        line.into_inner().0.read_to_end(&mut text).expect_err("the time is over");
        assert!(running.child.lock().try_wait().expect("a child").is_some(), "it was ended");
    }

    #[track_caller]
    fn check(url: &str, expected: &str) {
        let dir = tempfile::TempDir::new().expect("a folder");
        let actual = match ssh(url, &dir.path().join("ssh.log")) {
            Ok(command) => {
                let all: Vec<_> = command.get_args().map(|it| it.to_string_lossy()).collect();
                all.join(" ").split("SendEnv=GIT_PROTOCOL ").nth(1).unwrap_or_default().to_owned()
            }
            Err(_) => "refused".to_owned(),
        };
        assert_eq!(actual, expected, "{url}");
    }
}
