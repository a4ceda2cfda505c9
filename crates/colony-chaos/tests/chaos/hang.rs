//! What the roles stand on hangs: its connections are open and nobody answers,
//! which is worse than if it were gone.

use std::fs;

use crate::bed::{Bed, KEPT};
use crate::engines::Engine;
use crate::kit::{Fleet, Postgres, wait};
use crate::stop::send;

#[test]
#[ignore = "takes long; make chaos runs it"]
fn docker_hangs() {
    engine_hangs(Engine::docker(), "docker");
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn podman_hangs() {
    engine_hangs(Engine::podman(), "podman");
}

/// The node says so, and what runs is not touched when the engine goes on.
#[track_caller]
fn engine_hangs(engine: Engine, role: &str) {
    let mut bed = Bed::ready(engine, "engine hangs", role);
    let socket = bed.fleet.engine.as_ref().unwrap().socket.display().to_string();
    let engine = one(&with(&format!("unix://{socket}")));
    send(engine, "STOP");
    bed.faults(1);
    assert_eq!(bed.deploy("job"), 0);
    bed.known("job");
    bed.why("job", "");
    let ready = |bed: &Bed| bed.fleet.json(["node", "show", "home/n1"])["ready"].clone();
    wait("the node to say so", || Some(()).filter(|()| ready(&bed) == false));
    bed.why("job", "");
    bed.over();
    send(engine, "CONT");
    bed.end(&["job", KEPT]);
}

/// The central orchestrator does not say that it is ready, nothing counts as
/// accepted, and the site works on.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn database_hangs() {
    let database = Postgres::start();
    let url = database.url();
    let fleet = Fleet::central(&["--database", &url]).with_node_on(Engine::podman());
    let mut bed = Bed::prepared(fleet, "database hangs", "central");
    bed.install("job");
    bed.fresh();
    let folder = url.rsplit_once('@').unwrap().1.replace("%2F", "/").replace("/postgres", "");
    let server = one(&with(&format!("{folder}/data")));
    let all = [vec![server], children(server)].concat();
    all.iter().for_each(|it| send(*it, "STOP"));
    bed.faults(1);
    wait("the orchestrator to say so", || Some(()).filter(|()| bed.fleet.get("/readyz").0 != 200));
    bed.work_at_site();
    bed.ask("central");
    bed.over();
    all.iter().for_each(|it| send(*it, "CONT"));
    wait("readiness", || Some(()).filter(|()| bed.fleet.get("/readyz").0 == 200));
    bed.install("second");
    bed.end(&["job", "second", KEPT]);
}

/// Whether there is a process with all of this in its command.
pub(crate) fn is_running(words: &[&str]) -> bool {
    running(words).next().is_some()
}

/// The processes with all of this in their command.
pub(crate) fn running(words: &[&str]) -> impl Iterator<Item = u32> {
    processes().filter(|it| words.iter().all(|word| line(*it).contains(word)))
}

/// Processes that have the text in their command, and are no child of another
/// one that has.
fn with(text: &str) -> Vec<u32> {
    let found: Vec<u32> = processes().filter(|it| line(*it).contains(text)).collect();
    let own = std::process::id();
    found.iter().copied().filter(|it| !found.contains(&parent(*it)) && *it != own).collect()
}

fn one(found: &[u32]) -> u32 {
    assert_eq!(found.len(), 1, "not one process: {found:?}");
    found[0]
}

fn children(process: u32) -> Vec<u32> {
    processes().filter(|it| parent(*it) == process).collect()
}

fn processes() -> impl Iterator<Item = u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|it| it.file_name().to_str()?.parse().ok())
}

/// The command a process was started with.
fn line(process: u32) -> String {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).into_owned()
}

fn parent(process: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("PPid:"));
    line.and_then(|it| it.trim().parse().ok()).unwrap_or(0)
}
