//! The findings about compose files that cannot be used.

use super::*;
use crate::compose::keys;

#[test]
fn unsupported_keys_are_named_with_their_place_and_reason() {
    key(
        "build: .",
        "services.web.build: key is not supported: a device builds no images; expected `image` with an image that was pushed to a registry",
    );
    key(
        "imagee: x",
        "services.web.imagee: key is not supported: `imagee` is not known (did you mean `image`?); expected a key of the table in docs/compose.md",
    );
    key(
        "healthcheck: {test: a, x: 1}",
        "services.web.healthcheck.x: key is not supported: `x` is not known; expected a key of the table in docs/compose.md",
    );
    for line in [
        "links: [db]",
        "volumes_from: [db]",
        "mac_address: x",
        "annotations: {}",
        "extends: {file: x, service: db}",
    ] {
        assert!(findings(&service(line)).contains(": key is not supported: "), "{line}");
    }
    file(
        "include: [a]\nmodels: {}\n",
        "compose.yaml:6:1: include: key is not supported: a package holds one compose file; expected all services in `compose.yaml`\ncompose.yaml:7:1: models: key is not supported: colony runs containers only; expected a service that runs the model\n",
    );
}

#[test]
fn unsupported_keys_are_told_from_other_findings() {
    let found = |line: &str| archive(&service(line)).project(&parameters()).expect_err("refused");
    assert!(found("build: .").iter().all(keys::is_unsupported));
    assert!(!found("cpus: x").iter().any(keys::is_unsupported));
}

#[test]
fn ports_are_refused_where_they_stand() {
    let short = "expected `[[address:]host:]container[/protocol]`, such as `127.0.0.1:8080:80/tcp`";
    at("ports: ['80:x']", "ports[0]: `80:x` is a text", short);
    at("ports: [0]", "ports[0]: `0` is a number", short);
    at(
        "ports: ['8000-8002:80']",
        "ports[0]: `8000-8002:80` is a text",
        "expected as many ports of the host as of the container",
    );
    at(
        "ports: [{published: 80}]",
        "ports[0].target: is missing",
        "expected `target`, which is required",
    );
    at(
        "ports: ['1-5000']",
        "ports[0]: is one port too many",
        "expected at most 1000 for each service",
    );
}

#[test]
fn mounts_are_refused_where_they_stand() {
    at(
        "volumes: ['./data:/t']",
        "volumes[0]: `./data` is not an absolute path, and the archive is not mounted",
        "expected an absolute path of the host, or a config for a packaged file",
    );
    at(
        "volumes: [{type: tmpfs, target: '/a:/b'}]",
        "volumes[0].target: `/a:/b` is a text",
        "expected an absolute path without `..` and `:`",
    );
    at(
        "volumes: ['data:/t:what']",
        "volumes[0]: `data:/t:what` is a text",
        "expected `ro` or `rw`, with `z`, `Z`, `nocopy` or a propagation such as `rslave`",
    );
}

#[test]
fn unknown_names_are_refused_where_they_stand() {
    at(
        "volumes: ['nope:/t']",
        "volumes[0]: `nope` is not there",
        "expected a name under `volumes`",
    );
    at("networks: [nope]", "networks[0]: `nope` is not there", "expected a name under `networks`");
    at("configs: [nope]", "configs[0]: `nope` is not there", "expected a name under `configs`");
    at(
        "depends_on: [nope]",
        "depends_on[0]: `nope` is not there",
        "expected a name under `services`",
    );
}

#[test]
fn paths_of_environment_files_are_refused_where_they_stand() {
    at(
        "env_file: no.env",
        "env_file: `no.env` is not in the archive",
        "expected a relative path of a packaged file",
    );
    at(
        "env_file: ../x",
        "env_file: `../x` leads out of the archive",
        "expected a relative path of a packaged file",
    );
    at(
        "env_file: /etc/x",
        "env_file: `/etc/x` is an absolute path",
        "expected a relative path of a packaged file",
    );
}

#[test]
fn values_are_refused_where_they_stand() {
    at(
        "network_mode: service:db",
        "network_mode: `service:db` is not known",
        "expected `host` or `none`",
    );
    at(
        "command: a && b",
        "command: has `&` outside of quotes, and no shell runs it",
        "expected quotes around it, or a list such as `[sh, -c, \"…\"]`",
    );
    at("mem_limit: lots", "mem_limit: `lots` is a text", "expected a size such as `64m` or `1gb`");
    at("init: yes", "init: `yes` is a text", "expected `true` or `false`");
    at(
        "stop_grace_period: 5",
        "stop_grace_period: `5` is a number",
        "expected a duration such as `30s`, `5m` or `1h30m`",
    );
    at(
        "labels: {colony.node: x}",
        "labels: label `colony.node` is colony's own",
        "expected another name",
    );
    at(
        "security_opt: ['seccomp=x.json']",
        "security_opt[0]: `seccomp=x.json` is a text",
        "expected `seccomp=unconfined`, or the engine's own profile",
    );
    at(
        "healthcheck: {interval: 5s}",
        "healthcheck: has no `test`",
        "expected `test`, or `disable: true`",
    );
    at(
        "user: '${USER_ID:?who}'",
        "user: parameter `USER_ID` is required: who",
        "expected a value for it in the deployment",
    );
    at(
        "configs: [{source: site, mode: 440}]",
        "configs[0].mode: `440` is a number",
        "expected permissions in octal such as `0440`",
    );
}

