//! A role stands still and goes on later, as a machine does that swaps or is
//! suspended. Who is not heard is noticed, and nothing is restarted for it.

use std::process::Command;

use serde_json::Value;

use crate::bed::{Bed, KEPT};
use crate::engines::Engine;
use crate::kit::{Process, wait};

#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_stands_still() {
    let mut bed = Bed::ready(Engine::docker(), "SIGSTOP", "node");
    signal(bed.fleet.process("home/n1"), "STOP");
    bed.faults(1);
    let offline = || Some(()).filter(|()| bed.fleet.presence("home/n1") == "offline");
    wait("the loss of the node to be noticed", offline);
    assert_eq!(bed.deploy("job"), 0);
    bed.known("job");
    bed.why("job", "home/n1");
    bed.over();
    signal(bed.fleet.process("home/n1"), "CONT");
    bed.end(&["job", KEPT]);
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn site_stands_still() {
    let mut bed = Bed::ready(Engine::podman(), "SIGSTOP", "local");
    signal(bed.fleet.process("home"), "STOP");
    bed.faults(1);
    assert_eq!(bed.deploy("job"), 0);
    bed.why("job", "home");
    let silent = |it: &Value| it["state"] != "ready";
    let site = || Some(bed.fleet.json(["site", "show", "home"])).filter(silent);
    println!("{:#}", wait("the silence of the site to be noticed", site));
    bed.why("job", "home");
    bed.over();
    signal(bed.fleet.process("home"), "CONT");
    bed.end(&["job", KEPT]);
}

/// The site repairs what breaks while nobody above listens.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn central_stands_still() {
    let mut bed = Bed::ready(Engine::podman(), "SIGSTOP", "central");
    bed.install("job");
    bed.fresh();
    signal(bed.fleet.process("central"), "STOP");
    bed.faults(1);
    bed.work_at_site();
    bed.ask("central");
    bed.over();
    signal(bed.fleet.process("central"), "CONT");
    bed.end(&["job", KEPT]);
}

fn signal(process: &Process, name: &str) {
    send(process.id(), name);
}

/// Sends a signal to a process of this test.
pub(crate) fn send(process: u32, name: &str) {
    let signal = format!("-{name}");
    let sent = Command::new("kill").args([&signal, &process.to_string()]).status();
    assert!(sent.unwrap().success());
}
