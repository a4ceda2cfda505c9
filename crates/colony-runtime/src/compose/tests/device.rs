//! What a device can do beyond containers and networks: the reader's side.

use serde_json::json;

use super::*;
use crate::compose::keys;
use crate::config::{DocumentPolicy, EngineKind};

#[test]
fn secrets_are_mounted_below_their_folder() {
    let compose = "services:\n  web:\n    image: x\n    secrets: [a, {source: b, target: c}, {source: b, target: /d, mode: 0400}]\n\
                   secrets: {a: {file: conf/site.conf}, b: {environment: MODE}}\n";
    let project = project(compose);
    let targets = project.services["web"].secrets.iter().map(|it| (it.target.as_str(), it.mode));
    let targets: Vec<_> = targets.collect();
    assert_eq!(targets, [("/run/secrets/a", 0o444), ("/run/secrets/c", 0o444), ("/d", 0o400)]);
    assert_eq!(project.secrets["b"].content, b"fast");
}

#[test]
fn secrets_of_others_are_refused() {
    check(
        "services: {web: {image: x, secrets: [b]}}\nsecrets: {a: {external: true}, c: {content: x}}\n",
        "compose.yaml:1:38: services.web.secrets[0]: `b` is not there; expected a name under `secrets`\n\
         compose.yaml:2:14: secrets.a: is a mapping; expected exactly one of `file` and `environment`\n\
         compose.yaml:2:15: secrets.a.external: key is not supported: there is no swarm; expected `file` or `environment`\n\
         compose.yaml:2:35: secrets.c: is a mapping; expected exactly one of `file` and `environment`\n\
         compose.yaml:2:36: secrets.c.content: key is not supported: `content` is not known; expected a key of the table in docs/compose.md\n",
    );
}

#[test]
fn limits_have_the_units_of_engines() {
    let resources = |line: &str| json(&project(&web(line)).services["web"].resources);
    let memory = resources("mem_limit: 64m\n    memswap_limit: 128m\n    mem_reservation: 32m");
    assert_eq!(memory["memory_swap"], json!(134_217_728));
    assert_eq!(memory["memory_reservation"], json!(33_554_432));
    assert_eq!(resources("memswap_limit: -1")["memory_swap"], json!(-1));
    let reserved = "deploy: {resources: {reservations: {memory: 16M}}}";
    assert_eq!(resources(reserved)["memory_reservation"], json!(16_777_216));
    assert_eq!(resources("cpuset: 0-2,4")["cpuset"], json!("0-2,4"));
    let rates = resources("blkio_config: {device_read_bps: [{path: /dev/sda, rate: 1mb}]}");
    assert_eq!(rates["block_io"]["read_bps"], json!([["/dev/sda", 1_048_576]]));
}

#[test]
fn limits_are_refused_where_they_stand() {
    at("oom_score_adj: 1001", "oom_score_adj: `1001` is a number", "a number from -1000 to 1000");
    at("cpuset: 2-1", "cpuset: `2-1` is a text", "processors such as `0-2,4`");
    at(
        "memswap_limit: 1g",
        "memswap_limit: `1g` is a text",
        "a limit of memory with `mem_limit` beside it",
    );
    at(
        "device_cgroup_rules: ['c 1 r']",
        "device_cgroup_rules[0]: `c 1 r` is a text",
        "a rule such as `c 1:3 mr`",
    );
    at(
        "ipc: 'service:db'",
        "ipc: `service:db` is not known",
        "`host`, `none`, `private` or `shareable`",
    );
    at(
        "logging: {driver: syslog}",
        "logging.driver: `syslog` is not known",
        "`json-file` or `local`",
    );
    let two = "cpus: 1\n    cpu_quota: 5";
    at(two, "cpu_quota: stands beside `cpus`, which sets both", "one of the two");
}

