//! A registry without TLS on an address that engines use with TLS only: the
//! node's own list of registries is enough.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use colony_core::code::Code;
use serde_json::json;

use crate::kit::Registry;
use crate::stories::world::{App, Node, World, credentials};

const COMPOSE: &str = "services: { web: { image: IMAGE, stop_grace_period: 0s } }";

pub(crate) async fn a_registry_without_tls(world: &World) {
    let mut plain = Registry::start_without_tls();
    let host = plain.host.clone();
    let image = |tag: &str| {
        let config = json!({ "Cmd": ["/bin/sleep", "3600"], "Env": [format!("TAG={tag}")] });
        plain.push_image("line/busybox", tag, config)
    };
    let digest = plain.push_index("line/busybox", "all", Registry::architecture(), &image("1"));
    image("2");
    let app = |name: &str, version: &str| {
        let image = format!("{host}/line/busybox{version}");
        world.app(name, &COMPOSE.replace("IMAGE", &image))
    };
    let (tagged, pinned) = (app("tagged", ":1"), app("pinned", &format!(":all@{digest}")));
    let failure = world.node.prepare(&tagged).await.unwrap_err();
    assert_eq!(failure.code, Code::RegistryUnavailable, "it is not on the list: {failure:?}");

    let identity = format!("plain-{}/n1", std::process::id());
    let insecure = host.clone();
    let node = Node::start_with(world, &identity, |it| {
        it.registries.insecure.insert(insecure);
    });
    let node = node.await;
    for app in [&tagged, &pinned] {
        runs(&node, app).await;
    }
    // Two images at once, with the same layer.
    plain.push_foreign_image("line/twin", "1");
    plain.push_foreign_image("line/twin", "2");
    let twin = |number: u8| format!("t{number}: {{ image: '{host}/line/twin:{number}' }}");
    let twins = world.app("twins", &format!("services: {{ {}, {} }}", twin(1), twin(2)));
    node.prepare(&twins).await.unwrap();
    node.remove_with_images(&twins).await;

    let absent = node.prepare(&app("absent", ":9")).await.unwrap_err();
    assert_eq!(absent.code, Code::ImageMissing, "{absent:?}");

    let private = app("private", ":2");
    plain.require_login("ann", "s3cr3t");
    let denied = node.prepare(&private).await.unwrap_err();
    assert_eq!(denied.code, Code::RegistryDenied, "{denied:?}");
    let auth = STANDARD.encode("ann:s3cr3t");
    let auths = json!({ "auths": { &*host: { "auth": auth } } });
    std::fs::write(credentials(node.dir()), auths.to_string()).unwrap();
    runs(&node, &private).await;

    // What is at hand needs no registry.
    drop(plain);
    for app in [&tagged, &pinned, &private] {
        runs(&node, app).await;
    }
    assert!(world.engine.has_image_of(&host));
    for app in [&tagged, &pinned, &private] {
        node.remove_with_images(app).await;
    }
    node.runtime.collect(&BTreeSet::new()).await.unwrap();
    assert!(!world.engine.has_image_of(&host), "what is not to be kept goes");
    node.end().await;
}

async fn runs(node: &Node, app: &App) {
    node.prepare(app).await.unwrap();
    node.start_app(app).await.unwrap();
    node.until_well(app).await;
    node.remove(app).await;
}
