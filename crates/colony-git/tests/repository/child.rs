//! A reader and a writer in a process with an environment of its own.
//!
//! Programs look for authorities, keys and other programs in their environment,
//! and no test may change that of the others.

use std::path::Path;
use std::process::Command;

use colony_git::{Auth, Deployments, Error, Remote, Secret, Watch};

use crate::kit::{batch, edit};

/// What a child of this program is to try.
pub(crate) struct Child<'a> {
    pub(crate) url: &'a str,
    /// Otherwise it comes with whatever ssh finds.
    pub(crate) token: Option<&'a str>,
    /// Its environment beside ours.
    pub(crate) variables: Vec<(&'a str, String)>,
}

impl Child<'_> {
    /// What became of a fetch and of a write, a line each. Copies are in `dir`.
    pub(crate) fn run(&self, dir: &Path) -> String {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "child::as_child", "--ignored", "--nocapture"]);
        command.env("COLONY_TEST_URL", self.url).env("COLONY_TEST_DIR", dir);
        command.env("COLONY_TEST_TOKEN", self.token.unwrap_or_default());
        command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR").env_remove("SSH_AUTH_SOCK");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let output = command.output().expect("this program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let told = |it: &&str| it.starts_with("fetch: ") || it.starts_with("write: ");
        text.lines().filter(told).collect::<Vec<_>>().join("\n")
    }
}

#[test]
#[ignore = "other tests run it, with an environment"]
fn as_child() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (url, token) = (variable("COLONY_TEST_URL"), variable("COLONY_TEST_TOKEN"));
    if url.is_empty() {
        return;
    }
    let auth = if token.is_empty() { Auth::Ssh } else { Auth::Token(Secret::new(token)) };
    let (dir, remote) = (variable("COLONY_TEST_DIR"), Remote { url, auth });
    let dir = Path::new(&dir);
    let watch = Watch::open(&dir.join("watch"), remote.clone(), "main").expect("opens");
    // The harness begins a line of its own.
    println!("\nfetch: {}", result_text(watch.fetch().map(|_| ())));
    let repo = Deployments::remote(&dir.join("repo"), remote, "main").expect("opens");
    println!(
        "write: {}",
        result_text(repo.write(&batch(vec![edit("x", None, Some("y\n"))])).map(|_| ()))
    );
}

fn result_text(result: Result<(), Error>) -> String {
    match result {
        Ok(()) => "ok".to_owned(),
        Err(error @ Error::Refused { .. }) => format!("refused: {error}"),
        Err(error) => format!("failed: {error}"),
    }
}
