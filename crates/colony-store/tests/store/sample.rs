//! Things to store, made by the real cores.

use colony_core::event::Event;
use colony_core::fleet::{Changed, Fleet, Row, RowKey};
use colony_core::id::SiteName;
use colony_core::margo::Digest;
use colony_core::time::Timestamp;
use colony_store::{Change, ChangeEdit, NewEvent, Package, Write};
use colony_testkit::{App, Plant};

pub(crate) fn home() -> SiteName {
    "home".parse().expect("a name")
}

/// A site on which something was installed, went wrong and was taken away.
pub(crate) fn plant() -> Plant {
    let mut plant = Plant::new();
    plant.join("a");
    plant.join("b");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("other", "1.0.0"));
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.report("a", "hello", "failed:COMPONENT_UNHEALTHY|GET / answers 500");
    plant.pass(300);
    plant.converge();
    plant.undeploy("other");
    plant.converge();
    plant
}

/// A fleet that has heard all of it, and the writes that say so.
pub(crate) fn fleet(plant: &Plant) -> (Fleet, Vec<Write>) {
    let mut fleet = Fleet::new();
    fleet.site_add(&home());
    fleet.join(&home(), Timestamp(0), false).expect("no orchestrator joined before");
    let changed = fleet.take_changed();
    let mut writes = vec![Write { rows: rows(&fleet, &changed), ..Write::default() }];
    for batch in plant.events.chunks(7) {
        let applied = fleet.apply(&home(), batch, plant.now.wall).expect("the log continues");
        let rows = rows(&fleet, &applied.changed);
        let events = applied.fresh.iter().zip(&applied.hashes).map(|(it, hash)| of(it, *hash));
        writes.push(Write { rows, events: events.collect(), ..Write::default() });
    }
    (fleet, writes)
}

fn rows(fleet: &Fleet, changed: &Changed) -> Vec<(RowKey, Option<Row>)> {
    changed.keys().map(|it| (it.clone(), fleet.row(it))).collect()
}

fn of(event: &Event, hash: Digest) -> NewEvent {
    NewEvent {
        site: Some(event.site.clone()),
        incarnation: Some(event.incarnation),
        seq: Some(event.seq),
        at: event.at,
        kind: "state_transition".to_owned(),
        deployment: Some("hello".to_owned()),
        node: None,
        actor: event.actor.to_string(),
        hash: Some(hash),
        body: serde_json::to_value(event).expect("an event is JSON"),
    }
}

/// An event of `site`'s log, or of CO itself without a number.
pub(crate) fn event(site: &str, seq: Option<u64>) -> NewEvent {
    let text = format!("{site}/{seq:?}");
    NewEvent {
        site: Some(site.parse().expect("a name")),
        incarnation: seq.map(|_| 0),
        seq,
        at: Timestamp(1_794_225_600_000),
        kind: "test".to_owned(),
        deployment: None,
        node: None,
        actor: "local".to_owned(),
        hash: seq.map(|_| Digest::of(text.as_bytes())),
        body: serde_json::json!({ "of": text }),
    }
}

pub(crate) fn change(id: &str) -> Change {
    let blob = "3f2a1c0000000000000000000000000000000000".parse().expect("a blob");
    let text = Some("id: ä\n\0".to_owned());
    let path = "deployments/home/hello.yaml".to_owned();
    Change {
        id: id.to_owned(),
        at: Timestamp(7),
        actor: "operator:ana".to_owned(),
        message: "Deploy hello 1.1".to_owned(),
        trailers: vec![("Colony-Actor".to_owned(), "ana".to_owned())],
        edits: vec![
            ChangeEdit { path: path.clone(), expected: Some(blob), text, only_with: None },
            ChangeEdit { path: path.clone(), expected: None, text: None, only_with: Some(path) },
        ],
    }
}

pub(crate) fn package(application: &str, version: &str) -> Package {
    let text = format!("id: {application}\nversion: {version}\n");
    Package {
        application: application.to_owned(),
        version: version.to_owned(),
        name: "Hello".to_owned(),
        registry: "main".to_owned(),
        path: "apps/hello".to_owned(),
        digest: Digest::of(text.as_bytes()),
        at: Timestamp(1),
        text,
    }
}
