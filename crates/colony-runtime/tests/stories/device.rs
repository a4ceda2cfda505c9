//! What every engine gives a service of the device.

use std::collections::BTreeSet;

use super::world::World;

const COMPOSE: &str = "
services:
  web:
    image: IMAGE
    command:
      - /bin/sh
      - -c
      - |
        trap 'exit 0' TERM
        echo $$(cat /run/secrets/password)
        echo $$(cat /run/secrets/token)
        cat /proc/self/oom_score_adj
        while read key value; do case $$key in Cpus_allowed_list:) echo cpus $$value;; esac; done < /proc/self/status
        sleep 3600 & wait
    secrets: [password, token]
    oom_score_adj: 150
    cpuset: '0'
    depends_on: [near]
  near:
    image: IMAGE
    command: ['/bin/sh', '-c', \"trap 'exit 0' TERM; httpd -p 8080 -h /www; sleep 3600 & wait\"]
    scale: 2
  asks:
    extends: near
    scale: 1
    depends_on: [near]
    healthcheck: { test: ['CMD', '/bin/wget', '-q', '-O', '/dev/null', 'http://near:8080/'], interval: 1s, timeout: 5s }
  extra:
    image: IMAGE
    profiles: [extra]
secrets:
  password: { file: password }
  token: { environment: TOKEN }
";

const TOKEN: &str = "  parameters:\n    token:\n      value: t0ken\n      targets:\n        - { pointer: TOKEN, components: [web] }\n";

pub(crate) async fn settings_of_a_service(world: &World) {
    let files = [("compose.yaml", COMPOSE), ("password", "hunter2\n")];
    let app = world.app_with("device", &files, TOKEN);
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    let seen = world.node.until_well(&app).await;
    let names: BTreeSet<&str> = seen.keys().map(String::as_str).collect();
    assert_eq!(names, BTreeSet::from(["asks", "near", "near-2", "web"]));
    let said = [("web", "hunter2"), ("web", "t0ken"), ("web", "150"), ("web", "cpus 0")];
    world.node.until_said(&app, &said).await;
    world.node.remove(&app).await;
}
