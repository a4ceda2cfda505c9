//! Mistakes that containerd notices: an image for other machines, which is the
//! version's fault, and a network that does not work, which is the machine's.

use serde_json::{Value, json};

use crate::engines::Engine;
use crate::kit::{Fleet, Shop, web};

#[test]
fn image_for_another_architecture() {
    let fleet = Fleet::central(&[]).with_node_on(Engine::containerd());
    let shop = Shop::open();
    shop.put_foreign_image("foreign");
    shop.put("pump", "1.0", &web(&["image: SHOP/foreign:1"])).serve(&fleet);

    fleet.colony(["deploy", "pump", "--yes"]).ok();

    let view = fleet.see("pump", |it| placement(it)["state"] == "FAILED(install)");
    let failure = &placement(&view)["failure"];
    assert_eq!(failure["code"], "image-missing", "{view:#}");
    let said = failure["message"].as_str().unwrap();
    assert!(said.contains("the image is for linux/s390x, not for linux/"), "{said}");
    // The version is at fault: its tries are counted.
    assert_eq!(failure["of"], 3, "{view:#}");
    let why = fleet.colony(["why", "pump"]).ok();
    why.says("image-missing").says(said).says("who: application vendor").says("try 2 of 3");
    fleet.hello_installs();
}

#[test]
fn network_of_containerd_that_does_not_work() {
    let mut fleet = Fleet::central(&[]).with_node_on(Engine::containerd());
    fleet.hello_installs();
    let containers = fleet.containers();
    let path = fleet.engine.as_ref().unwrap().network_configuration();
    let good = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, good.replace("\"type\": \"bridge\"", "\"type\": \"nothing\"")).unwrap();
    // It reads its configuration when it starts.
    let engine = fleet.engine.as_mut().unwrap();
    engine.stop();
    engine.start_again();

    fleet.colony(["deploy", "hello", "--name", "job", "--site", "home", "--yes"]).ok();

    let failed = |it: &Value| {
        let placement = placement(it);
        placement["state"] == "FAILED(install)" && placement["failure"]["code"] == "engine-error"
    };
    let view = fleet.see("job", failed);
    // The machine is at fault: it is tried until it works.
    assert_eq!(placement(&view)["failure"]["of"], Value::Null, "{view:#}");
    let why = fleet.colony(["why", "job"]).ok();
    why.says("the CNI network of containerd does not work").says("who: device owner");
    assert_eq!(fleet.containers(), containers);
    std::fs::write(&path, good).unwrap();
    let view = fleet.see("job", |it| it["outcome"] == "installed");
    assert!(placement(&view)["attempt"].as_u64() > Some(1), "{view:#}");
    assert_eq!(fleet.json(["quarantine", "list"]), json!([]));
}

fn placement(deployment: &Value) -> &Value {
    &deployment["sites"][0]["placements"][0]
}