#[test]
fn device_requests_stand_under_two_keys() {
    let requests =
        |line: &str| json(&project(&web(line)).services["web"].resources.device_requests);
    let gpu =
        json!([{"driver": null, "count": -1, "ids": [], "capabilities": ["gpu"], "options": {}}]);
    assert_eq!(requests("gpus: all"), gpu);
    let reserved = "deploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}";
    assert_eq!(requests(reserved), gpu);
    assert_eq!(requests("gpus: [{device_ids: ['1']}]")[0]["count"], json!(null));
    at(
        "gpus: [{count: 1, device_ids: ['1']}]",
        "gpus[0].device_ids: stands beside `count`",
        "one of the two",
    );
}

#[test]
fn mounts_have_options() {
    let mount = |line: &str| json(&project(&web(line)).services["web"].mounts[0]);
    assert_eq!(mount("volumes: ['/a:/b:ro,Z,rslave']")["propagation"], json!("rslave"));
    assert_eq!(mount("volumes: ['/a:/b:ro,Z,rslave']")["relabel"], json!("private"));
    let tmpfs = "volumes: [{type: tmpfs, target: /t, tmpfs: {size: 1m, mode: 0700}}]";
    assert_eq!((&mount(tmpfs)["size"], &mount(tmpfs)["mode"]), (&json!(1_048_576), &json!(0o700)));
    let bind = "volumes: [{type: bind, source: /a, target: /b, bind: {create_host_path: false}}]";
    assert_eq!(mount(bind)["source_must_exist"], json!(true));
    at(
        "volumes: ['data:/b:z']",
        "volumes[0]: `data:/b:z` is a text",
        "`nocopy` for a volume; `z`, `Z` and a propagation for a path",
    );
    at(
        "volumes: [{type: tmpfs, target: /t, volume: {nocopy: true}}]",
        "volumes[0].volume: stands in a mount of another type",
        "`type: volume`",
    );
}

#[test]
fn networks_have_addresses() {
    let project = project(
        "services: {web: {image: x, networks: {a: {ipv4_address: 10.1.0.9}}}}\n\
         networks: {a: {enable_ipv6: true, ipam: {config: [{subnet: 10.1.0.0/24}]}}}\n",
    );
    let address = project.services["web"].networks["a"].ipv4_address;
    assert_eq!(address.map(|it| it.to_string()).as_deref(), Some("10.1.0.9"));
    let ipam = project.networks["a"].ipam.clone().expect("it has addresses");
    assert_eq!(ipam.pools[0].subnet.as_deref(), Some("10.1.0.0/24"));
    check(
        "services: {web: {image: x}}\nnetworks: {a: {ipam: {config: [{subnet: 10.1.0.0/33}]}}}\n",
        "compose.yaml:2:41: networks.a.ipam.config[0].subnet: `10.1.0.0/33` is a text; expected a subnet such as `172.28.0.0/16`\n",
    );
}

/// A network is made again when its definition differs: without new keys, the
/// definition is what it was before there were any.
#[test]
fn a_network_without_these_keys_is_stored_as_before() {
    let project = project("services: {web: {image: x}}\nnetworks: {a: {}}\n");
    let expected =
        r#"{"internal":false,"driver":null,"driver_opts":{},"labels":{},"external":null}"#;
    assert_eq!(serde_json::to_string(&project.networks["a"]).expect("JSON"), expected);
}

