//! What the roles stand on goes away and comes back: engine, registry,
//! database.

use colony_process::fail::Point;
use serde_json::{Value, json};

use crate::bed::{Bed, KEPT};
use crate::engines::Engine;
use crate::kit::{Fleet, Postgres, Shop, wait};
use crate::story::deploy::rounds;

/// Podman's containers do not need its service.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn podman_is_restarted() {
    is_restarted(Engine::podman());
}

/// Nor do those of containerd.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn containerd_is_restarted() {
    is_restarted(Engine::containerd());
}

#[track_caller]
fn is_restarted(engine: Engine) {
    let kind = engine.kind;
    let mut bed = Bed::ready(engine, "engine restarted", kind);
    bed.fleet.engine.as_mut().unwrap().stop();
    bed.faults(1);
    assert_eq!(bed.deploy("job"), 0);
    bed.why("job", "");
    bed.over();
    bed.fleet.engine.as_mut().unwrap().start_again();
    bed.end(&["job", KEPT]);
}

/// Docker stops its containers with itself: they are brought back.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn docker_is_restarted() {
    let mut bed = Bed::ready(Engine::docker(), "engine restarted", "docker");
    bed.everything_stops();
    bed.fleet.engine.as_mut().unwrap().stop();
    bed.faults(1);
    bed.ask("");
    bed.over();
    bed.fleet.engine.as_mut().unwrap().start_again();
    bed.all_run_again(2);
    bed.install("job");
    bed.all_run(3);
    bed.end(&["job", KEPT]);
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn podman_is_gone_for_a_while() {
    is_gone_for_a_while(Engine::podman());
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn containerd_is_gone_for_a_while() {
    is_gone_for_a_while(Engine::containerd());
}

#[track_caller]
fn is_gone_for_a_while(engine: Engine) {
    let kind = engine.kind;
    let mut bed = Bed::ready(engine, "engine gone", kind);
    bed.fleet.engine.as_mut().unwrap().stop();
    bed.faults(1);
    assert_eq!(bed.deploy("job"), 0);
    bed.known("job");
    bed.why("job", "");
    until_not_ready(&bed);
    bed.why("job", "");
    bed.over();
    bed.fleet.engine.as_mut().unwrap().start_again();
    bed.end(&["job", KEPT]);
}

/// The node says that its engine is gone.
#[track_caller]
pub(crate) fn until_not_ready(bed: &Bed) {
    let sick = |it: &Value| it["ready"] == false;
    let node = || Some(()).filter(|()| sick(&bed.fleet.json(["node", "show", "home/n1"])));
    wait("the node to say that its engine is gone", node);
}

/// The place is at fault, not the version: nothing is quarantined.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn registry_is_gone_for_a_while() {
    let mut bed = Bed::ready(Engine::podman(), "registry gone", "registry");
    let mut shop = Shop::open();
    shop.put("pump", "1.0", &Shop::good()).serve(&bed.fleet);
    shop.gate.shut();
    bed.faults(1);
    bed.fleet.colony(["deploy", "pump", "--yes"]).ok();
    let code = |it: &Value| it["sites"][0]["placements"][0]["failure"]["code"].clone();
    bed.fleet.see("pump", |it| code(it) == "registry-unavailable");
    bed.why("pump", "");
    bed.over();
    shop.gate.reopen();
    bed.installed("pump");
    assert_eq!(bed.fleet.json(["quarantine", "list"]), json!([]));
    bed.end(&["pump", KEPT]);
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn database_is_restarted() {
    let mut database = Postgres::start();
    let fleet = Fleet::central(&["--database", &database.url()]).with_node_on(Engine::podman());
    let mut bed = Bed::prepared(fleet, "database restarted", "central");
    bed.install("job");
    bed.fresh();
    database.stop();
    bed.faults(1);
    assert_ne!(bed.deploy("second"), 0, "accepted without being stored");
    bed.work_at_site();
    bed.ask("central");
    bed.over();
    database.start_again();
    wait("readiness", || Some(()).filter(|()| bed.fleet.get("/readyz").0 == 200));
    bed.install("second");
    bed.end(&["job", "second", KEPT]);
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn central_on_postgres_dies_in_a_transaction() {
    dies_on_postgres(Point::CentralCommitOpen);
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn central_on_postgres_dies_after_a_transaction() {
    dies_on_postgres(Point::CentralCommitDone);
}

/// The server ends what a dead client had begun.
#[track_caller]
fn dies_on_postgres(point: Point) {
    let database = Postgres::start();
    let fleet = Fleet::central(&["--database", &database.url()]).with_node_on(Engine::podman());
    rounds(Bed::prepared(fleet, "kill -9 on Postgres", "central"), point, &[1, 2, 3]);
}
