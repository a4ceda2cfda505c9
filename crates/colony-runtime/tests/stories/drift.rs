//! What others do to containers and to tags.

use colony_core::node::Status;

use super::world::World;

const LASTING: &str = "trap 'exit 0' TERM; sleep 3600 & wait";

/// A container that was stopped by hand ends with 0, as one that ends by itself
/// may, and one that is removed by force is killed first.
pub(crate) async fn what_is_stopped_or_removed_from_outside(world: &World) {
    let compose =
        format!("services: {{ web: {{ image: IMAGE, command: [/bin/sh, -c, \"{LASTING}\"] }} }}");
    let app = world.app("drift", &compose);
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    world.node.until_well(&app).await;
    world.engine.ask("POST", "/containers/colony-n1-drift-web-web/stop?t=20");
    world.node.until(&app, "stopped", |it| it["web"].status == Status::Stopped).await;

    world.node.start_app(&app).await.unwrap();
    world.node.until_well(&app).await;
    world.engine.ask("DELETE", "/containers/colony-n1-drift-web-web?force=true");
    world.node.until(&app, "gone", |it| it.is_empty()).await;
    world.node.remove(&app).await;
}

/// After a failed attempt the tag is resolved again, and what was made from the
/// archive before counts as outdated, also what runs.
pub(crate) async fn a_tag_that_was_moved(world: &World) {
    let both = |web: &str| {
        format!(
            "services:\n  side: {{ image: IMAGE }}\n  \
             web: {{ image: IMAGE, command: [/bin/sh, -c, \"{web}\"] }}\n"
        )
    };
    let app = world.app("moved", &both("exit 3"));
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    let exited = Status::Exited { code: 3 };
    world.node.until(&app, "exited", |it| it["web"].status == exited).await;
    assert!(!world.node.refresh(&app).await.unwrap().outdated, "nothing was pushed again");

    let again = world.app("moved", &both(LASTING));
    assert_eq!(again.fingerprint, app.fingerprint);
    assert!(!world.node.prepare(&app).await.unwrap().outdated, "what is at hand is kept");
    assert!(world.node.refresh(&app).await.unwrap().outdated);
    world.node.clear(&app, None).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    world.node.until_well(&app).await;
    assert!(!world.node.refresh(&app).await.unwrap().outdated);
    world.node.remove(&app).await;
}
