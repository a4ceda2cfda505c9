//! The hosted repository with the real `git` program.

use std::path::{Path, PathBuf};
use std::process::Output;

use tokio::process::Command;

use crate::support::Hub;

#[tokio::test]
async fn git_clones_and_pushes_with_a_token_and_nobody_without() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let url = hub.client.repo().await.expect("where it is");
    assert!(url.hosted);

    let anonymous = command(dir.path(), &hub, &["ls-remote", &url.url]).await;
    assert!(!anonymous.status.success());
    let work = clone(&hub, dir.path()).await;
    std::fs::write(work.join("README.md"), "ours\n").expect("a file");
    git(&work, &["add", "."]).await;
    git(&work, &["commit", "-qm", "a file of ours"]).await;
    git(&work, &["push", "-q"]).await;

    let event = hub.event("pushed", 0).await;
    assert_eq!((event.actor.as_str(), event.kind.as_str()), ("admin", "pushed"));
    hub.stop().await;
}

#[tokio::test]
async fn the_lock_of_a_push_that_was_killed_stops_nobody() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let work = clone(&hub, dir.path()).await;
    let lock = dir.path().join("central/deployments.git/refs/heads/main.lock");
    for (name, text) in [("one", "by a push"), ("two", "by the next push")] {
        std::fs::write(&lock, "").expect("a lock that stays");
        std::fs::write(work.join(name), text).expect("a file");
        git(&work, &["add", "."]).await;
        git(&work, &["commit", "-qm", name]).await;
        git(&work, &["push", "-q"]).await;
        assert!(!lock.exists());
    }
    hub.stop().await;
}

/// Clones with the operator's token, as `colony repo clone` does.
pub(crate) async fn clone(hub: &Hub, dir: &Path) -> PathBuf {
    let url = hub.url.replace("https://", &format!("https://me:{}@", hub.token()));
    let url = format!("{url}/git/deployments.git");
    let output = command(dir, hub, &["clone", "-q", &url, "work"]).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let work = dir.join("work");
    let ca = hub.dir.join("central/ca/ca.pem").display().to_string();
    git(&work, &["config", "http.sslCAInfo", &ca]).await;
    work
}

pub(crate) async fn git(dir: &Path, arguments: &[&str]) {
    let who = ["-c", "user.name=me", "-c", "user.email=me@test"];
    let output = scrubbed(dir).args(who).args(arguments).output().await;
    let output = output.expect("git is there: apt-get install git");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

async fn command(dir: &Path, hub: &Hub, arguments: &[&str]) -> Output {
    let ca = format!("http.sslCAInfo={}", hub.dir.join("central/ca/ca.pem").display());
    let output = scrubbed(dir).args(["-c", &ca]).args(arguments).output().await;
    output.expect("git is there: apt-get install git")
}

/// Git must not hear of this machine's own settings.
fn scrubbed(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir).env("GIT_TERMINAL_PROMPT", "0").env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("HOME", dir).env_remove("GIT_SSL_CAINFO").env_remove("GIT_SSL_NO_VERIFY");
    command
}
