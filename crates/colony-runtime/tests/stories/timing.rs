//! How long a fresh deployment takes until it is healthy, image local, and how
//! long the bare engine takes for the same container in the same run.
//!
//! Nothing is asserted: times depend on the machine, ratios much less.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::world::World;

const REPEATS: usize = 15;

const TIMED: &str = "
services:
  web:
    image: IMAGE
    command: ['/bin/sh', '-c', \"trap 'exit 0' TERM; httpd -p 8080 -h /www; sleep 3600 & wait\"]
    ports: ['8080']
    stop_grace_period: 0s
    healthcheck: { test: ['CMD', '/bin/wget', '-q', '-O', '/dev/null', 'http://127.0.0.1:8080/'], interval: 1s, timeout: 5s }
";

/// Bare, started, healthy.
type Times = [Duration; 3];

pub(crate) async fn timing(world: &World) {
    world.engine.post("/networks/create", &json!({ "Name": "bare", "Driver": "bridge" }));
    let app = world.app("timed", TIMED);
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    let like = world.engine.ask("GET", "/containers/colony-n1-timed-web-web/json");
    world.node.remove(&app).await;
    let mut times: Vec<Times> = Vec::new();
    for _ in 0..REPEATS {
        let bare = bare(world, &like);
        let began = Instant::now();
        world.node.start_app(&app).await.unwrap();
        let started = began.elapsed();
        world.node.until_healthy(&app).await;
        times.push([bare, started, began.elapsed()]);
        world.node.remove(&app).await;
    }
    show(world.engine.kind, &times);
    world.engine.ask("DELETE", "/networks/bare");
}

fn show(kind: &str, times: &[Times]) {
    let median = |column: usize| {
        let mut all: Vec<f64> = times.iter().map(|it| it[column].as_secs_f64() * 1e3).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let [bare, started, healthy] = [0, 1, 2].map(median);
    let ratio = healthy / bare;
    println!(
        "{kind}: bare {bare:.1} ms, started {started:.1} ms, healthy {healthy:.1} ms, {ratio:.2}×"
    );
}

/// Create, start and one passing check of the same container, on a network
/// that is there.
fn bare(world: &World, like: &Value) -> Duration {
    let body = json!({
        "Image": like["Config"]["Image"],
        "Cmd": like["Config"]["Cmd"],
        "ExposedPorts": { "8080/tcp": {} },
        "HostConfig": {
            "NetworkMode": "bare",
            "PortBindings": { "8080/tcp": [{ "HostIp": "", "HostPort": "" }] },
        },
    });
    let began = Instant::now();
    let made = world.engine.post("/containers/create", &body);
    let id = made["Id"].as_str().unwrap();
    world.engine.ask("POST", &format!("/containers/{id}/start"));
    while !passes(world, id) {}
    let took = began.elapsed();
    world.engine.ask("DELETE", &format!("/containers/{id}?force=true"));
    took
}

fn passes(world: &World, id: &str) -> bool {
    let command = ["/bin/wget", "-q", "-O", "/dev/null", "http://127.0.0.1:8080/"];
    let command = json!({ "Cmd": command, "AttachStdout": true });
    let exec = world.engine.post(&format!("/containers/{id}/exec"), &command);
    let exec = exec["Id"].as_str().unwrap();
    world.engine.post(&format!("/exec/{exec}/start"), &json!({ "Detach": false }));
    world.engine.ask("GET", &format!("/exec/{exec}/json"))["ExitCode"] == 0
}
