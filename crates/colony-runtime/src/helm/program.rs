//! The program `helm`.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use colony_core::attempt::Failure;
use colony_core::code::Code;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::helm::api::one_line;
use crate::messages;

/// The most that is read of its output: a rendered chart.
const OUTPUT_LIMIT: u64 = 16 << 20;
const MESSAGE_LIMIT: u64 = 64 << 10;
/// How much longer than its own timeout it may run.
const GRACE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
pub(super) struct Helm {
    program: PathBuf,
    kubeconfig: Option<PathBuf>,
    /// For its caches: the user's own are left alone.
    dir: PathBuf,
}

impl Helm {
    /// The program given, or the one in `PATH`.
    pub(super) fn find(
        program: Option<&Path>,
        kubeconfig: Option<&Path>,
        dir: &Path,
    ) -> Result<Helm, String> {
        let program = match program {
            Some(path) if path.is_file() => path.to_owned(),
            Some(path) => return Err(format!("{} does not exist", path.display())),
            None => Helm::in_path()?,
        };
        let kubeconfig = kubeconfig.map(Path::to_owned);
        Ok(Helm { program, kubeconfig, dir: dir.join("helm") })
    }

    fn in_path() -> Result<PathBuf, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program =
            std::env::split_paths(&path).map(|it| it.join("helm")).find(|it| it.is_file());
        program.ok_or_else(|| "the program `helm` (3.13 or later) is not in PATH".to_owned())
    }

    /// Its output, or its failure, with the code its message stands for.
    pub(super) async fn run(
        &self,
        doing: &str,
        arguments: &[&str],
        limit: Duration,
    ) -> Result<String, Failure> {
        let broken = |error: std::io::Error| {
            let program = self.program.display();
            Failure::new(Code::EngineError, format!("could not run `{program}`: {error}"))
        };
        let mut command = Command::new(&self.program);
        command.args(arguments).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, folder) in [
            ("HELM_CACHE_HOME", "cache"),
            ("HELM_CONFIG_HOME", "config"),
            ("HELM_DATA_HOME", "data"),
        ] {
            command.env(name, self.dir.join(folder));
        }
        if let Some(path) = &self.kubeconfig {
            command.env("KUBECONFIG", path);
        }
        let mut child = command.spawn().map_err(broken)?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let ended = async {
            let both = tokio::join!(read(output, OUTPUT_LIMIT), read(errors, MESSAGE_LIMIT));
            child.wait().await.map(|status| (status, both.0, both.1))
        };
        let ended = tokio::time::timeout(limit + GRACE, ended).await;
        let (status, output, errors) = match ended {
            Ok(ended) => ended.map_err(broken)?,
            Err(_) => {
                let message = format!("could not {doing}: helm did not end within {limit:?}");
                return Err(Failure::new(Code::EngineError, message));
            }
        };
        if status.success() {
            return Ok(output);
        }
        Err(failure(doing, &errors))
    }
}

