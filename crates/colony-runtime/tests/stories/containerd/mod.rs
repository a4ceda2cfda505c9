//! What is special to containerd: pods, whose names, ports, volumes and logs
//! are the node's work.

mod faults;
mod kubelet;

use std::collections::BTreeSet;
use std::time::Duration;

use colony_core::code::Code;
use colony_core::node::Status;
use serde_json::json;

use super::staged::{ask, free_port, until_answered};
use super::world::World;
use super::{bad, device, follow, good, private};
use crate::conformance;
use crate::kit::Engine;

pub(crate) async fn tell_all(engine: Engine) {
    let mut world = World::new(engine).await;
    world.registry.push_image("busybox", "1", json!({ "Cmd": ["/bin/sleep", "3600"] }));
    conformance::run_all(&mut world).await;
    good::lifecycle(&mut world).await;
    good::volumes_go_with_a_purge(&mut world).await;
    good::services_that_end(&world).await;
    device::settings_of_a_service(&world).await;
    services_of_a_network(&world).await;
    memory_limits_and_rights(&world).await;
    a_signal_and_a_port(&world).await;
    a_log_is_rotated(&world).await;
    beside_what_runs(&world).await;
    what_it_cannot_do_is_refused(&world).await;
    follow::a_log_of_two_services(&world).await;
    good::checks_leave_nothing_behind(&world).await;
    good::the_builtin_image(&world).await;
    good::what_nothing_needs_is_collected(&world).await;
    bad::an_image_that_does_not_exist(&world).await;
    bad::an_archive_that_does_not_exist(&world).await;
    bad::an_archive_that_breaks_the_rules(&world).await;
    bad::a_port_in_use(&world).await;
    bad::a_command_that_does_not_exist(&world).await;
    bad::a_container_that_exits(&world).await;
    bad::a_check_that_never_passes(&world).await;
    bad::a_dependency_that_never_gets_healthy(&world).await;
    bad::a_registry_that_is_down(&world).await;
    private::a_registry_with_a_password(&world).await;
    a_restart_of_containerd(&mut world).await;
    bad::an_engine_that_is_down(&mut world).await;
    world.node.end().await;
}

