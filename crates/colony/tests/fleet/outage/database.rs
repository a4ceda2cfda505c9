//! The database of the central orchestrator is down for a while.

use crate::kit::{Fleet, Postgres, wait};
use crate::replay::replayed;

#[test]
fn database_down() {
    let mut database = Postgres::start();
    let fleet = Fleet::central(&["--database", &database.url()]).with_node();
    fleet.hello_installs();

    database.stop();

    let deploy = ["deploy", "hello", "--version", "1.1", "--yes"];
    fleet
        .colony(deploy)
        .ends(1)
        .says("the database does not answer or refuses; nothing was changed");
    let (_, reasons) = wait("readyz", || Some(fleet.get("/readyz")).filter(|it| it.0 == 503));
    assert!(reasons.contains("database"), "{reasons}");
    assert_eq!(fleet.get("/healthz").0, 200);
    something_happens(&fleet);

    database.start_again();

    wait("readyz", || Some(()).filter(|()| fleet.get("/readyz").0 == 200));
    let deploy = ["deploy", "hello", "--version", "1.1", "--watch", "--yes"];
    fleet.colony(deploy).ok().says("INSTALLED 1.1");
    fleet.colony(["deployment", "history", "hello"]).ok().says("1.0").says("1.1");
    // The log is whole, with what happened while no orchestrator could store it.
    fleet.colony(["event", "--node", "home/n1", "--last", "50"]).ok().says("gets nothing new");
    replayed(&fleet.json(["event", "--last", "1000"]));
}

/// The site goes on and writes its log, without the central orchestrator.
fn something_happens(fleet: &Fleet) {
    let socket = fleet.path().join("home/local/local.sock");
    let socket = socket.to_str().unwrap();
    fleet.colony(["node", "cordon", "home/n1", "--socket", socket]).ok();
    let show = ["node", "show", "home/n1", "--socket", socket];
    wait("the cordon", || Some(fleet.json(show)).filter(|it| it["cordoned"] == true));
    fleet.colony(["node", "uncordon", "home/n1", "--socket", socket]).ok();
}
