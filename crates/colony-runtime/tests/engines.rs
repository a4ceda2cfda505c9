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

#[cfg(feature = "kubernetes")]
#[tokio::test]
async fn kubernetes_conforms() {
    stories::helm::tell_all().await;
}

#[cfg(feature = "kubernetes")]
#[tokio::test]
async fn kubernetes_refuses() {
    stories::helm::refusals::tell_all().await;
}

#[cfg(feature = "kubernetes")]
#[tokio::test]
async fn kubernetes_refuses_workloads() {
    stories::helm::refusals::tell_of_workloads().await;
}

#[cfg(feature = "kubernetes")]
#[tokio::test]
async fn kubernetes_reports_changes() {
    stories::helm::changes::tell_all().await;
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
