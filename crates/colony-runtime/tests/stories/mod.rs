//! The stories, each told on its own world of one engine.

mod bad;
#[cfg(feature = "containerd")]
pub(crate) mod containerd;
mod device;
mod drift;
mod follow;
mod good;
#[cfg(feature = "kubernetes")]
pub(crate) mod helm;
pub(crate) mod names;
mod private;
mod shared;
mod staged;
mod swap;
mod timing;
pub(crate) mod world;

use serde_json::json;

use crate::conformance;
use crate::kit::Engine;
use world::World;

pub(crate) async fn tell_all(engine: Engine) {
    let mut world = World::new(engine).await;
    world.registry.push_image("busybox", "1", json!({ "Cmd": ["/bin/sleep", "3600"] }));
    conformance::run_all(&mut world).await;
    good::lifecycle(&mut world).await;
    good::volumes_go_with_a_purge(&mut world).await;
    good::a_cut_off_start_is_mended(&world).await;
    good::services_that_end(&world).await;
    device::settings_of_a_service(&world).await;
    drift::what_is_stopped_or_removed_from_outside(&world).await;
    drift::a_tag_that_was_moved(&world).await;
    follow::a_log_of_two_services(&world).await;
    good::checks_leave_nothing_behind(&world).await;
    good::the_builtin_image(&world).await;
    shared::nodes_of_one_name_share_an_engine(&world).await;
    shared::what_is_older_than_identities_is_adopted(&mut world).await;
    good::what_nothing_needs_is_collected(&world).await;
    staged::beside_what_runs(&mut world).await;
    staged::a_swap(&world).await;
    staged::a_version_that_is_sick(&world).await;
    staged::what_must_not_run_twice(&mut world).await;
    bad::an_image_that_does_not_exist(&world).await;
    bad::an_archive_that_does_not_exist(&world).await;
    bad::an_archive_that_breaks_the_rules(&world).await;
    bad::a_port_in_use(&world).await;
    bad::a_command_that_does_not_exist(&world).await;
    bad::a_container_that_exits(&world).await;
    bad::a_check_that_never_passes(&world).await;
    bad::a_dependency_that_never_gets_healthy(&world).await;
    bad::a_registry_that_is_down(&world).await;
    private::a_registry_with_a_password(&world).await;
    bad::an_engine_that_is_down(&mut world).await;
    world.node.end().await;
}

/// Takeovers of ports, seen by clients.
pub(crate) async fn tell_swaps(engine: Engine) {
    let mut world = World::new(engine).await;
    world.registry.push_image("busybox", "1", json!({ "Cmd": ["/bin/sleep", "3600"] }));
    swap::no_connection_fails(&mut world).await;
    swap::a_rollback_in_the_middle(&world).await;
    if world.engine.kind == "docker" {
        swap::in_a_network_that_stays(&world).await;
    }
    if world.engine.kind != "containerd" {
        swap::a_staged_version_that_ends(&mut world).await;
    }
    world.node.end().await;
}

pub(crate) async fn time_swaps(engine: Engine) {
    let world = World::new(engine).await;
    world.registry.push_image("busybox", "1", json!({ "Cmd": ["/bin/sleep", "3600"] }));
    swap::timing(&world).await;
    world.node.end().await;
}

/// Those that need an engine without TLS for registries on this machine.
pub(crate) async fn tell_private(engine: Engine) {
    let world = World::new(engine).await;
    world.registry.push_image("busybox", "1", json!({ "Cmd": ["/bin/sleep", "3600"] }));
    private::a_registry_with_a_password(&world).await;
    world.node.end().await;
}

pub(crate) async fn time(engine: Engine) {
    let world = World::new(engine).await;
    world.registry.push_image("busybox", "1", json!({ "Cmd": ["/bin/sleep", "3600"] }));
    timing::timing(&world).await;
    world.node.end().await;
}
