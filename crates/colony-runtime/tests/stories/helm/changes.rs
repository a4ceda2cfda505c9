//! The node looks at a cluster when something changed there, and the way back
//! from a version that does not get ready.

use std::time::Duration;

use colony_core::code::Code;
use colony_core::node::{Health, Status};

use super::World;

/// Without the patrol that hides a watch that does not work.
pub(crate) async fn change_is_reported(world: &World) {
    let app = world.app("watched", "1.0.0", "");
    world.install(&app).await;
    world.quiet(&app).await;
    world.cluster.kubectl(&["scale", "deployment", "watched-web", "--replicas=2"]);
    reported(world, "workload").await;

    // A connection that was lost is made again.
    world.cluster.stop_api();
    world.cluster.start_api();
    world.until_healthy(&app).await;
    world.quiet(&app).await;
    world.cluster.kubectl(&["delete", "deployment", "watched-web"]);
    reported(world, "workload after the API server was away").await;
    world.quiet(&app).await;
    let records = ["label", "secrets", "-l", "owner=helm,name=watched-web", "seen=true"];
    world.cluster.kubectl(&records);
    reported(world, "record of the release").await;
    world.remove(&app).await;
}

/// The pod of the version that failed is the younger one.
pub(crate) async fn way_back_from_a_version_that_is_not_ready(world: &World) {
    let good = world.app("back", "1.0.0", "strategy: RollingUpdate");
    let parameters = "strategy: RollingUpdate\nprobe: nothing.html\ndeadline: 5";
    let bad = world.app("back", "2.0.0", parameters);
    world.install(&good).await;
    world.clear(&bad, false).await.unwrap();
    world.prepare(&bad).await.unwrap();
    world.start(&bad).await.unwrap();
    let seen = world
        .until(&bad, "unhealthy", |it| {
            it.values().any(|it| matches!(it.health, Health::Unhealthy { .. }))
        })
        .await;
    let Health::Unhealthy { code, detail } = &seen["deployment/back-web"].health else {
        panic!("{seen:?}")
    };
    assert_eq!(*code, Code::Unhealthy);
    assert!(detail.contains("has timed out progressing. Pod "), "{detail}");
    assert!(detail.contains("Readiness probe failed"), "{detail}");

    world.clear(&good, false).await.unwrap();
    world.start(&good).await.unwrap();
    let seen = world
        .until(&good, "healthy or unhealthy", |it| {
            let done = |it: &Health| *it != Health::Starting && *it != Health::None;
            it.len() == 2 && it.values().all(|it| it.status == Status::Running && done(&it.health))
        })
        .await;
    assert_eq!(seen["deployment/back-web"].health, Health::Healthy, "{seen:?}");
    world.remove(&good).await;
}

impl World {
    /// Looks until a look is not followed by a change: what the start caused
    /// has been reported.
    async fn quiet(&self, app: &super::App) {
        loop {
            self.look(app).await;
            let change = tokio::time::timeout(Duration::from_secs(3), self.runtime.changed());
            if change.await.is_err() {
                return;
            }
        }
    }
}

async fn reported(world: &World, what: &str) {
    let change = tokio::time::timeout(Duration::from_secs(40), world.runtime.changed());
    assert!(change.await.is_ok(), "the change of a {what} was not reported");
}