#[test]
fn services_are_compared_with_each_other() {
    check(
        "services:\n  a: {image: x, depends_on: [b]}\n  b: {image: x, depends_on: [c]}\n  c: {image: x, depends_on: [b]}\n",
        "compose.yaml:3:29: services.b.depends_on: services wait for each other: b → c → b; expected an order to start them in\n",
    );
    check(
        "services:\n  a: {image: x, ports: ['80:80', '81:81/udp']}\n  b: {image: x, ports: ['127.0.0.1:79-81:1-3']}\n",
        "compose.yaml:3:25: services.b.ports[0]: host port 80 is published by `a` already; expected each host port once\n",
    );
    check(
        "services:\n  a: {image: x, restart: no}\n",
        "compose.yaml:2:26: services.a.restart: the node keeps services running and waits for none to end; expected `always` or `unless-stopped`, or a service that waits with `service_completed_successfully`\n",
    );
    check(
        "services:\n  a: {image: x, depends_on: {b: {condition: service_healthy}}}\n  b: {image: x, healthcheck: {disable: true}}\n",
        "compose.yaml:2:29: services.a.depends_on: waits for `b` to be healthy, whose check is disabled; expected `service_started`\n",
    );
    check(
        "services:\n  a: {image: x, volumes: [/t], tmpfs: /t/}\n",
        "compose.yaml:2:6: services.a: mounts two things at `/t`; expected each target once\n",
    );
}

#[test]
fn different_addresses_share_a_port() {
    project(
        "services:\n  a: {image: x, ports: ['127.0.0.1:80:80', '[::]:81:81']}\n  b: {image: x, ports: ['127.0.0.2:80:80', '0.0.0.0:81:81', '80']}\n",
    );
}

#[test]
fn everything_wrong_is_said_at_once() {
    check(
        "services:\n  web: {build: ., cpus: x}\n  ' ': {image: x}\n  db: {image: 'a b', env_file: bad.env}\nvolumes: {v: {name: x}}\n",
        "bad.env:2:1: line has no usable name; expected `NAME=value`\n\
         compose.yaml:2:8: services.web.image: is missing; expected `image`, which is required\n\
         compose.yaml:2:9: services.web.build: key is not supported: a device builds no images; expected `image` with an image that was pushed to a registry\n\
         compose.yaml:2:25: services.web.cpus: `x` is a text; expected a number above zero\n\
         compose.yaml:3:3: services[\" \"]: is not a usable name; expected 1 to 63 letters, digits, `.`, `_` and `-`\n\
         compose.yaml:4:15: services.db.image: `a b` is a text; expected an image reference such as `nginx:1.27`\n\
         compose.yaml:5:21: volumes.v.name: names something that several nodes may have; expected `name` only if external\n",
    );
}

#[test]
fn a_file_without_services_is_refused() {
    check(
        "services:\n",
        "compose.yaml:1:9: services: has no value; expected `services`, which is required\n",
    );
    check(
        "services: {}\n",
        "compose.yaml:1:11: services: has no services; expected 1 to 100 of them\n",
    );
    check("[]", "compose.yaml:1:1: is a list; expected a mapping with `services`\n");
    check(
        "services: {a: {image: x}\n",
        "compose.yaml:1:11: YAML cannot be read here: unclosed bracket '{'; expected valid YAML\n",
    );
}

/// A service with one more line is refused with this key's finding.
#[track_caller]
fn key(line: &str, expected: &str) {
    let found = findings(&service(line));
    assert!(found.contains(expected) && found.starts_with("compose.yaml:4:"), "{found}");
}

/// A service with one more line is refused for its value only.
#[track_caller]
fn at(line: &str, problem: &str, expected: &str) {
    let found = findings(&service(line));
    let (place, said) = found.split_once(": ").expect("a finding has a place");
    assert!(place.starts_with("compose.yaml:4:"), "{found}");
    assert_eq!(said, format!("services.web.{problem}; {expected}\n"));
}

#[track_caller]
fn file(more: &str, expected: &str) {
    check(&format!("services:\n  web:\n    image: x\n\n\n{more}"), expected);
}

#[track_caller]
fn check(compose: &str, expected: &str) {
    assert_eq!(findings(compose), expected, "{compose}");
}

fn service(line: &str) -> String {
    format!(
        "services:\n  web:\n    image: x\n    {line}\n  db: {{image: y}}\n\
         networks: {{back:}}\nvolumes: {{data:}}\nconfigs: {{site: {{file: conf/site.conf}}}}\n"
    )
}
