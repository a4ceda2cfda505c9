//! Several nodes on one engine, and what was made before they had identities.

use std::collections::BTreeSet;

use colony_core::margo::DeploymentId;
use serde_json::{Value, json};

use super::world::{App, Node, World};

const DATA: &str = "
services:
  web: { image: IMAGE, stop_grace_period: 0s, volumes: ['data:/data'] }
  side: { image: IMAGE, stop_grace_period: 0s }
volumes: { data: {} }
";

/// Names of nodes and of deployments are a site's own affair.
pub(crate) async fn nodes_of_one_name_share_an_engine(world: &World) {
    let other = Node::start(&world.engine, &world.registry, "b/n1", tempfile::tempdir().unwrap());
    let other = other.await;
    let own = world.app("twins", DATA);
    // An author may have copied the file with its id.
    let copied = own.clone();
    let theirs = App { id: DeploymentId::from_bytes([9; 16]), ..own.clone() };
    for app in [&theirs, &copied] {
        world.node.prepare(&own).await.unwrap();
        world.node.start_app(&own).await.unwrap();
        other.prepare(app).await.unwrap();
        other.start_app(app).await.unwrap();
        let (here, there) = (world.node.look(&own).await, other.look(app).await);
        assert_eq!((here.len(), there.len()), (2, 2), "each sees its own");
        assert_ne!(here["web"].run, there["web"].run);
        assert_eq!(all(&world.node).await, BTreeSet::from([own.id.clone()]));
        assert_eq!(all(&other).await, BTreeSet::from([app.id.clone()]));
        assert_eq!(apart(world, "NetworkSettings/Networks"), 2);

        world.node.remove(&own).await;
        world.node.remove(app).await;
        assert!(world.node.look(&own).await.is_empty());
        assert_eq!(other.look(app).await, there, "what is another node's is left alone");
        other.remove(app).await;
    }
    let volumes = world.engine.ask("GET", "/volumes").to_string();
    assert_eq!(volumes.matches("\"colony-n1-twins-web-data").count(), 2, "{volumes}");
    other.end().await;
}

/// A node that was upgraded goes on with what runs, in the old network and
/// with the old volume. Another one of its name has nothing of it.
pub(crate) async fn what_is_older_than_identities_is_adopted(world: &mut World) {
    let app = world.app("older", DATA);
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    make_older(world, &app).await;
    world.restart_node().await;
    let seen = world.node.look(&app).await;
    assert_eq!(seen.keys().collect::<Vec<_>>(), ["web"]);
    assert!(all(&world.node).await.is_empty(), "who does not know of it does not see it");

    world.node.start_app(&app).await.unwrap();
    assert_eq!(world.node.look(&app).await["web"].run, seen["web"].run, "it is not restarted");
    let side = world.engine.ask("GET", "/containers/colony-n1-older-web-side/json");
    let networks = side["NetworkSettings"]["Networks"].as_object().unwrap();
    assert_eq!(networks.keys().collect::<Vec<_>>(), ["colony-n1-older-default"]);

    let other = Node::start(&world.engine, &world.registry, "b/n1", tempfile::tempdir().unwrap());
    let other = other.await;
    let theirs = App { id: DeploymentId::from_bytes([9; 16]), ..app.clone() };
    other.prepare(&theirs).await.unwrap();
    other.start_app(&theirs).await.unwrap();
    assert_eq!(all(&other).await, BTreeSet::from([theirs.id.clone()]));
    assert_ne!(volume_of(world, &theirs), "colony-n1-older-web-data");
    other.remove(&theirs).await;
    other.end().await;

    world.node.clear(&app, None).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    assert_eq!(volume_of(world, &app), "colony-n1-older-web-data", "data is found again");
    world.node.remove(&app).await;
    let networks = world.engine.ask("GET", "/networks").to_string();
    assert!(!networks.contains("colony-n1-older"), "{networks}");
}

/// Makes `web`, its network and its volume again, as they were made before there
/// were identities, takes `side` away, and has the node's folder forget.
async fn make_older(world: &World, app: &App) {
    let identity = world.node.identity.as_str();
    let web = world.engine.ask("GET", "/containers/colony-n1-older-web-web/json");
    let networks = web["NetworkSettings"]["Networks"].as_object().unwrap();
    let network = networks.keys().next().unwrap();
    let network = world.engine.ask("GET", &format!("/networks/{network}"));
    world.node.remove(app).await;
    let volume = world.engine.ask("GET", "/volumes/colony-n1-older-web-data");
    world.engine.ask("DELETE", "/volumes/colony-n1-older-web-data");

    let name = "colony-n1-older-default";
    let body =
        json!({ "Name": name, "Driver": "bridge", "Labels": older(&network["Labels"], identity) });
    world.engine.post("/networks/create", &body);
    let body = json!({ "Name": volume["Name"], "Driver": "local", "Labels": older(&volume["Labels"], identity) });
    world.engine.post("/volumes/create", &body);
    let body = json!({
        "Image": web["Config"]["Image"],
        "Labels": older(&web["Config"]["Labels"], identity),
        "HostConfig": { "NetworkMode": name, "Binds": ["colony-n1-older-web-data:/data"] },
    });
    world.engine.post("/containers/create?name=colony-n1-older-web-web", &body);
    world.engine.ask("POST", "/containers/colony-n1-older-web-web/start");
    std::fs::remove_file(world.node.dir().join("identities.json")).unwrap();
}

fn older(labels: &Value, identity: &str) -> Value {
    let mut labels = labels.as_object().unwrap().clone();
    assert_eq!(labels.remove("colony.identity"), Some(json!(identity)));
    Value::Object(labels)
}

/// The deployments a node sees that has none on record.
async fn all(node: &Node) -> BTreeSet<DeploymentId> {
    let seen = node.runtime.observe(&BTreeSet::new()).await.unwrap();
    seen.containers.into_iter().map(|it| it.deployment).collect()
}

/// How many different values the containers there are have at `pointer`.
fn apart(world: &World, pointer: &str) -> usize {
    let all = world.engine.ask("GET", "/containers/json?all=true");
    let ids = all.as_array().unwrap().iter().map(|it| it["Id"].as_str().unwrap());
    let each = ids.map(|id| world.engine.ask("GET", &format!("/containers/{id}/json")));
    let keys = |it: Value| {
        let found = it.pointer(&format!("/{pointer}")).unwrap().as_object().unwrap();
        found.keys().cloned().collect::<Vec<_>>()
    };
    each.map(keys).collect::<BTreeSet<_>>().len()
}

/// The volume in the container of `web`.
fn volume_of(world: &World, app: &App) -> String {
    let all = world.engine.ask("GET", "/containers/json?all=true");
    let web = |it: &&Value| {
        let labels = &it["Labels"];
        labels["colony.deployment"] == app.id.to_string() && labels["colony.service"] == "web"
    };
    let id = all.as_array().unwrap().iter().find(web).unwrap()["Id"].as_str().unwrap();
    let seen = world.engine.ask("GET", &format!("/containers/{id}/json"));
    seen["Mounts"][0]["Name"].as_str().unwrap().to_owned()
}
