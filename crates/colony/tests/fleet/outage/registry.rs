//! The registry is down: the place is at fault, not the version.

use serde_json::Value;

use crate::kit::{Fleet, Shop};

#[test]
fn registry_down() {
    let (fleet, mut shop) = (Fleet::small(), Shop::open());
    shop.put("pump", "1.0", &Shop::good()).serve(&fleet);
    shop.gate.shut();

    fleet.colony(["deploy", "pump", "--yes"]).ok();

    let failed = fleet.see("pump", |it| {
        it["sites"][0]["placements"][0]["failure"]["code"] == "registry-unavailable"
    });
    assert_eq!(failed["sites"][0]["quarantine"], Value::Null, "{failed:#}");
    fleet
        .colony(["why", "pump"])
        .ok()
        .says("registry-unavailable could not fetch")
        .says(&shop.gate.address)
        .says("check the registry");
    fleet.hello_installs();
    shop.gate.reopen();
    let view = fleet.see("pump", |it| it["outcome"] == "installed");
    assert!(view["sites"][0]["placements"][0]["attempt"].as_u64() > Some(1), "{view:#}");
    assert_eq!(fleet.json(["quarantine", "list"]), serde_json::json!([]));
}