/// Services resolve each other where they share a network, and nowhere else.
async fn services_of_a_network(world: &World) {
    let port = free_port();
    let compose = "
services:
  web:
    image: IMAGE
    command: ['/bin/sh', '-c', \"trap 'exit 0' TERM; httpd -p 8080 -h /www; sleep 3600 & wait\"]
    ports: ['PORT:8080']
    networks: { front: {}, back: { aliases: [site] } }
    extra_hosts: ['plc:192.0.2.7']
  near:
    image: IMAGE
    stop_grace_period: 0s
    networks: [back]
    depends_on: [web]
    command: ['/bin/sh', '-c', 'cat /etc/hosts; sleep 3600']
    healthcheck: { test: ['CMD', '/bin/wget', '-q', '-O', '/dev/null', 'http://site:8080/'], interval: 1s, timeout: 5s }
  far:
    image: IMAGE
    stop_grace_period: 0s
    networks: [other]
    healthcheck: { test: ['CMD-SHELL', '! wget -q -O /dev/null http://web:8080/'], interval: 1s, timeout: 5s }
networks: { front: {}, back: {}, other: {} }
";
    let app = world.app("nets", &compose.replace("PORT", &port.to_string()));
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    let first = world.node.until_well(&app).await;
    assert_eq!(ask(port).await.as_deref(), Some("hello"));

    // A pod that is made again has another address, and its name follows.
    world.engine.kill("nets", "web");
    world.node.until(&app, "ended", |it| it["web"].status == Status::Stopped).await;
    world.node.start_app(&app).await.unwrap();
    let again = world.node.until_well(&app).await;
    assert_eq!(again["near"].run, first["near"].run);
    assert_ne!(again["web"].run, first["web"].run);
    until_answered(port, "hello").await;
    world.node.remove(&app).await;
    assert_eq!(ask(port).await, None, "the port goes with the pod");
    assert_eq!(folders(world, "pods"), 0, "and so do its files");
}

/// File systems in memory, shared memory, users, and a volume that stays.
async fn memory_limits_and_rights(world: &World) {
    let app = world.app(
        "rights",
        "
services:
  web:
    image: IMAGE
    stop_grace_period: 0s
    user: '1000:50'
    read_only: true
    cap_drop: [ALL]
    mem_limit: 64m
    cpus: 0.5
    hostname: plc-1
    shm_size: 2m
    tmpfs: ['/run/it:size=1m,mode=1777']
    volumes: ['data:/data', '/cache']
    security_opt: ['no-new-privileges:true']
    command:
      - /bin/sh
      - -c
      - >-
        busybox id -u; busybox id -g; busybox hostname; touch /www/x 2>/dev/null || echo read-only;
        touch /run/it/x /cache/x; echo kept >> /data/x; cat /data/x;
        busybox df -k /dev/shm | busybox awk 'NR == 2 { print $$2 }'; sleep 3600
volumes: { data: {} }
",
    );
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    let lines = ["1000", "50", "plc-1", "read-only", "kept", "2048"];
    let expected: Vec<(&str, &str)> = lines.iter().map(|it| ("web", *it)).collect();
    world.node.until_said(&app, &expected).await;
    world.node.remove(&app).await;
    world.node.start_app(&app).await.unwrap();
    let lines = ["1000", "50", "plc-1", "read-only", "kept", "kept", "2048"];
    let expected: Vec<(&str, &str)> = lines.iter().map(|it| ("web", *it)).collect();
    world.node.until_said(&app, &expected).await;
    world.node.remove(&app).await;
    assert_eq!(folders(world, "pods"), 0, "no mount holds them");
}

/// The signal is the file's and not the image's, and a port of the host that
/// the file does not name is chosen.
async fn a_signal_and_a_port(world: &World) {
    let app = world.app(
        "signal",
        "
services:
  web:
    image: IMAGE
    ports: ['8080']
    stop_signal: SIGUSR1
    stop_grace_period: 20s
    command: ['/bin/sh', '-c', \"trap 'echo bye; exit 0' USR1; busybox hostname -i; httpd -p 8080 -h /www; sleep 3600 & wait\"]
",
    );
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    world.node.until_well(&app).await;
    let address = world.node.first_line(&app).await;
    let rules = std::process::Command::new("iptables").args(["-w", "-t", "nat", "-S"]).output();
    let rules = String::from_utf8(rules.unwrap().stdout).unwrap();
    let to = format!("--to-destination {address}:8080");
    let rule = rules.lines().find(|it| it.ends_with(&to)).unwrap();
    let port = rule.split_once("--dport ").unwrap().1.split(' ').next().unwrap();
    until_answered(port.parse().unwrap(), "hello").await;
    world.node.clear(&app, None).await.unwrap();
    let said = world.node.kept_logs(&app).await;
    assert_eq!(said.last().map(|it| it.1.as_str()), Some("bye"), "{said:?}");
    world.node.remove(&app).await;
}

/// The engine goes on in another file, and no line is lost.
async fn a_log_is_rotated(world: &World) {
    let app = world.app(
        "loud",
        "
services:
  web:
    image: IMAGE
    stop_grace_period: 0s
    command: ['/bin/sh', '-c', \"busybox dd if=/dev/zero bs=1M count=11 2>/dev/null | busybox tr '\\\\0' a | busybox fold -w 4000; echo; while sleep 1; do echo tick; done\"]
",
    );
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    let pods = world.node.dir().join("pods");
    let mut files = Vec::new();
    let mut look = tokio::time::interval(Duration::from_millis(100));
    for _ in 0..600 {
        look.tick().await;
        let pod = std::fs::read_dir(&pods).unwrap().next().unwrap().unwrap().path();
        files = ["output.log.1", "output.log"]
            .map(|it| std::fs::read_to_string(pod.join(it)).unwrap_or_default())
            .to_vec();
        if !files[0].is_empty() && files[1].contains("tick") {
            break;
        }
    }
    let letters = |it: &String| it.matches('a').count();
    assert_eq!(files.iter().map(letters).sum::<usize>(), 11 << 20);
    assert!(files[1].contains("tick"), "{} bytes", files[1].len());
    world.node.remove(&app).await;
}

/// Two versions side by side, and the swap.
async fn beside_what_runs(world: &World) {
    let port = free_port();
    let compose = |word: &str| {
        format!(
            "services: {{ web: {{ image: IMAGE, ports: ['{port}:8080'], command: ['/bin/sh', '-c', \
             \"trap 'exit 0' TERM; echo {word} > /www/index.html; httpd -p 8080 -h /www; \
             sleep 3600 & wait\"], healthcheck: {{ test: ['CMD', '/bin/wget', '-q', '-O', \
             '/dev/null', 'http://web:8080/'], interval: 1s, timeout: 5s }} }} }}"
        )
    };
    let old = world.version("beside", "beside-1", &compose("one"));
    let new = world.version("beside", "beside-2", &compose("two"));
    world.node.prepare(&old).await.unwrap();
    world.node.start_app(&old).await.unwrap();
    let before = world.node.until_healthy(&old).await;
    world.node.prepare(&new).await.unwrap();
    world.node.stage(&new).await.unwrap();
    assert_eq!(world.node.until_staged(&new).await.len(), 1);
    assert_eq!(world.node.until_healthy(&old).await, before, "what runs is not touched");
    assert_eq!(ask(port).await.as_deref(), Some("one"));

    world.node.clear(&new, Some(new.fingerprint)).await.unwrap();
    world.node.start_app(&new).await.unwrap();
    world.node.until_healthy(&new).await;
    assert_eq!(ask(port).await.as_deref(), Some("two"));
    world.node.unstage(&new).await.unwrap();
    assert!(world.node.look_staged(&new).await.is_empty());
    world.node.remove(&new).await;
    assert_eq!(folders(world, "networks"), 0);
}

async fn what_it_cannot_do_is_refused(world: &World) {
    let app = world.app("cannot", "services:\n  web:\n    image: IMAGE\n    pids_limit: 9\n");
    let failure = world.node.prepare(&app).await.unwrap_err();
    assert_eq!(failure.code, Code::UnsupportedKey);
    assert!(failure.message.contains("containerd"), "{}", failure.message);
    assert!(failure.message.contains("4:"), "{}", failure.message);
}

/// Containers run on, and the node finds them again.
async fn a_restart_of_containerd(world: &mut World) {
    let app = world.app("stays", "services: { web: { image: IMAGE, stop_grace_period: 0s } }");
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    let before = world.node.until_well(&app).await;
    world.engine.stop();
    let away = world.node.runtime.observe(&BTreeSet::new()).await;
    assert_eq!(away.unwrap_err().code, Code::EngineUnavailable);
    world.engine.start_again();
    // It answers before its Container Runtime Interface is ready.
    while let Err(failure) = world.node.runtime.observe(&BTreeSet::new()).await {
        assert_eq!(failure.code, Code::EngineUnavailable, "{failure:?}");
        tokio::task::yield_now().await;
    }
    assert_eq!(world.node.look(&app).await, before);
    // Its events are heard again.
    world.engine.kill("stays", "web");
    world.node.until(&app, "ended", |it| it["web"].status == Status::Stopped).await;
    world.node.remove(&app).await;
}

fn folders(world: &World, name: &str) -> usize {
    std::fs::read_dir(world.node.dir().join(name)).map_or(0, Iterator::count)
}
