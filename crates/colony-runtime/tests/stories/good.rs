//! What goes well.

use std::collections::BTreeSet;

use colony_core::code::Code;
use colony_core::margo::{DeploymentId, Digest};
use colony_core::node::{Health, Status};
use serde_json::json;

use super::world::{App, World, app};
use crate::kit::Registry;

const WEB: &str = "
services:
  db:
    image: IMAGE
    command: ['/bin/sh', '-c', \"trap 'exit 0' TERM; echo db up; httpd -p 8080 -h /www; sleep 3600 & wait\"]
    volumes: ['data:/data']
    healthcheck: { test: ['CMD', '/bin/wget', '-q', '-O', '/dev/null', 'http://127.0.0.1:8080/'], interval: 1s, timeout: 5s }
  web:
    image: IMAGE
    command: ['/bin/sh', '-c', \"trap 'exit 0' TERM; cat /etc/app.conf; echo $$GREETING $$NODE_SAYS; sleep 3600 & wait\"]
    environment: { GREETING: '${GREETING}' }
    configs: [{ source: app, target: /etc/app.conf }]
    depends_on: { db: { condition: service_healthy } }
    healthcheck: { test: ['CMD-SHELL', 'wget -q -O - http://db:8080/ | cat > /dev/null'], interval: 1s, timeout: 5s }
volumes: { data: {} }
configs: { app: { file: ./app.conf } }
";
const GREETING: &str = "  parameters:\n    greeting:\n      value: Moin\n      targets:\n        - { pointer: GREETING, components: [web] }\n";

pub(crate) async fn lifecycle(world: &mut World) {
    let files = [("compose.yaml", WEB), ("app.conf", "configured\n")];
    let app = world.app_with("hello", &files, GREETING);
    let prepared = world.node.prepare(&app).await.unwrap();
    assert_eq!(prepared.services, names(&["db", "web"]));
    assert!(world.node.look(&app).await.is_empty(), "preparing starts nothing");

    world.node.start_app(&app).await.unwrap();
    let first = world.node.until_healthy(&app).await;
    let said = [("db", "db up"), ("web", "configured"), ("web", "Moin hello")];
    world.node.until_said(&app, &said).await;

    // Doing it again changes nothing, and another process adopts what runs.
    world.node.start_app(&app).await.unwrap();
    world.restart_node().await;
    let adopted = world.node.until_healthy(&app).await;
    assert_eq!(adopted, first);

    kill(world, &app, "web").await;
    world.node.start_app(&app).await.unwrap();
    let again = world.node.until_healthy(&app).await;
    assert_eq!(again["db"].run, first["db"].run);
    assert_ne!(again["web"].run, first["web"].run);

    let kept = world.node.clear(&app, Some(app.fingerprint)).await;
    kept.unwrap();
    assert_eq!(world.node.look(&app).await.len(), 2, "what is to be kept is kept");
    world.node.clear(&app, None).await.unwrap();
    world.node.clear(&app, None).await.unwrap();
    assert!(world.node.look(&app).await.is_empty());
    let previous = world.node.kept_logs(&app).await;
    assert_eq!(previous[0], ("db".to_owned(), "db up".to_owned()), "{previous:?}");

    world.node.remove(&app).await;
    world.node.remove(&app).await;
    assert!(world.node.look(&app).await.is_empty());
    let (networks, volumes) = world.engine.networks_and_volumes(world.node.dir());
    assert_eq!(networks, 0, "networks go");
    assert_eq!(volumes, 1, "volumes stay");
}

/// Ends a container from outside; the runtime notices.
async fn kill(world: &World, app: &App, service: &str) {
    world.engine.kill(&app.subject.document.metadata.name, service);
    let ended = |it: &std::collections::BTreeMap<String, colony_core::node::Container>| {
        it[service].status == Status::Stopped
    };
    world.node.until(app, "ended", ended).await;
}

/// A deployment gets the volumes of an earlier one of its name, and only the
/// purge of the last one removes them.
pub(crate) async fn volumes_go_with_a_purge(world: &mut World) {
    let compose = "
services:
  web:
    image: IMAGE
    command: ['/bin/sh', '-c', 'echo ran >> /data/runs; cat /data/runs | wc -l; sleep 3600']
    stop_grace_period: 0s
    volumes: ['data:/data']
volumes: { data: {}, spare: {} }
";
    let volumes = |world: &World| world.engine.networks_and_volumes(world.node.dir()).1;
    let before = volumes(world);
    let first = world.app("data", compose);
    let next = App { id: DeploymentId::from_bytes([7; 16]), ..first.clone() };
    run(world, &first, "1").await;
    world.node.remove(&first).await;
    run(world, &next, "2").await;
    world.node.purge(&first).await;
    assert_eq!(volumes(world), before + 2, "another deployment uses them");
    world.node.remove(&next).await;
    world.node.purge(&first).await;
    assert_eq!(volumes(world), before + 2, "another deployment used them last");

    world.restart_node().await;
    world.node.purge(&next).await;
    world.node.purge(&next).await;
    assert_eq!(volumes(world), before);
    run(world, &first, "1").await;
    world.node.purge(&first).await;
    assert_eq!(volumes(world), before);
}

async fn run(world: &World, app: &App, runs: &str) {
    world.node.prepare(app).await.unwrap();
    world.node.start_app(app).await.unwrap();
    world.node.until_said(app, &[("web", runs)]).await;
}

/// A container that was created and never started, as a crash leaves it.
pub(crate) async fn a_cut_off_start_is_mended(world: &World) {
    let app = world.app("cut", "services: { web: { image: IMAGE, stop_grace_period: 0s } }");
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    let name = "colony-n1-cut-web-web";
    let inspected = world.engine.ask("GET", &format!("/containers/{name}/json"));
    let labels = inspected["Config"]["Labels"].clone();
    world.engine.ask("DELETE", &format!("/containers/{name}?force=true"));
    let body = json!({ "Image": inspected["Config"]["Image"], "Labels": labels });
    world.engine.post(&format!("/containers/create?name={name}"), &body);

    assert!(world.node.look(&app).await.is_empty(), "what never ran is not shown");
    world.node.start_app(&app).await.unwrap();
    assert_eq!(world.node.look(&app).await["web"].status, Status::Running);

    // The same, but the start comes before any look.
    world.engine.ask("DELETE", &format!("/containers/{name}?force=true"));
    world.engine.post(&format!("/containers/create?name={name}"), &body);
    world.node.start_app(&app).await.unwrap();
    assert_eq!(world.node.look(&app).await["web"].status, Status::Running);
    world.node.remove(&app).await;
}

/// A service another one waits for to be completed is not expected to run.
pub(crate) async fn services_that_end(world: &World) {
    let app = world.app("oneshot", "
services:
  init: { image: IMAGE, command: ['/bin/sh', '-c', 'echo ran >> /data/runs'], volumes: ['data:/data'] }
  web:
    image: IMAGE
    command: ['/bin/sh', '-c', 'cat /data/runs; sleep 3600']
    stop_grace_period: 0s
    volumes: ['data:/data']
    depends_on: { init: { condition: service_completed_successfully } }
volumes: { data: {} }
");
    let prepared = world.node.prepare(&app).await.unwrap();
    assert_eq!(prepared.services, names(&["web"]));
    world.node.start_app(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    let seen = world.node.look(&app).await;
    assert_eq!(seen["init"].status, Status::Exited { code: 0 });
    assert_eq!((&seen["web"].status, &seen["web"].health), (&Status::Running, &Health::None));
    world.node.until_said(&app, &[("web", "ran")]).await;
    world.node.remove(&app).await;
}

/// Archive and image come through the manager; the image brings its check.
pub(crate) async fn the_builtin_image(world: &World) {
    let check = json!({ "Test": ["CMD", "/bin/true"], "Interval": 1_000_000_000_i64 });
    let config = json!({ "Cmd": ["/bin/sleep", "3600"], "Healthcheck": check });
    world.registry.push_image("builtin", "1.0", config);
    let compose =
        "services: { web: { image: 'colony.builtin/builtin:1.0', stop_grace_period: 0s } }";
    world.registry.push_component("builtin-app", "1.0.0", &[("compose.yaml", compose)]);
    let app = app("builtin-app", "oci://colony.builtin/builtin-app", "");
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    world.node.until_healthy(&app).await;
    world.node.remove(&app).await;
}

/// Named by the digest of a manifest or of a list of them.
pub(crate) async fn an_image_named_by_its_digest(world: &World) {
    let registry = Registry::start();
    let host = registry.host.clone();
    let config = json!({ "Cmd": ["/bin/sleep", "3600"], "Env": ["PINNED=1"] });
    let image = registry.push_image("pinned", "1", config);
    let list = registry.push_index("pinned", "all", Registry::architecture(), &image);
    let app = |name: &str, digest: Digest| {
        let image = format!("{host}/pinned@{digest}");
        world.app(
            name,
            &format!("services: {{ web: {{ image: '{image}', stop_grace_period: 0s }} }}"),
        )
    };
    let apps = [app("one", Digest::of(image.to_string().as_bytes())), app("list", list)];
    for app in &apps {
        world.node.prepare(app).await.unwrap();
    }
    drop(registry);
    for app in &apps {
        world.node.prepare(app).await.unwrap();
        world.node.start_app(app).await.unwrap();
        world.node.until_well(app).await;
        world.node.runtime.collect(&BTreeSet::new()).await.unwrap();
        assert!(world.engine.has_image_of(&host), "what a container is made from stays");
    }
    for app in &apps {
        world.node.remove_with_images(app).await;
    }
    world.node.runtime.collect(&BTreeSet::new()).await.unwrap();
    assert!(!world.engine.has_image_of(&host), "what is not to be kept goes");
}

pub(crate) async fn what_nothing_needs_is_collected(world: &World) {
    let image = format!("{}/busybox:unused", world.registry.host);
    world.registry.push_image("busybox", "unused", json!({ "Cmd": ["/bin/sleep", "9"] }));
    let compose = format!("services: {{ web: {{ image: '{image}', stop_grace_period: 0s }} }}");
    let app = world.app("collected", &compose);
    world.node.prepare(&app).await.unwrap();
    let there = || world.engine.has_image(&image);
    let archive = world.node.dir().join("archives").join(app.fingerprint.hex());

    world.node.runtime.collect(&BTreeSet::from([app.fingerprint])).await.unwrap();
    assert!(there() && archive.is_dir(), "what is needed stays");
    world.node.start_app(&app).await.unwrap();
    world.node.runtime.collect(&BTreeSet::new()).await.unwrap();
    assert!(there(), "what a container is made from stays");
    world.node.remove(&app).await;
    world.node.runtime.collect(&BTreeSet::new()).await.unwrap();
    assert!(there() && !archive.exists(), "an image is kept for a time");
    world.node.prepare(&app).await.unwrap();
    world.node.remove_with_images(&app).await;
    world.node.runtime.collect(&BTreeSet::from([app.fingerprint])).await.unwrap();
    assert!(there(), "what is needed stays");
    world.node.prepare(&app).await.unwrap();
    world.node.remove_with_images(&app).await;
    world.node.runtime.collect(&BTreeSet::new()).await.unwrap();
    assert!(!there(), "what is not to be kept goes");
}

fn names(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|it| (*it).to_owned()).collect()
}

/// What a check leaves behind must not add up.
pub(crate) async fn checks_leave_nothing_behind(world: &World) {
    let app = world.app("tidy", "
services:
  web:
    image: IMAGE
    stop_grace_period: 0s
    healthcheck: { test: ['CMD', '/bin/sh', '-c', 'echo >> /asked; test $$(cat /asked | wc -l) -lt 20 || { echo enough; exit 1; }'], interval: 10ms, timeout: 5s, retries: 1 }
");
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    world.node.until_healthy(&app).await;
    let before = world.engine.processes();
    // The check counts itself, and says when it was asked often enough.
    let enough = Health::Unhealthy { code: Code::Unhealthy, detail: "enough, 1×".to_owned() };
    world.node.until(&app, "asked often", |it| it["web"].health == enough).await;
    let after = world.engine.processes();
    assert!(after <= before + 4, "{before} processes became {after}");
    world.node.remove(&app).await;
}
