//! What was accepted is done, whatever breaks in between.

use std::path::{Path, PathBuf};
use std::process::Command;

use colony_api::view::Outcome;
use colony_central::GitConfig;
use colony_core::fleet::RollupStatus;
use http::Method;

use crate::support::Hub;

#[tokio::test]
async fn a_change_waits_for_git_over_a_restart_and_is_committed_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let git = remote(dir.path());
    let hub = with_git(dir.path(), &git).await;
    let mut lo = hub.site(&["a"]).await;
    let away = dir.path().join("away.git");
    std::fs::rename(&git, &away).expect("Git goes down");

    hub.deploy("1.0").await;
    unready(&hub).await;
    assert_eq!(hub.show().await.outcome, Outcome::InProgress);
    assert_eq!(hub.show().await.sites[0].status, RollupStatus::Pending);
    hub.stop().await;
    let kept = dir.path().join("kept.db");
    std::fs::copy(dir.path().join("central/central.db"), &kept).expect("a copy");
    std::fs::rename(&away, &git).expect("Git comes back");

    let hub = with_git(dir.path(), &git).await;
    hub.event("committed", 0).await;
    assert_eq!(commits(&git), 1);
    hub.stop().await;

    // The record of the push is lost; what is there counts as done.
    for name in ["central.db-wal", "central.db-shm"] {
        let _ = std::fs::remove_file(dir.path().join("central").join(name));
    }
    std::fs::copy(&kept, dir.path().join("central/central.db")).expect("a copy");
    let hub = with_git(dir.path(), &git).await;
    hub.event("committed", 0).await;
    assert_eq!(commits(&git), 1);
    lo.link = colony_wfm::Link::new(&hub.url, lo.tls.clone()).expect("a link");
    lo.follow().await;
    hub.check(&hub.end().await, Outcome::Installed, "INSTALLED 1.0");
    hub.stop().await;
}

#[tokio::test]
async fn a_batch_sent_again_after_a_restart_changes_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    let (view, head) = (hub.end().await, hub.head().await);
    hub.stop().await;

    let hub = Hub::start(dir.path()).await;
    lo.link = colony_wfm::Link::new(&hub.url, lo.tls.clone()).expect("a link");
    let next = lo.push_all().await;

    assert_eq!(next as usize, lo.plant.events.len() + 1);
    assert_eq!(hub.head().await, head);
    let mut again = hub.show().await;
    again.sites[0].silent_since = None;
    assert_eq!(again, view);
    hub.stop().await;
}

pub(crate) async fn with_git(dir: &Path, git: &Path) -> Hub {
    let url = git.display().to_string();
    Hub::with(dir, |config| config.git = Some(GitConfig::new(&url))).await
}

async fn unready(hub: &Hub) {
    for _ in 0..200 {
        let answer = hub.send(Method::GET, "/readyz", "").await;
        if answer.status == 503 {
            let text = String::from_utf8_lossy(&answer.body);
            assert!(text.starts_with(r#"{"ready":false,"reasons":["git: "#), "{text}");
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it stays ready without Git");
}

pub(crate) fn remote(dir: &Path) -> PathBuf {
    let path = dir.join("remote.git");
    let git = Command::new("git").args(["init", "-q", "--bare", "-b", "main"]).arg(&path).status();
    assert!(git.expect("git is there: apt-get install git").success());
    path
}

fn commits(git: &Path) -> usize {
    let log = ["log", "--oneline", "main", "--", "deployments"];
    let output = Command::new("git").arg("-C").arg(git).args(log).output();
    let output = output.expect("git is there: apt-get install git");
    String::from_utf8_lossy(&output.stdout).lines().count()
}
