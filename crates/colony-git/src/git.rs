//! The `git` program, for what gix cannot do: push, serve, pack up.
//!
//! It inherits no Git settings from the environment, never prompts, and ends
//! when the network does.

mod patience;

use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

pub(crate) use patience::{Patience, run_within};

use crate::Error;

/// No prompts, and an end when the connection is dead.
pub(crate) const SSH_OPTIONS: [&str; 6] =
    ["-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15"];

/// A git command in `dir`; the settings are in no file and on no command line.
pub(crate) fn command(dir: &Path, settings: &[(&str, &str)]) -> Command {
    let mut command = program(settings);
    command.arg("--git-dir").arg(dir);
    command
}

/// The same without a repository. It leads a process group, so that `end` also
/// ends its helpers.
pub(crate) fn program(settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new("git");
    command.stdin(Stdio::null()).process_group(0);
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    command.env_remove("SSH_ASKPASS").env("LC_ALL", "C");
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ALLOW_PROTOCOL", "file:http:https:ssh");
    configure(&mut command, settings);
    command
}

/// Settings are passed in the environment: every user of the machine can read a
/// command line.
fn configure(command: &mut Command, settings: &[(&str, &str)]) {
    let ssh = format!("ssh {}", SSH_OPTIONS.join(" "));
    let fixed = [
        ("core.sshCommand", ssh.as_str()),
        ("http.lowSpeedLimit", "1"),
        ("http.lowSpeedTime", "60"),
        ("gc.autoDetach", "false"),
        ("maintenance.autoDetach", "false"),
    ];
    // The same authorities that the rest of the process trusts, which honours
    // `SSL_CERT_FILE`.
    let authorities = std::env::var("SSL_CERT_FILE").unwrap_or_default();
    let trusted = ("http.sslCAInfo", authorities.as_str());
    let trusted = (!authorities.is_empty()).then_some(&trusted);
    let all = fixed.iter().chain(trusted).chain(settings);
    for (at, (key, value)) in all.clone().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{at}"), key);
        command.env(format!("GIT_CONFIG_VALUE_{at}"), value);
    }
    command.env("GIT_CONFIG_COUNT", all.count().to_string());
}

/// Runs it to its end.
pub(crate) fn run(mut command: Command, doing: &'static str) -> Result<Output, Error> {
    command.output().map_err(|it| spawn_error(it, doing))
}

/// Ends a child and the processes it started, and waits for it.
pub(crate) fn end(child: &mut Child) {
    if let Ok(Some(_)) = child.try_wait() {
        return;
    }
    // It may have ended already; a child without its own process group is ended
    // alone.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.kill();
    let _ = child.wait();
}

pub(crate) fn spawn_error(error: std::io::Error, doing: &'static str) -> Error {
    match error.kind() == ErrorKind::NotFound {
        true => Error::NoGit,
        false => Error::Git { doing, problem: error.to_string() },
    }
}

/// The last part of a program's output, for an error message.
pub(crate) fn output_text(bytes: &[u8]) -> String {
    const LIMIT: usize = 2048;
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    let from = text.len().saturating_sub(LIMIT);
    let from = (from..=text.len()).find(|&it| text.is_char_boundary(it)).unwrap_or(0);
    text[from..].lines().map(str::trim).filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_complaints_are_cut_at_the_front() {
        assert_eq!(output_text(b"  one\n\n two \n"), "one; two");
        assert!(output_text("é".repeat(5000).as_bytes()).len() <= 2048);
    }

    #[test]
    fn settings_do_not_stand_on_the_command_line() {
        let command = command(Path::new("/x"), &[("http.extraHeader", "Authorization: hush")]);
        assert!(!format!("{:?}", command.get_args().collect::<Vec<_>>()).contains("hush"));
        assert!(command.get_envs().any(|(_, it)| it.is_some_and(|it| it == "Authorization: hush")));
    }
}
