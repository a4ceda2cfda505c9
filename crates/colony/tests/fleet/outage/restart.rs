//! Every role is killed in turn; what runs is not touched by it.

use crate::kit::{Fleet, wait};

#[test]
fn killed_roles_come_back_and_no_container_restarts() {
    let mut fleet = Fleet::small();
    fleet.hello_installs();
    let containers = fleet.containers();

    for part in ["central", "home", "home/n1"] {
        fleet.process(part).kill();
        fleet.process(part).restart();
    }
    wait("central", || Some(()).filter(|()| fleet.colony(["status"]).code == 0));
    let name = "second";
    let deploy = ["deploy", "hello", "--name", name, "--version", "1.1", "--watch", "--yes"];
    fleet.colony(deploy).ok().says("INSTALLED 1.1");

    let after = fleet.containers();
    assert_eq!(after.len(), 2, "{after:?}");
    assert!(containers.iter().all(|it| after.get(it.0) == Some(it.1)), "{containers:?} {after:?}");
}

/// The kill comes between the order and its end.
#[test]
fn a_role_killed_in_the_middle_of_a_deployment_finishes_it() {
    let mut fleet = Fleet::small();
    fleet.hello_installs();
    let containers = fleet.containers();
    for (part, name) in [("central", "a"), ("home", "b"), ("home/n1", "c")] {
        fleet.colony(["deploy", "hello", "--name", name, "--version", "1.1", "--yes"]).ok();
        fleet.process(part).kill();
        fleet.process(part).restart();
        let view = fleet.see(name, |it| it["outcome"] == "installed");
        assert_eq!(view["sites"][0]["placements"][0]["version"], "1.1", "{view:#}");
    }
    let after = fleet.containers();
    assert_eq!(after.len(), 4, "{after:?}");
    assert!(containers.iter().all(|it| after.get(it.0) == Some(it.1)), "{containers:?} {after:?}");
}
