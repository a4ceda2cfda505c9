//! The drill: a backup, more that happens, a restore; no workload is touched.

use crate::kit::{Fleet, wait};

#[test]
fn a_restored_centre_is_filled_up_by_its_sites() {
    let mut fleet = Fleet::small();
    fleet.hello_installs();
    let file = fleet.path().join("fleet.tar").display().to_string();
    let data = fleet.path().join("central").display().to_string();
    fleet.colony(["--data", &data, "central", "backup", &file]).ok().says("saved to");

    // Events the backup does not have, and no commit.
    fleet.process("home/n1").kill();
    wait("the loss", || Some(()).filter(|()| fleet.presence("home/n1") == "offline"));
    fleet.process("home/n1").restart();
    wait("the return", || Some(()).filter(|()| fleet.presence("home/n1") == "online"));
    let (containers, told) = (fleet.containers(), presences(&fleet));
    fleet.process("central").kill();
    std::fs::remove_dir_all(fleet.path().join("central/central")).unwrap();

    fleet.colony(["--data", &data, "central", "restore", &file]).ok().says("restored to");
    fleet.process("central").restart();

    wait("the gap to be filled", || Some(()).filter(|()| presences(&fleet) == told));
    let view = fleet.see("hello", |it| it["outcome"] == "installed");
    assert_eq!(view["sites"][0]["placements"][0]["attempt"], 1, "{view:#}");
    assert_eq!(fleet.containers(), containers, "a workload was touched");
    let update = ["deploy", "hello", "--version", "1.1", "--site", "home", "--watch", "--yes"];
    fleet.colony(update).ok().says("INSTALLED 1.1");
}

/// The presence of the node as central knows it, in order.
fn presences(fleet: &Fleet) -> Vec<String> {
    let said = fleet.colony(["event", "--last", "100", "--kind", "node_presence", "-o", "json"]);
    if said.code != 0 {
        return Vec::new();
    }
    let events = said.json()["events"].as_array().cloned().unwrap_or_default();
    events.iter().map(|it| it["sentence"].as_str().unwrap().to_owned()).collect()
}
