//! A registry with a password: what is said without it, and that a changed one
//! needs no restart.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::node::Prepared;
use serde_json::json;

use super::world::{App, World, app, credentials};
use crate::kit::Registry;

/// Engines read credentials in another alphabet of base64 than files use: in
/// the usual one these have a `/` and a `+`.
const FIRST: &str = "s3cr3t??????~~~>>>";
const SECOND: &str = "0ther:??????~~~>>>";
const COMPOSE: &str = "services: { web: { image: IMAGE, stop_grace_period: 0s } }";

pub(crate) async fn a_registry_with_a_password(world: &World) {
    let mut private = Registry::start();
    let host = private.host.clone();
    let image = |tag: &str| format!("{host}/line/busybox:{tag}");
    for tag in ["1", "2"] {
        // Different content, so that no layer is at hand.
        let config = json!({ "Cmd": ["/bin/sleep", "3600"], "Env": [format!("TAG={tag}")] });
        private.push_image("line/busybox", tag, config);
        let files = COMPOSE.replace("IMAGE", &image(tag));
        private.push_component(&format!("line/app{tag}"), "1.0.0", &[("compose.yaml", &files)]);
    }
    private.require_login("ann", FIRST);
    let archive = |tag: &str| app(&format!("p{tag}"), &format!("oci://{host}/line/app{tag}"), "");
    let pulled = world.app("pimage", &COMPOSE.replace("IMAGE", &image("2")));
    let file = credentials(world.node.dir());

    let absent =
        format!("there are no credentials for `{host}` in {} (does not exist)", file.display());
    denied(world.node.prepare(&archive("1")).await, &absent);
    denied(world.node.prepare(&pulled).await, &absent);

    write(&file, &host, FIRST);
    runs(world, &archive("1")).await;

    private.set_login("ann", SECOND);
    let stale = |entry: &str| {
        format!("it does not accept the credentials for `{entry}` in {}", file.display())
    };
    denied(world.node.prepare(&archive("2")).await, &stale(&host));
    denied(world.node.prepare(&pulled).await, &stale(&host));

    // A prefix, as Podman writes it.
    write(&file, &format!("{host}/line"), SECOND);
    runs(world, &archive("2")).await;
    runs(world, &pulled).await;
    std::fs::remove_file(file).unwrap();
}

async fn runs(world: &World, app: &App) {
    world.node.prepare(app).await.unwrap();
    world.node.start_app(app).await.unwrap();
    world.node.until_well(app).await;
    world.node.remove(app).await;
}

fn write(file: &Path, entry: &str, password: &str) {
    let auth = STANDARD.encode(format!("ann:{password}"));
    std::fs::write(file, json!({ "auths": { entry: { "auth": auth } } }).to_string()).unwrap();
}

#[track_caller]
fn denied(done: Result<Prepared, Failure>, reason: &str) {
    let failure = done.unwrap_err();
    assert_eq!(failure.code, Code::RegistryDenied, "{failure:?}");
    assert!(failure.message.ends_with(reason), "{}", failure.message);
    assert!(!format!("{failure:?}").contains("??????"), "{failure:?}");
}
