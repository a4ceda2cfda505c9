//! The life of a release, and what Helm leaves when it is interrupted.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use colony_core::code::Code;
use colony_core::node::{Action, Status};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::{World, names, prepare, stage};

pub(crate) async fn install_update_and_remove(world: &World) {
    let first = world.app("hello", "1.0.0", "greeting: Moin");
    let prepared = world.prepare(&first).await.unwrap();
    assert_eq!(prepared.services, names(&["release", "deployment/hello-web"]));
    assert!(world.look(&first).await.is_empty(), "preparing starts nothing");
    world.start(&first).await.unwrap();
    let seen = world.until_healthy(&first).await;
    assert_eq!(seen.keys().cloned().collect::<BTreeSet<_>>(), prepared.services);
    let lines = world.lines(&first).await;
    assert!(lines.contains(&"Moin".to_owned()), "{lines:?}");

    // Doing it again changes nothing.
    world.start(&first).await.unwrap();
    assert_eq!(
        world.until_healthy(&first).await["deployment/hello-web"].run,
        seen["deployment/hello-web"].run
    );

    // What is replaced runs on and is not shown; a way back is an update.
    let second = world.app("hello", "2.0.0", "greeting: Tach");
    world.prepare(&second).await.unwrap();
    world.clear(&second, false).await.unwrap();
    assert!(world.look(&second).await.is_empty());
    assert!(
        world
            .cluster
            .kubectl(&["get", "deployment", "hello-web", "-o", "name"])
            .contains("hello-web")
    );
    for app in [&second, &first] {
        world.clear(app, false).await.unwrap();
        world.start(app).await.unwrap();
        let seen = world.until_healthy(app).await;
        assert!(seen.values().all(|it| it.fingerprint == app.fingerprint));
    }
    let failure = world.perform(stage(&first), Some(&first)).await.unwrap_err();
    assert_eq!(failure.code, Code::NotEligible);

    world.clear(&first, true).await.unwrap();
    assert!(world.look(&first).await.is_empty());
    world.start(&first).await.unwrap();
    world.remove(&first).await;
    world.remove(&first).await;
    assert!(world.look(&first).await.is_empty());
    let left = world.cluster.kubectl(&["get", "deployments,configmaps,secrets", "-o", "name"]);
    assert!(!left.contains("hello"), "{left}");
    world.runtime.collect(&BTreeSet::new()).await.unwrap();
    let charts = std::fs::read_dir(world.dir.path().join("charts")).unwrap();
    assert_eq!(charts.count(), 0, "charts that nothing needs go");
}

/// Helm keeps the values of the revision before if it is given none.
pub(crate) async fn parameter_that_was_taken_away(world: &World) {
    let set = world.app("reset", "1.0.0", "greeting: Moin");
    let unset = world.app("reset", "1.0.0", "");
    let greeting = ["get", "configmap", "reset-web-settings", "-o", "jsonpath={.data.greeting}"];
    world.install(&set).await;
    assert_eq!(world.cluster.kubectl(&greeting), "Moin");
    world.clear(&unset, false).await.unwrap();
    world.install(&unset).await;
    assert_eq!(world.cluster.kubectl(&greeting), "hello");
    world.remove(&unset).await;
}

/// A dry run does not create the kinds in `crds`, an installation does.
pub(crate) async fn chart_that_brings_its_kinds(world: &World) {
    let thing = ["get", "thing", "kinds-web", "-o", "jsonpath={.spec.cluster} {.spec.color}"];
    let first = world.of_chart("kinds", "");
    let prepared = world.prepare(&first).await.unwrap();
    assert_eq!(prepared.services, names(&["release"]));
    world.start(&first).await.unwrap();
    assert_eq!(world.look(&first).await["release"].status, Status::Running);
    assert_eq!(world.cluster.kubectl(&thing), "v1.20.2 red");

    let second = world.of_chart("kinds", "color: blue");
    world.prepare(&second).await.unwrap();
    world.clear(&second, false).await.unwrap();
    world.start(&second).await.unwrap();
    assert_eq!(world.cluster.kubectl(&thing), "v1.20.2 blue");
    world.remove(&second).await;
    world.cluster.kubectl(&["delete", "customresourcedefinition", "things.example.com"]);
}

