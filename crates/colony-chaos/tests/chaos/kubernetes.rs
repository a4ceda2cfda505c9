//! Faults while Helm works on a cluster. A release is updated in place, by a
//! program beside the node.
//!
//! Without the programs of Kubernetes these tests print that they did not run.

use std::process::Command;

use crate::bed::{Bed, KEPT};
use crate::engines::Engine;
use crate::hang::running;
use crate::kit::wait;
use crate::outside::until_not_ready;
use crate::rollout::{has, kill, update};
use crate::stop::send;

const NODE: &str = "home/n1";

/// Pods do not need it, and what Helm had begun is continued.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn api_server_is_gone_during_a_deployment() {
    let Some(engine) = Engine::kubernetes() else { return };
    let mut bed = Bed::ready(engine, "engine gone", "kubernetes");
    assert_eq!(bed.deploy("job"), 0);
    until_helm_works(&bed);
    bed.fleet.engine.as_mut().unwrap().stop();
    bed.faults(1);
    bed.why("job", "");
    until_not_ready(&bed);
    bed.why("job", "");
    bed.over();
    bed.fleet.engine.as_mut().unwrap().start_again();
    bed.end(&["job", KEPT]);
}

/// First alone, and Helm ends its work; then with Helm, as a service manager
/// does it, and a release is left that Helm refuses to continue.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_dies_during_a_helm_upgrade() {
    let Some(engine) = Engine::kubernetes() else { return };
    let mut bed = Bed::ready(engine, "kill -9 in an update", "node");
    bed.install("job");

    update(&bed, "1.1", &[]);
    until_helm_works(&bed);
    kill(&mut bed, NODE);
    bed.why("job", NODE);
    bed.restart(NODE);
    bed.fleet.see("job", |it| has(it, "1.1"));

    update(&bed, "1.0", &[]);
    let helm = until_helm_works(&bed);
    until_a_record_is_pending(&bed, helm);
    send(helm, "KILL");
    kill(&mut bed, NODE);
    bed.why("job", NODE);
    bed.over();
    bed.restart(NODE);
    bed.fleet.see("job", |it| has(it, "1.0"));
    assert!(!is_pending(&bed), "the release is whole");
    bed.end(&["job", KEPT]);
}

/// `helm upgrade --install` of the node of this fleet.
#[track_caller]
fn until_helm_works(bed: &Bed) -> u32 {
    let folder = bed.fleet.path().display().to_string();
    wait("helm upgrade", || running(&["helm", "--install", &folder]).next())
}

/// Helm stands still once it has noted what it does. Until then it runs for
/// some milliseconds between two looks.
#[track_caller]
fn until_a_record_is_pending(bed: &Bed, helm: u32) {
    send(helm, "STOP");
    let step = format!("kill -CONT {helm} && sleep 0.005; kill -STOP {helm}");
    while !is_pending(bed) {
        let stepped = Command::new("bash").args(["-c", &step]).status().unwrap();
        assert!(stepped.success(), "Helm ended before it was cut");
    }
}

fn is_pending(bed: &Bed) -> bool {
    let cluster = bed.fleet.engine.as_ref().and_then(Engine::cluster).unwrap();
    let records = ["get", "secrets", "-A", "-l", "owner=helm,status=pending-upgrade", "-o", "name"];
    !cluster.kubectl(&records).is_empty()
}
