//! Hooks of a chart that fail or do not end.

use std::time::Duration;

use colony_core::code::{Class, Code};
use colony_core::node::Status;

use super::World;
use super::refusals::refused;

pub(crate) async fn hook_that_fails(world: &World) {
    let failing = world.hooked("failing", "command: echo no database; exit 7");
    world.prepare(&failing).await.unwrap();
    let failure = world.start(&failing).await.unwrap_err();
    let words = "could not install the release `failing-web` in namespace `default`: ";
    refused(&failure, Code::Exited, Class::Revision, words);
    refused(&failure, Code::Exited, Class::Revision, ": container `hook` of pod failing-web-");
    refused(&failure, Code::Exited, Class::Revision, " exited with code 7");
    assert_eq!(failure.log, ["no database"], "{failure:?}");

    // The same at an update, and it does not stay.
    let good = world.hooked("failing", "");
    world.start(&good).await.unwrap();
    world.clear(&failing, false).await.unwrap();
    let failure = world.start(&failing).await.unwrap_err();
    refused(&failure, Code::Exited, Class::Revision, " exited with code 7");
    assert_eq!(failure.log, ["no database"], "{failure:?}");
    world.start(&good).await.unwrap();
    assert_eq!(world.look(&good).await["release"].status, Status::Running);
    world.remove(&good).await;
}

/// What Helm reports is only that it waited for too long.
pub(crate) async fn hook_whose_image_is_missing(world: &World) {
    let image = format!("image: {}/nothing:1", world.registry.host);
    let app = world.hooked("imageless", &image).within("0m8s");
    world.prepare(&app).await.unwrap();
    let failure = world.start(&app).await.unwrap_err();
    let words = "container `hook` of pod imageless-web-";
    refused(&failure, Code::ImageMissing, Class::Revision, words);
    world.remove(&app).await;
}

pub(crate) async fn hook_that_does_not_end(world: &World) {
    let app = world.hooked("endless", "command: sleep 3600").within("0m5s");
    world.prepare(&app).await.unwrap();
    let failure = world.start(&app).await.unwrap_err();
    refused(&failure, Code::ComponentTimeout, Class::Revision, "timed out waiting");
    world.remove(&app).await;
}

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