/// Reads all of it, so that the program can end, and keeps the first part.
async fn read(pipe: Option<impl AsyncRead + Unpin>, limit: u64) -> String {
    let Some(pipe) = pipe else { return String::new() };
    let mut bytes = Vec::new();
    let mut part = pipe.take(limit);
    // What was read until an error counts.
    let _ = part.read_to_end(&mut bytes).await;
    let mut rest = part.into_inner();
    let _ = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The failure behind what helm printed. Its warnings come first, the error
/// last.
fn failure(doing: &str, printed: &str) -> Failure {
    let error = printed.find("Error: ").map_or(printed, |at| &printed[at + "Error: ".len()..]);
    let message = one_line(error);
    Failure::new(code(&message), format!("could not {doing}: {message}"))
}

/// The code of an error of helm; the first match counts.
fn code(message: &str) -> Code {
    let message = message.to_lowercase();
    let found = MESSAGES.iter().find(|it| message.contains(it.0)).map(|it| it.1.clone());
    found
        .or_else(|| hook_code(&message))
        .or_else(|| messages::of_start(&message))
        .unwrap_or(Code::EngineError)
}

/// Helm reports a hook that failed or did not end in time.
pub(super) fn is_about_hooks(message: &str) -> bool {
    HOOKS_FAILED.iter().any(|it| message.contains(it))
}

/// The code of a hook about which nothing else is known.
fn hook_code(message: &str) -> Option<Code> {
    let is_late = HOOK_LATE.iter().any(|it| message.contains(it));
    let code = if is_late { Code::ComponentTimeout } else { Code::Exited };
    is_about_hooks(message).then_some(code)
}

const HOOKS_FAILED: [&str; 3] = ["hooks failed", "failed pre-install", "failed post-install"];
const HOOK_LATE: [&str; 2] = ["timed out waiting", "deadline exceeded"];

const MESSAGES: &[(&str, Code)] = &[
    // The webhook's server is away, not the cluster's.
    ("failed calling webhook", Code::EngineError),
    ("failed to call webhook", Code::EngineError),
    ("kubernetes cluster unreachable", Code::EngineUnavailable),
    ("connection refused", Code::EngineUnavailable),
    ("no route to host", Code::EngineUnavailable),
    ("i/o timeout", Code::EngineUnavailable),
    ("tls handshake timeout", Code::EngineUnavailable),
    ("unexpected eof", Code::EngineUnavailable),
    ("connection reset", Code::EngineUnavailable),
    ("the server is currently unable", Code::EngineUnavailable),
    ("unauthorized", Code::EngineError),
    ("exceeded quota", Code::EngineError),
    ("is forbidden", Code::EngineError),
    ("is being terminated", Code::EngineError),
    ("denied the request", Code::InvalidConfig),
    ("don't meet the specifications of the schema", Code::InvalidConfig),
    ("execution error", Code::InvalidConfig),
    ("parse error", Code::InvalidConfig),
    ("template: ", Code::InvalidConfig),
    ("error validating", Code::InvalidConfig),
    ("unable to build kubernetes objects", Code::InvalidConfig),
    ("no matches for kind", Code::InvalidConfig),
    ("ensure crds are installed", Code::InvalidConfig),
    ("is invalid", Code::InvalidConfig),
    ("cannot patch", Code::InvalidConfig),
    ("invalid ownership metadata", Code::InvalidConfig),
    ("chart requires kubeversion", Code::NotEligible),
    ("chart.yaml", Code::ArchiveInvalid),
    ("does not appear to be a gzipped archive", Code::ArchiveInvalid),
    ("found in chart.yaml, but missing in charts", Code::ArchiveInvalid),
    ("cannot unmarshal", Code::InvalidConfig),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_helm_says() {
        check(
            "Error: Kubernetes cluster unreachable: Get \"https://a\": dial tcp: connect: connection refused",
            Code::EngineUnavailable,
        );
        check(
            "Error: values don't meet the specifications of the schema(s) in the following chart(s):\nhello:\n- port: Invalid type",
            Code::InvalidConfig,
        );
        check("Error: template: hello/templates/d.yaml:3:4: executing", Code::InvalidConfig);
        check(
            "Error: UPGRADE FAILED: pre-upgrade hooks failed: job failed: BackoffLimitExceeded",
            Code::Exited,
        );
        check(
            "Error: failed pre-install: 1 error occurred: job x failed: BackoffLimitExceeded",
            Code::Exited,
        );
        check("Error: failed post-install: timed out waiting for it", Code::ComponentTimeout);
        check(
            "Error: INSTALLATION FAILED: admission webhook \"x\" denied the request: no",
            Code::InvalidConfig,
        );
        check(
            "Error: Internal error occurred: failed calling webhook \"x\": Post \"https://x\": dial tcp: connection refused",
            Code::EngineError,
        );
        check("Error: pods is forbidden: exceeded quota: q", Code::EngineError);
        check("Error: secrets is forbidden: User \"x\" cannot list resource", Code::EngineError);
        check(
            "Error: chart requires kubeVersion: >=1.99.0 which is incompatible",
            Code::NotEligible,
        );
        check("Error: something else", Code::EngineError);
    }

    #[test]
    fn warnings_before_the_error_are_left_out() {
        let failure = failure("install it", "W1118 deprecated\nError: no\u{1b}[2K luck\n");
        assert_eq!(failure.message, "could not install it: no [2K luck");
    }

    #[track_caller]
    fn check(printed: &str, expected: Code) {
        assert_eq!(failure("install it", printed).code, expected, "{printed}");
    }
}
