//! The runtime against real engines: every story is told on Docker and on
//! Podman, with a real registry.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

#[cfg(feature = "kubernetes")]
#[path = "kit/cluster.rs"]
mod cluster;
#[expect(dead_code, reason = "tests of faults need more of it than these")]
mod kit;
mod stories;

use kit::Engine;

#[tokio::test]
async fn podman_conforms() {
    stories::tell_all(Engine::podman()).await;
}

#[tokio::test]
async fn docker_conforms() {
    stories::tell_all(Engine::docker()).await;
}

#[cfg(feature = "kubernetes")]
#[tokio::test]
async fn kubernetes_conforms() {
    stories::helm::tell_all().await;
}

/// Otherwise the node falls back to Podman's own API for a registry without TLS.
#[tokio::test]
async fn podman_authenticates_by_the_api_it_shares() {
    stories::tell_private(Engine::podman_without_tls()).await;
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
