//! A node loses its power and comes back without a network: nothing runs, and
//! nothing is left but its disk. What it had accepted runs again.

use serde_json::Value;

use crate::bed::{Bed, KEPT};
use crate::engines::Engine;
use crate::kit::wait;

#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_with_podman_reboots_without_a_network() {
    reboot(Engine::podman());
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_with_docker_reboots_without_a_network() {
    reboot(Engine::docker());
}

fn reboot(engine: Engine) {
    let mut bed = Bed::ready(engine, "reboot without network", "node");
    bed.everything_stops();
    // The site is not to be reached: its orchestrator is away.
    bed.fleet.process("home").kill();
    bed.fleet.process("home/n1").kill();
    bed.faults(1);
    stop_all(&bed);
    bed.ask("home");
    let engine = bed.fleet.engine.as_mut().unwrap();
    engine.stop();
    engine.start_again();
    bed.over();
    bed.restart("home/n1");
    bed.all_run_again(1);
    bed.restart("home");
    bed.install("job");
    bed.end(&["job", KEPT]);
}

/// As a power cut does, in no order.
pub(crate) fn stop_all(bed: &Bed) {
    let engine = bed.fleet.engine.as_ref().unwrap();
    let running = || {
        let all = engine.ask("GET", "/containers/json");
        let id = |it: &Value| it["Id"].as_str().unwrap().to_owned();
        all.as_array().unwrap().iter().map(id).collect::<Vec<String>>()
    };
    for id in running() {
        engine.ask("POST", &format!("/containers/{id}/kill"));
    }
    wait("the containers to end", || running().is_empty().then_some(()));
}
