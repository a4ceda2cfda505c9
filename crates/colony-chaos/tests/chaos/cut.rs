//! Packets are dropped between two parts that live on networks of their own.

use serde_json::Value;

use crate::bed::{Bed, KEPT};
use crate::engines::Engine;
use crate::hang::is_running;
use crate::kit::{Fleet, Shop, git, wait};
use crate::net::{GitServer, Net};

#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_is_cut_off_from_its_site() {
    let net = Net::lay();
    let mut bed = net.bed("packets dropped", "node – local");
    net.cut("home/n1", "home");
    bed.faults(1);
    assert_eq!(bed.deploy("job"), 0);
    bed.known("job");
    let offline = || Some(()).filter(|()| bed.fleet.presence("home/n1") == "offline");
    wait("the loss of the node to be noticed", offline);
    bed.why("job", "");
    bed.over();
    net.mend("home/n1");
    bed.end(&["job", KEPT]);
}

/// The site works on by itself.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn site_is_cut_off_from_the_fleet() {
    let net = Net::lay();
    let mut bed = net.bed("packets dropped", "local – central");
    bed.install("job");
    bed.fresh();
    net.cut("home", "central");
    bed.faults(1);
    assert_eq!(bed.deploy("second"), 0);
    bed.work_at_site();
    bed.why("second", "");
    bed.over();
    net.mend("home");
    bed.end(&["job", "second", KEPT]);
}

/// The node says which registry it cannot reach, and tries again by itself.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_is_cut_off_from_the_registry() {
    let net = Net::lay();
    let mut bed = net.bed("packets dropped", "node – registry");
    let mut shop = Shop::open();
    let inside = shop.gate.address.clone();
    // The node has to cross the network for the archive; the engine does not.
    let _inner = std::mem::replace(&mut shop.gate, net.gate_to(&inside));
    let outside = shop.gate.address.clone();
    let node = bed.fleet.process("home/n1");
    node.environment.push(("COLONY_NODE_INSECURE_REGISTRIES".to_owned(), outside));
    node.kill();
    bed.restart("home/n1");
    shop.put("pump", "1.0", &Shop::good().replace("SHOP", &inside)).serve(&bed.fleet);
    net.cut_from("home/n1", &net.server());
    bed.faults(1);
    bed.fleet.colony(["deploy", "pump", "--yes"]).ok();
    let code = |it: &Value| it["sites"][0]["placements"][0]["failure"]["code"].clone();
    bed.fleet.see("pump", |it| code(it) == "registry-unavailable");
    bed.why("pump", "");
    bed.over();
    net.mend("home/n1");
    bed.end(&["pump", KEPT]);
}

/// What was accepted is pushed when the server can be reached again, once.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn central_is_cut_off_from_the_git_server() {
    let net = Net::lay();
    let folder = tempfile::tempdir().unwrap();
    let server = GitServer::start(folder.path(), &net.server());
    let fleet = Fleet::central_with(net.places(), &["--git", &server.url]);
    let fleet = fleet.with_node_on(Engine::podman());
    let mut bed = Bed::prepared(fleet, "packets dropped", "central – git");
    net.cut_from("central", &net.server());
    bed.faults(1);
    assert_eq!(bed.deploy("job"), 0);
    wait("the push to hang", || is_running(&["push", &server.url]).then_some(()));
    bed.why("job", "");
    bed.over();
    net.mend("central");
    bed.end(&["job", KEPT]);
    let commits = git(&folder.path().join("fleet.git"), &["log", "--format=%s", "main"]);
    assert_eq!(commits.lines().filter(|it| it.contains("job")).count(), 1, "{commits}");
}
