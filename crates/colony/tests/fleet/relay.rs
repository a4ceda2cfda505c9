//! What only a node knows of the moment reaches the operator: whether it can do
//! its job, and how far images are.

use serde_json::Value;

use crate::engines::Engine;
use crate::kit::{Fleet, Shop, wait};

#[test]
fn engine_that_ends_is_said_of_its_node() {
    let mut fleet = Fleet::small();
    let node = |fleet: &Fleet| fleet.json(["node", "show", "home/n1"]);
    wait("a node that is well", || Some(()).filter(|()| node(&fleet)["ready"] == true));

    fleet.engine.as_mut().unwrap().stop();

    let sick = wait("a node that is not", || Some(node(&fleet)).filter(|it| it["ready"] == false));
    let reason = sick["reasons"][0].as_str().unwrap();
    assert!(reason.contains("the container engine does not answer"), "{sick:#}");
    fleet.colony(["status"]).says("home/n1").says("not ready: the container engine");
    fleet.colony(["node", "list"]).ok().says("not ready: the container engine");
}

#[test]
fn slow_pull_is_seen_from_above() {
    // Podman 4.3 counts bytes only where its own settings let it pull.
    let fleet = Fleet::central(&[]).with_node_on(Engine::podman_without_tls());
    let shop = Shop::open();
    shop.put("pump", "1.0", &Shop::good()).serve(&fleet);
    shop.gate.narrow(true);

    fleet.colony(["deploy", "pump", "--yes"]).ok();

    let counted = |it: &Value| {
        let progress = it["sites"][0]["placements"][0]["progress"].as_str().unwrap_or_default();
        progress.starts_with("pulling ") && progress.contains(" of ")
    };
    let pulling = fleet.see("pump", counted);
    assert_eq!(pulling["sites"][0]["placements"][0]["state"], "INSTALLING", "{pulling:#}");
    shop.gate.narrow(false);
    fleet.colony(["deployment", "show", "pump", "--watch"]).ok();
    let done = fleet.see("pump", |it| it["outcome"] == "installed");
    assert_eq!(done["sites"][0]["placements"][0]["progress"], Value::Null, "{done:#}");
}