/// Helm that was killed leaves a release it refuses to work on.
pub(crate) async fn interrupted_operation_is_discarded(world: &World) {
    let app = world.app("cut", "1.0.0", "");
    world.install(&app).await;
    for (version, status) in [(1, "pending-install"), (2, "pending-upgrade")] {
        if version == 2 {
            world.install(&app).await;
        }
        world.mark_newest("cut-web", status);
        let seen = world.look(&app).await;
        assert_eq!(seen["release"].status, Status::Starting, "{status}");
        world.start(&app).await.unwrap();
        world.until_healthy(&app).await;
    }
    world.remove(&app).await;
}

/// Helm that was killed while it removed a release leaves one that it neither
/// updates nor calls pending.
pub(crate) async fn interrupted_removal_is_finished(world: &World) {
    let app = world.app("half", "1.0.0", "");
    world.install(&app).await;
    world.start(&app).await.unwrap();
    world.mark_newest("half-web", "uninstalling");
    let seen = world.look(&app).await;
    assert_eq!(seen["release"].status, Status::Stopped);
    world.start(&app).await.unwrap();
    world.until_healthy(&app).await;
    world.mark_newest("half-web", "uninstalling");
    world.remove(&app).await;
    assert!(world.look(&app).await.is_empty());
}

pub(crate) async fn what_is_not_ours_is_left_alone(world: &World) {
    let app = world.app("mine", "1.0.0", "");
    world.install(&app).await;
    let other = World::runtime(&world.cluster, "b/n1", tempfile::tempdir().unwrap().path()).await;
    let known = BTreeSet::from([app.id.clone()]);
    assert!(other.observe(&known).await.unwrap().containers.is_empty());
    let prepare = prepare(&app);
    let failure = other.perform(&prepare, Some(app.subject.clone())).await.unwrap_err();
    assert!(failure.message.contains("was not installed by this node"), "{failure:?}");
    other
        .perform(&Action::Remove { deployment: app.id.clone(), purge: false, images: false }, None)
        .await
        .unwrap();
    world.until_healthy(&app).await;
    world.remove(&app).await;
}

pub(crate) async fn api_server_that_is_away(world: &World) {
    let app = world.app("away", "1.0.0", "");
    world.install(&app).await;
    world.cluster.stop_api();
    let known = BTreeSet::from([app.id.clone()]);
    let failure = world.runtime.observe(&known).await.unwrap_err();
    assert_eq!(failure.code, Code::EngineUnavailable, "{failure:?}");
    assert!(world.runtime.ping().await.is_err());
    assert_eq!(world.start(&app).await.unwrap_err().code, Code::EngineUnavailable);
    world.cluster.start_api();
    world.until_healthy(&app).await;
    world.remove(&app).await;
}

impl World {
    /// Writes a status to the newest record of a release, as Helm does: into
    /// its label and into its content.
    fn mark_newest(&self, release: &str, status: &str) {
        let selector = format!("owner=helm,name={release}");
        let sorted = "--sort-by=.metadata.creationTimestamp";
        let records = ["get", "secrets", "-l", &selector, "-o", "name", sorted];
        let records = self.cluster.kubectl(&records);
        let newest = records.lines().last().unwrap();
        let data = self.cluster.kubectl(&["get", newest, "-o", "jsonpath={.data.release}"]);
        let mut content = read_record(&data);
        content["info"]["status"] = json!(status);
        let data = write_record(&content);
        let labels = json!({ "labels": { "status": status } });
        let patch = json!({ "metadata": labels, "data": { "release": data } }).to_string();
        self.cluster.kubectl(&["patch", newest, "--type", "merge", "-p", &patch]);
    }
}

/// JSON, packed and in base64, and that in base64 as in all secrets.
fn read_record(data: &str) -> Value {
    let packed = STANDARD.decode(STANDARD.decode(data).unwrap()).unwrap();
    serde_json::from_reader(GzDecoder::new(packed.as_slice())).unwrap()
}

fn write_record(content: &Value) -> String {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    serde_json::to_writer(&mut packed, content).unwrap();
    STANDARD.encode(STANDARD.encode(packed.finish().unwrap()))
}
