//! The runtime against real engines, with a real registry: one list of
//! behaviours for all of them, and stories about what is special to each.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

mod benches;
mod conformance;
#[expect(dead_code, reason = "tests of fleets need more of it than these")]
mod kit;
mod stories;

use kit::Engine;
#[cfg(feature = "kubernetes")]
use kit::cluster;

#[tokio::test]
async fn podman_conforms() {
    stories::tell_all(Engine::podman()).await;
}

#[tokio::test]
async fn docker_conforms() {
    stories::tell_all(Engine::docker()).await;
}

#[tokio::test]
async fn podman_swaps_without_a_gap() {
    stories::tell_swaps(Engine::podman()).await;
}

#[tokio::test]
async fn docker_swaps_without_a_gap() {
    stories::tell_swaps(Engine::docker()).await;
}

#[cfg(feature = "containerd")]
#[tokio::test]
async fn containerd_conforms() {
    stories::containerd::tell_all(Engine::containerd()).await;
}

#[cfg(feature = "containerd")]
#[tokio::test]
async fn containerd_swaps_without_a_gap() {
    stories::tell_swaps(Engine::containerd()).await;
}

/// On one cluster for all of them. Those that stop its API server, or that wait
/// until nothing changes on it, have it for themselves.
#[cfg(feature = "kubernetes")]
mod kubernetes {
    use crate::cluster::ClusterUse;
    use crate::stories::helm::refusals::{admission, pods};
    use crate::stories::helm::{self, World, by_hand, changes, claims, hooks, refusals, releases};

    macro_rules! tests {
        ($turn:ident: $($module:ident::$name:ident),* $(,)?) => {$(
            #[tokio::test]
            async fn $name() {
                if let Some(world) = World::open(ClusterUse::$turn).await {
                    $module::$name(&world).await;
                }
            }
        )*};
    }

    tests! { Alone:
        changes::change_is_reported,
        helm::conforms,
        hooks::api_server_that_goes_in_the_middle,
        releases::api_server_that_is_away,
    }

    tests! { Shared:
        admission::webhook_that_is_away,
        admission::webhook_that_refuses,
        by_hand::object_that_was_deleted,
        by_hand::release_that_was_upgraded_or_rolled_back,
        changes::way_back_from_a_version_that_is_not_ready,
        claims::claims_go_with_a_purge,
        hooks::hook_that_does_not_end,
        hooks::hook_that_fails,
        hooks::hook_whose_image_is_missing,
        pods::configuration_that_cannot_be_applied,
        pods::container_that_exits,
        pods::image_for_another_architecture,
        pods::image_that_is_missing,
        pods::image_that_needs_a_password,
        pods::pod_that_is_too_large_for_the_cluster,
        pods::probe_that_never_passes,
        pods::program_for_another_architecture,
        pods::quota_that_is_used_up,
        pods::registry_of_images_that_is_down,
        pods::volume_that_nothing_provides,
        refusals::account_that_may_not_install,
        refusals::account_that_may_not_look,
        refusals::artifact_that_is_not_a_chart,
        refusals::chart_that_does_not_render,
        refusals::chart_without_the_asked_revision,
        refusals::kind_that_the_cluster_does_not_know,
        refusals::namespace_of_the_cluster,
        refusals::namespace_that_was_deleted,
        refusals::registry_of_charts_that_wants_a_password,
        refusals::token_that_expires,
        refusals::values_that_break_the_schema,
        releases::chart_that_brings_its_kinds,
        releases::install_update_and_remove,
        releases::interrupted_operation_is_discarded,
        releases::interrupted_removal_is_finished,
        releases::parameter_that_was_taken_away,
        releases::what_is_not_ours_is_left_alone,
    }
}

/// Otherwise the node falls back to Podman's own API for a registry without TLS.
#[tokio::test]
async fn podman_authenticates_by_the_api_it_shares() {
    stories::tell_private(Engine::podman_without_tls()).await;
}

#[tokio::test]
async fn podman_takes_images_and_names() {
    stories::names::tell_all(Engine::podman()).await;
}

#[tokio::test]
async fn docker_takes_images_and_names() {
    stories::names::tell_all(Engine::docker()).await;
}

#[cfg(feature = "containerd")]
#[tokio::test]
async fn containerd_takes_images_and_names() {
    stories::names::tell_all(Engine::containerd()).await;
}

#[tokio::test]
#[ignore = "measures, and asserts nothing"]
async fn podman_swap_timing() {
    stories::time_swaps(Engine::podman()).await;
}

#[tokio::test]
#[ignore = "measures, and asserts nothing"]
async fn docker_swap_timing() {
    stories::time_swaps(Engine::docker()).await;
}

#[cfg(feature = "containerd")]
#[tokio::test]
#[ignore = "measures, and asserts nothing"]
async fn containerd_swap_timing() {
    stories::time_swaps(Engine::containerd()).await;
}

#[tokio::test]
#[ignore = "measures, and asserts nothing"]
async fn podman_timing() {
    stories::time(Engine::podman()).await;
}

#[tokio::test]
#[ignore = "measures, and asserts nothing"]
async fn docker_timing() {
    stories::time(Engine::docker()).await;
}
