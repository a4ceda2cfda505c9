//! Questions, in the situations of a site and of a deployment.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{QUESTIONS, ask, check};
use crate::kit::{Fleet, git, wait};

const LOGS: &[&str] = &["logs", "hello", "--node", "home/n1"];

#[test]
fn central_and_site_answer_alike() {
    let mut fleet = Fleet::central(&[]).with_node();
    fleet.node("home", "n2");
    check(&fleet, "empty", &QUESTIONS[5..10]);
    fleet.hello_installs();
    check(&fleet, "installed", &QUESTIONS);
    check(&fleet, "installed", &[LOGS]);

    fleet.colony(["hold", "hello", "--site", "home", "--note", "audit"]).ok();
    fleet.colony(["deploy", "hello", "--version", "1.1", "--yes"]).ok();
    wait("the update to be held", || says(&fleet, "hold-deployment"));
    check(&fleet, "held", &QUESTIONS);

    fleet.colony(["release", "hello", "--site", "home"]).ok();
    fleet.see("hello", |it| it["outcome"] == "installed");
    check(&fleet, "updated", &QUESTIONS);

    fleet.colony(["deploy", "hello", "--version", "1.2-bad", "--watch", "--yes"]).ends(3);
    check(&fleet, "rolled back", &QUESTIONS);

    fleet.colony(["deploy", "hello", "--version", "1.0", "--watch", "--yes"]).ok();
    check(&fleet, "updated after a rollback", &QUESTIONS);
    // The site has forgotten the file; its clone of the repository has it.
    let shown = ask(&fleet, &["deployment", "show", "hello"], Some("home"));
    assert_eq!(shown["sites"][0]["quarantine"][0]["version"], "1.2-bad", "{shown:#}");

    fleet.process("home/n2").kill();
    wait("the node to be offline", || says(&fleet, "node-offline"));
    check(&fleet, "node offline", &QUESTIONS);

    fleet.colony(["deployment", "delete", "hello", "--yes"]).ok();
    wait("the removal to wait", || says(&fleet, "delete-waits-for-node"));
    // How many are deleted already, and by which commit, only central keeps.
    check(&fleet, "removal waits", &QUESTIONS[..11]);
}

#[test]
fn change_that_waits_for_its_time_reads_alike() {
    let mut fleet = Fleet::central(&[]).with_node();
    fleet.node("home", "n2");
    fleet.hello_installs();
    let clone = fleet.path().join("clone");
    fleet.colony(["repo", "clone", clone.to_str().unwrap()]).ok();
    write(&clone, "sites/home.yaml", &format!("maintenanceWindows:\n  - {}\n", window_ahead()));

    fleet.colony(["deploy", "hello", "--version", "1.1", "--yes"]).ok();

    wait("the window to be waited for", || says(&fleet, "window-closed"));
    check(&fleet, "outside its window", &QUESTIONS);
}

/// Opens in some hours, for an hour.
#[expect(clippy::disallowed_methods, reason = "the site reads the real clock")]
fn window_ahead() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let hour = |ahead: u64| (since.as_secs() / 3_600 + ahead) % 24;
    format!("{{from: '{:02}:00', to: '{:02}:00'}}", hour(6), hour(7))
}

fn write(clone: &Path, file: &str, text: &str) {
    let path = clone.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    git(clone, &["add", "-A"]);
    git(clone, &["commit", "-q", "-m", "By hand"]);
    git(clone, &["push", "-q"]);
}

fn says(fleet: &Fleet, cause: &str) -> Option<()> {
    let why = fleet.json(["why"]);
    let reasons = why["reasons"].as_array()?.clone();
    let names = |it: &Value| {
        let also = it["also"].as_array().into_iter().flatten().any(|it| it["cause"] == cause);
        it["cause"] == cause || also
    };
    reasons.iter().any(names).then_some(())
}
