//! An author writes bad files to the deployments repository with git.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::kit::{Fleet, git, wait};

#[test]
fn broken_yaml_committed_by_hand() {
    let fleet = Fleet::small();
    fleet.hello_installs();
    let containers = fleet.containers();
    let clone = fleet.path().join("clone");
    fleet.colony(["repo", "clone", clone.to_str().unwrap()]).ok();
    let file = clone.join("deployments/home/hello.yaml");
    let good = fs::read_to_string(&file).unwrap();

    fs::write(&file, good.replacen("spec:", "spec: [", 1)).unwrap();
    push(&clone, "Break it");

    let findings =
        |it: &Value| it["sites"][0]["findings"].as_array().is_some_and(|it| !it.is_empty());
    let view = fleet.see("hello", findings);
    let finding = &view["sites"][0]["findings"][0];
    let line = 1 + good.lines().position(|it| it.starts_with("spec:")).unwrap();
    assert_eq!(finding["file"], "deployments/home/hello.yaml", "{finding:#}");
    assert!(finding["line"].as_u64().unwrap() >= line as u64, "{finding:#}");
    assert!(finding["column"].as_u64().unwrap() >= 1, "{finding:#}");
    let shown = fleet.colony(["deployment", "show", "hello"]);
    shown.says(&format!("deployments/home/hello.yaml:{}:{}", finding["line"], finding["column"]));

    // What runs goes on, and others are not held up.
    assert_eq!(fleet.containers(), containers);
    let other = ["deploy", "hello", "--name", "other", "--version", "1.1", "--watch", "--yes"];
    fleet.colony(other).ok().says("INSTALLED 1.1");
    push_over(&clone, &file, &good);
    wait("the finding to go", || {
        let view = fleet.json(["deployment", "show", "hello"]);
        Some(()).filter(|()| !findings(&view) && view["outcome"] == "installed")
    });
}

/// Repairs the file on top of what others committed meanwhile.
fn push_over(clone: &Path, file: &Path, text: &str) {
    git(clone, &["pull", "-q", "--rebase"]);
    fs::write(file, text).unwrap();
    push(clone, "Repair it");
}

fn push(clone: &Path, message: &str) {
    git(clone, &["commit", "-q", "-a", "-m", message]);
    git(clone, &["push", "-q"]);
}
