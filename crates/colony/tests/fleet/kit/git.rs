//! The git program, as a person with a clone uses it.

use std::path::Path;
use std::process::Command;

/// Runs git in a folder and returns what it printed.
#[track_caller]
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    // What the machine says of certificates would hide what the clone says.
    git.env_remove("GIT_SSL_CAINFO").env("GIT_CONFIG_GLOBAL", "/dev/null");
    git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]);
    let output = git.args(arguments).current_dir(folder).output();
    let output = output.expect("git is missing: apt-get install -y git");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
