//! Workloads that do not do what they should.

use std::net::TcpListener;

use serde_json::Value;

use crate::kit::{Fleet, Shop, free_port, web};

#[test]
fn container_that_exits() {
    let bad = web(&["image: SHOP/busybox:1", "command: [sh, -c, 'echo no licence found; exit 3']"]);
    let (fleet, _shop) = rolled_back(&bad, "home/n1 exited (service `web` exited with code 3)");

    let logs = fleet.colony(["logs", "pump", "--node", "home/n1", "--previous"]);
    logs.ok().says("no licence found");
    fleet.hello_installs();
}

#[test]
fn health_check_that_never_passes() {
    let bad = web(&[
        "image: SHOP/busybox:1",
        "command: [sleep, '3600']",
        "healthcheck: {test: [CMD-SHELL, 'echo pressure too low; exit 1'], interval: 1s, retries: 2}",
    ]);
    let (fleet, _shop) =
        rolled_back(&bad, "home/n1 unhealthy (service `web`: pressure too low, 2×)");

    fleet.hello_installs();
}

#[test]
fn port_in_use() {
    let (fleet, shop) = (Fleet::small(), Shop::open());
    let port = free_port();
    let holder = TcpListener::bind(("0.0.0.0", port)).unwrap();
    let ports = format!("ports: ['{port}:80']");
    shop.put("pump", "1.0", &format!("{}    {ports}\n", Shop::good())).serve(&fleet);

    fleet.colony(["deploy", "pump", "--yes"]).ok();

    // The place is at fault, not the version: tried again, never condemned.
    let failed = fleet.see("pump", |it| code(it) == "port-in-use");
    let failure = &failed["sites"][0]["placements"][0]["failure"];
    assert!(failure["message"].as_str().unwrap().contains(&port.to_string()), "{failure:#}");
    assert_eq!(failed["sites"][0]["quarantine"], Value::Null, "{failed:#}");
    fleet.colony(["why", "pump"]).ok().says("port-in-use").says("free the port");
    fleet.hello_installs();
    drop(holder);
    fleet.see("pump", |it| it["outcome"] == "installed");
}

/// Version 1.0 is good and 1.1 is `bad`: the site goes back by itself.
#[track_caller]
fn rolled_back(bad: &str, sentence: &str) -> (Fleet, Shop) {
    let (fleet, shop) = (Fleet::small(), Shop::open());
    shop.put("pump", "1.0", &Shop::good()).put("pump", "1.1", bad).serve(&fleet);
    let first = ["deploy", "pump", "--version", "1.0", "--watch", "--yes"];
    fleet.colony(first).ok().says("INSTALLED 1.0");

    let said = fleet.colony(["deploy", "pump", "--version", "1.1", "--watch", "--yes"]);

    said.ends(3).says(&format!("ROLLED BACK to 1.0: {sentence}; 1.1 quarantined, revert commit"));
    let view = fleet.json(["deployment", "show", "pump"]);
    let placement = &view["sites"][0]["placements"][0];
    assert_eq!((&placement["state"], &placement["version"]), (&"INSTALLED".into(), &"1.0".into()));
    (fleet, shop)
}

fn code(deployment: &Value) -> &str {
    deployment["sites"][0]["placements"][0]["failure"]["code"].as_str().unwrap_or_default()
}