#[test]
fn engines_refuse_what_they_cannot_do_where_it_stands() {
    let on = |engine, line: &str| {
        let found = archive(&web(line)).project_on(engine, &allowing(), &parameters());
        let found = found.map(drop).err().unwrap_or_default();
        found.iter().map(|it| format!("{it}\n")).collect::<String>()
    };
    let ipc = "ipc: none";
    assert_eq!(on(EngineKind::Docker, ipc), "");
    assert_eq!(
        on(EngineKind::Podman, ipc),
        "compose.yaml:4:10: services.web.ipc: key is not supported on podman: its API ignores it; expected `private`\n"
    );
    assert_eq!(on(EngineKind::Podman, "ipc: private"), "");
    for (line, path) in [
        ("networks: {default: {ipv4_address: 10.0.0.9}}", "networks.default.ipv4_address"),
        ("deploy: {resources: {limits: {pids: 5}}}", "deploy.resources.limits.pids"),
        ("logging: {driver: json-file}", "logging"),
    ] {
        let found = on(EngineKind::Containerd, line);
        assert!(
            found.contains(&format!("services.web.{path}: key is not supported on containerd")),
            "{found}"
        );
        assert_eq!(on(EngineKind::Docker, line), "");
    }
    let bind = "volumes: [{type: bind, source: /a, target: /b, bind: {create_host_path: false}}]";
    assert!(on(EngineKind::Podman, bind).contains("volumes[0].bind.create_host_path"));
}

#[test]
fn what_the_node_refuses_is_named_with_its_place_and_setting() {
    let file = "services: {web: {image: x, container_name: cam}}\n\
                networks: {a: {external: true}}\nvolumes: {b: {external: true}, c: {external: false}}\n";
    let on = |policy: &DocumentPolicy| {
        let found = archive(file).project_on(EngineKind::Docker, policy, &parameters());
        let found = found.map(drop).err().unwrap_or_default();
        assert!(found.iter().all(keys::is_unsupported), "another node may allow it");
        found.iter().map(|it| format!("{it}\n")).collect::<String>()
    };
    assert_eq!(on(&allowing()), "");
    assert_eq!(
        on(&DocumentPolicy::default()),
        "compose.yaml:1:44: services.web.container_name: key is not supported on this node: its setting `node.container-names` is `refuse`; expected the service's name, by which others reach it, or a node whose setting is `allow`\n"
    );
    let strict = DocumentPolicy { external_resources: false, ..allowing() };
    let found = on(&strict);
    for (at, path) in [("2:26", "networks.a.external"), ("3:25", "volumes.b.external")] {
        let expected = format!(
            "compose.yaml:{at}: {path}: key is not supported on this node: its setting `node.external-resources` is `refuse`"
        );
        assert!(found.contains(&expected), "{found}");
    }
    assert_eq!(found.lines().count(), 2, "{found}");
}

#[test]
fn containers_have_names_of_their_own() {
    let named = project("services: {web: {image: x, container_name: cam_1}}\n");
    assert_eq!(named.services["web"].container_name.as_deref(), Some("cam_1"));
    for (file, problem) in [
        ("{web: {image: x, container_name: -a}}", "container_name: `-a` is a text"),
        ("{web: {image: x, container_name: a}}", "container_name: `a` is a text"),
        (
            "{web: {image: x, container_name: cam, scale: 2}}",
            "container_name: several containers cannot have one name",
        ),
        (
            "{a: {image: x, container_name: cam}, b: {image: x, container_name: cam}}",
            "services.b.container_name: `a` has the name `cam` too",
        ),
    ] {
        let found = findings(&format!("services: {file}\n"));
        assert!(found.contains(problem), "{found}");
    }
}

/// A node that allows everything.
fn allowing() -> DocumentPolicy {
    DocumentPolicy { container_names: true, ..DocumentPolicy::default() }
}

#[track_caller]
fn at(line: &str, problem: &str, expected: &str) {
    let found = findings(&web(line));
    let (place, said) = found.split_once(": ").expect("a finding has a place");
    assert!(
        place.starts_with("compose.yaml:4:") || place.starts_with("compose.yaml:5:"),
        "{found}"
    );
    assert_eq!(said, format!("services.web.{problem}; expected {expected}\n"));
}

#[track_caller]
fn check(compose: &str, expected: &str) {
    assert_eq!(findings(compose), expected, "{compose}");
}

fn web(line: &str) -> String {
    format!("services:\n  web:\n    image: x\n    {line}\n  db: {{image: y}}\nvolumes: {{data:}}\n")
}
