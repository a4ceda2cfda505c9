//! The database of the central orchestrator is down for a while.

use crate::kit::{Fleet, Postgres, wait};

#[test]
fn database_down() {
    let mut database = Postgres::start();
    let fleet = Fleet::central(&["--database", &database.url()]).with_node();
    fleet.hello_installs();
    let containers = fleet.containers();

    database.stop();

    let deploy = ["deploy", "hello", "--version", "1.1", "--yes"];
    fleet.colony(deploy).ends(1).says("database");
    let (status, reasons) = wait("readyz", || Some(fleet.get("/readyz")).filter(|it| it.0 == 503));
    assert!(reasons.contains("database"), "{status} {reasons}");
    assert_eq!(fleet.get("/healthz").0, 200);
    // What happens at the site meanwhile is told later.
    fleet.engine.as_ref().unwrap().ask("POST", &format!("/containers/{}/kill", first(&containers)));
    wait("the container to be repaired", || Some(()).filter(|()| is_repaired(&fleet, &containers)));

    database.start_again();

    wait("readyz", || Some(()).filter(|()| fleet.get("/readyz").0 == 200));
    fleet
        .colony(["deploy", "hello", "--version", "1.1", "--watch", "--yes"])
        .ok()
        .says("INSTALLED 1.1");
    fleet.colony(["deployment", "history", "hello"]).ok().says("1.0").says("1.1");
}

fn first(containers: &std::collections::BTreeMap<String, String>) -> &str {
    containers.keys().next().unwrap()
}

/// Another container runs, or the same one since another time.
fn is_repaired(fleet: &Fleet, before: &std::collections::BTreeMap<String, String>) -> bool {
    let running = fleet.engine.as_ref().unwrap().ask("GET", "/containers/json");
    running.as_array().unwrap().len() == 1 && fleet.containers() != *before
}
