//! The deployments repository belongs to another server, and is away for a while.

use std::fs;

use crate::kit::{Fleet, git, wait};

#[test]
fn git_down() {
    let folder = tempfile::tempdir().unwrap();
    let (here, away) = (folder.path().join("fleet.git"), folder.path().join("away"));
    git(folder.path(), &["init", "-q", "--bare", "-b", "main", "fleet.git"]);
    let fleet = Fleet::central(&["--git", here.to_str().unwrap()]).with_node();
    fleet.hello_installs();
    let before = git(&here, &["rev-parse", "main"]);
    let containers = fleet.containers();

    fs::rename(&here, &away).unwrap();
    fleet.colony(["deploy", "hello", "--name", "second", "--version", "1.1", "--yes"]).ok();

    // Taken, shown as not committed, and said why.
    let open = fleet.see("second", |it| it["outcome"] == "in-progress");
    assert_eq!(open["sites"][0]["status"], "PENDING", "{open:#}");
    let why = || fleet.colony(["why", "second"]).ok();
    wait("a reason", || {
        Some(why()).filter(|it| {
            it.out.contains("the commit is tried again") && it.out.contains("fleet.git")
        })
    });
    assert_eq!(committed(&fleet, "second"), 0);
    assert_eq!(fleet.get("/healthz").0, 200);
    assert_eq!(fleet.containers(), containers);

    fs::rename(&away, &here).unwrap();
    fleet.see("second", |it| it["outcome"] == "installed");
    assert_eq!(committed(&fleet, "second"), 1);
    // What was there is below, and one commit came.
    let count = git(&here, &["rev-list", "--count", &format!("{before}..main")]);
    assert_eq!(count, "1");
}

fn committed(fleet: &Fleet, deployment: &str) -> usize {
    let history = fleet.colony(["deployment", "history", deployment, "-o", "json"]);
    let entries = if history.code == 0 { history.json()["entries"].clone() } else { return 0 };
    entries.as_array().map_or(0, Vec::len)
}
