//! Hooks of a chart.

use std::time::Duration;

use colony_core::code::{Class, Code};
use colony_core::node::Status;

use super::World;
use super::refusals::refused;

pub(crate) async fn api_server_that_goes_in_the_middle(world: &World) {
    let slow = world.hooked("middle", "command: sleep 3600");
    let quick = world.hooked("middle", "");
    world.prepare(&slow).await.unwrap();
    let cut = async {
        let wait = ["wait", "--for=condition=Ready", "pod", "-l", "job-name=middle-web"];
        let mut there = false;
        while !there {
            tokio::time::sleep(Duration::from_millis(200)).await;
            there = world
                .cluster
                .kubectl(&["get", "pods", "-l", "job-name=middle-web"])
                .contains("middle");
        }
        world.cluster.kubectl(&[&wait[..], &["--timeout=60s"]].concat());
        world.cluster.stop_api();
    };
    let (failure, ()) = tokio::join!(world.start(&slow), cut);
    let failure = failure.unwrap_err();
    refused(&failure, Code::EngineUnavailable, Class::Environment, "could not install the release");
    world.cluster.start_api();
    let seen = world.look(&slow).await;
    assert!(matches!(seen["release"].status, Status::Starting | Status::Exited { .. }), "{seen:?}");
    world.start(&quick).await.unwrap();
    assert_eq!(world.look(&quick).await["release"].status, Status::Running);
    world.remove(&quick).await;
}
