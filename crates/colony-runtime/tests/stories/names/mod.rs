//! Images by all names, from registries with and without TLS; names of
//! containers.

mod named;
mod plain;

use serde_json::json;

use super::world::World;
use super::{bad, good};
use crate::kit::Engine;

pub(crate) async fn tell_all(engine: Engine) {
    let world = World::new(engine).await;
    world.registry.push_image("busybox", "1", json!({ "Cmd": ["/bin/sleep", "3600"] }));
    plain::a_registry_without_tls(&world).await;
    good::an_image_named_by_its_digest(&world).await;
    bad::an_image_for_another_architecture(&world).await;
    if world.engine.kind != "containerd" {
        named::a_container_with_a_name(&world).await;
    }
    world.node.end().await;
}
