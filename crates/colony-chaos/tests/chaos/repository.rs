//! The deployments repository is somebody else's, and they do as they like.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::bed::{Bed, KEPT};
use crate::engines::Engine;
use crate::kit::{Fleet, git, wait};

/// A history that was rewritten is held until a person accepts it.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn history_is_rewritten() {
    let (mut bed, remote) = bed("history rewritten");
    let clone = remote.clone();
    git(&clone, &["commit", "-q", "--amend", "-m", "Another past"]);
    git(&clone, &["push", "-q", "--force"]);
    bed.faults(1);
    assert_eq!(bed.deploy("job"), 0);
    let held = || {
        let why = bed.fleet.colony(["why", "--site", "home"]);
        why.out.contains("rewritten").then_some(())
    };
    wait("the history to be held", held);
    bed.why("job", "");
    bed.over();
    bed.fleet.colony(["release", "--site", "home", "--what", "history"]).ok();
    bed.end(&["job", KEPT]);
}

/// Somebody writes the same file while Git does not answer the fleet: what
/// they wrote is not overwritten, and the operator is told.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn hand_edit_conflicts() {
    let (mut bed, remote) = bed("hand edit conflicts");
    bed.install("job");
    fs::rename(&remote.path, remote.away()).unwrap();
    bed.faults(1);
    let update =
        ["deploy", "hello", "--name", "job", "--version", "1.1", "--site", "home", "--yes"];
    bed.fleet.colony(update).ok();
    bed.why("job", "");
    let clone = remote.clone_from(&remote.away());
    let file = clone.join("deployments/home/job.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}# by hand\n")).unwrap();
    git(&clone, &["commit", "-q", "-a", "-m", "By hand"]);
    git(&clone, &["push", "-q"]);
    bed.over();
    fs::rename(remote.away(), &remote.path).unwrap();
    let told = |it: &Value| !it["sites"][0]["conflict"].is_null();
    bed.fleet.see("job", told);
    bed.fleet.colony(update).ok();
    bed.fleet.see("job", |it| it["sites"][0]["placements"][0]["version"] == "1.1");
    bed.end(&["job", KEPT]);
}

struct Remote {
    path: PathBuf,
    folder: TempDir,
}

impl Remote {
    fn away(&self) -> PathBuf {
        self.folder.path().join("away.git")
    }

    fn clone(&self) -> PathBuf {
        self.clone_from(&self.path)
    }

    fn clone_from(&self, path: &Path) -> PathBuf {
        git(self.folder.path(), &["clone", "-q", path.to_str().unwrap(), "by-hand"]);
        self.folder.path().join("by-hand")
    }
}

fn bed(fault: &str) -> (Bed, Remote) {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "-q", "--bare", "-b", "main", "fleet.git"]);
    let path = folder.path().join("fleet.git");
    let fleet = Fleet::central(&["--git", path.to_str().unwrap()]);
    let fleet = fleet.with_node_on(Engine::podman());
    (Bed::prepared(fleet, fault, "git"), Remote { path, folder })
}
