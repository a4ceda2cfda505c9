//! Compose files and the projects they become.

use serde_json::json;

use super::*;

#[test]
fn a_small_file_has_all_defaults() {
    let project = project("services:\n  web:\n    image: nginx:1.27\n");
    let web = &project.services["web"];
    assert_eq!(web.image, "nginx:1.27");
    assert_eq!((web.command.clone(), web.healthcheck.clone()), (None, None));
    assert_eq!(json(&web.networks), json!({"default": {"aliases": []}}));
    assert!(project.networks.contains_key("default"));
    assert_eq!(json(web.pull_policy), json!("missing"));
}

#[test]
fn ports_are_expanded() {
    let port = |ip: Option<&str>, host: Option<u16>, container: u16, protocol: &str| json!({"host_ip": ip, "host": host, "container": container, "protocol": protocol});
    field("ports: ['80']", "ports", json!([port(None, None, 80, "tcp")]));
    field("ports: [8080:80/udp]", "ports", json!([port(None, Some(8080), 80, "udp")]));
    let local = port(Some("127.0.0.1"), Some(8080), 80, "tcp");
    field("ports: ['127.0.0.1:8080:80/tcp']", "ports", json!([local]));
    field("ports: ['127.0.0.1::80']", "ports", json!([port(Some("127.0.0.1"), None, 80, "tcp")]));
    field("ports: ['[::1]:8080:80']", "ports", json!([port(Some("::1"), Some(8080), 80, "tcp")]));
    field("ports: ['${PORT}:80']", "ports", json!([port(None, Some(8080), 80, "tcp")]));
    let range = [0, 1, 2].map(|it| port(None, Some(8000 + it), 80 + it, "tcp"));
    field("ports: ['8000-8002:80-82']", "ports", json!(range));
    let long = "ports: [{target: 80, published: '8080', host_ip: 127.0.0.1, protocol: tcp}]";
    field(long, "ports", json!([local]));
    field("expose: [80, '90-91', 95/tcp]", "expose", json!([80, 90, 91, 95]));
}

#[test]
fn mounts_have_a_short_and_a_long_form() {
    let mount = |kind: &str, source: Option<&str>, read_only: bool| json!([{"kind": kind, "source": source, "target": "/t", "read_only": read_only}]);
    field("volumes: [/t]", "mounts", mount("volume", None, false));
    field("volumes: ['data:/t']", "mounts", mount("volume", Some("data"), false));
    field("volumes: ['/host:/t:ro']", "mounts", mount("bind", Some("/host"), true));
    let long = "volumes: [{type: bind, source: /host, target: /t, read_only: '${YES}'}]";
    field(long, "mounts", mount("bind", Some("/host"), true));
    field("volumes: [{type: tmpfs, target: /t}]", "mounts", mount("tmpfs", None, false));
    field("tmpfs: /run:size=64m", "tmpfs", json!(["/run:size=64m"]));
}

#[test]
fn commands_are_words() {
    field("command: serve --name 'a b'", "command", json!(["serve", "--name", "a b"]));
    field("command: [serve, -p, 80]", "command", json!(["serve", "-p", "80"]));
    field("command: []", "command", json!([]));
    field("command:", "command", json!(null));
    field("entrypoint: /bin/run", "entrypoint", json!(["/bin/run"]));
}

#[test]
fn parameters_win_over_the_file_which_wins_over_env_files() {
    let given = json!({"MODE": "fast", "PORT": "8080", "YES": "true", "EMPTY": ""});
    let with = |more: Json| {
        let mut all = given.clone();
        let entries = more.as_object().cloned().unwrap_or_default();
        all.as_object_mut().expect("an object").extend(entries);
        all
    };
    field(
        "environment: {A: 1, B: 1.10, C: true, D:, MODE: slow}",
        "environment",
        with(json!({"A": "1", "B": "1.10", "C": "true"})),
    );
    field(
        "environment: [A=1, B=x=y, C=, D, MODE]",
        "environment",
        with(json!({"A": "1", "B": "x=y", "C": ""})),
    );
    let from_file = json!({"FROM_FILE": "file", "BOTH": "own"});
    field("env_file: app.env\n    environment: {BOTH: own}", "environment", with(from_file));
    field(
        "env_file: [{path: ./conf/../app.env}, {path: no.env, required: false}]",
        "environment",
        with(json!({"FROM_FILE": "file", "BOTH": "file"})),
    );
}

#[test]
fn health_checks_have_the_defaults_of_engines() {
    let check = |test: Json, interval: Json| {
        json!({"check": {"test": test, "interval": interval, "retries": 3,
            "timeout": {"secs": 30, "nanos": 0}, "start_period": {"secs": 0, "nanos": 0},
            "start_interval": {"secs": 5, "nanos": 0}}})
    };
    let usual = json!({"secs": 30, "nanos": 0});
    field(
        "healthcheck: {test: curl x}",
        "healthcheck",
        check(json!(["CMD-SHELL", "curl x"]), usual.clone()),
    );
    field("healthcheck: {test: [CMD, a]}", "healthcheck", check(json!(["CMD", "a"]), usual));
    let long = check(json!(["CMD", "a"]), json!({"secs": 90, "nanos": 500_000_000}));
    field("healthcheck: {test: [CMD, a], interval: 1m30s500ms}", "healthcheck", long);
    field("healthcheck: {test: [NONE]}", "healthcheck", json!("disabled"));
    field("healthcheck: {disable: true}", "healthcheck", json!("disabled"));
}

#[test]
fn limits_stand_at_the_service_or_below_deploy() {
    field("mem_limit: 64m", "memory_limit", json!(67_108_864));
    field("deploy: {resources: {limits: {memory: 64M}}}", "memory_limit", json!(67_108_864));
    field("deploy: {resources: {limits: {cpus: '0.5', pids: 9}}}", "cpus", json!(0.5));
    field("cpus: 1.5", "cpus", json!(1.5));
    field("pids_limit: -1", "pids_limit", json!(-1));
    field(
        "ulimits: {nofile: 10, core: {soft: 1, hard: -1}}",
        "ulimits",
        json!({"core": [1, -1], "nofile": [10, 10]}),
    );
}

#[test]
fn hosts_networks_and_configs_are_read() {
    field(
        "extra_hosts: [a:10.0.0.1, 'b=::1', 'c:host-gateway']",
        "extra_hosts",
        json!(["a:10.0.0.1", "b:::1", "c:host-gateway"]),
    );
    field("extra_hosts: {a: 10.0.0.1}", "extra_hosts", json!(["a:10.0.0.1"]));
    field("networks: [back]", "networks", json!({"back": {"aliases": []}}));
    field(
        "networks: {back: {aliases: [db]}, default:}",
        "networks",
        json!({"back": {"aliases": ["db"]}, "default": {"aliases": []}}),
    );
    field("network_mode: host", "networks", json!({}));
    field(
        "configs: [site]",
        "configs",
        json!([{"config": "site", "target": "/site", "mode": 0o444}]),
    );
    field(
        "configs: [{source: site, target: /etc/s, mode: 0440}]",
        "configs",
        json!([{"config": "site", "target": "/etc/s", "mode": 0o440}]),
    );
    field("depends_on: [db]", "depends_on", json!({"db": "started"}));
    field("depends_on: {db: {condition: service_healthy}}", "depends_on", json!({"db": "healthy"}));
}

#[test]
fn configs_come_from_files_texts_and_parameters() {
    let project = project(
        "services: {web: {image: x}}\nconfigs:\n  a: {file: conf/site.conf}\n  b: {content: 'p=$PORT'}\n  c: {environment: MODE}\n",
    );
    let content = |name: &str| String::from_utf8_lossy(&project.configs[name].content).into_owned();
    assert_eq!([content("a"), content("b"), content("c")], ["listen $PORT;\n", "p=8080", "fast"]);
}

#[test]
fn networks_and_volumes_can_be_external() {
    let project = project(
        "services: {web: {image: x}}\nnetworks: {a: {external: true}, b: {internal: true}}\nvolumes: {v: {external: true, name: real}}\n",
    );
    assert_eq!(project.networks["a"].external.as_deref(), Some("a"));
    assert!(project.networks["b"].internal);
    assert_eq!(project.volumes["v"].external.as_deref(), Some("real"));
}

#[test]
fn anchors_and_merge_keys_are_resolved_and_extensions_ignored() {
    let project = project(
        "x-base: &base {image: x, init: true, environment: &env {A: 1}}\n\
         x-more: &more {init: false, tty: true}\n\
         services:\n  web:\n    <<: [*base, *more]\n    x-note: here\n    environment: {<<: *env, B: 2}\n",
    );
    let web = &project.services["web"];
    assert_eq!((web.image.as_str(), web.init, web.tty), ("x", true, true));
    assert_eq!((web.environment["A"].as_str(), web.environment["B"].as_str()), ("1", "2"));
}

#[test]
fn a_service_that_others_wait_for_may_end() {
    let project = project(
        "services:\n  web: {image: x, restart: always, depends_on: {init: {condition: service_completed_successfully}}}\n  init: {image: x, restart: on-failure:3}\n",
    );
    assert_eq!(project.one_shots().into_iter().collect::<Vec<_>>(), ["init"]);
}

#[test]
fn what_is_not_set_is_a_warning() {
    let archive = archive("version: '3'\nservices: {web: {image: 'x$TAG'}}\n");
    let parsed = archive.parse(&BTreeMap::new()).expect("the file is read");
    let warnings: Vec<String> = parsed.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "compose.yaml:1:10: warning: version: has no effect; expected the file without it",
            "compose.yaml:2:25: warning: services.web.image: parameter `TAG` is not set and becomes an empty text; expected a value for it, or a default such as `${TAG:-default}`",
        ]
    );
}

#[test]
fn a_project_survives_being_stored() {
    let project = project("services: {web: {image: x, ports: ['80:80'], cpus: 0.5}}");
    let text = serde_json::to_string(&project).expect("a project is JSON");
    assert_eq!(serde_json::from_str::<Project>(&text).expect("it reads back"), project);
}

/// Reads a service with one more key and compares a field of the result.
#[track_caller]
fn field(line: &str, name: &str, expected: Json) {
    let compose = format!(
        "services:\n  web:\n    image: x\n    {line}\n  db: {{image: y}}\n\
         networks: {{back:}}\nvolumes: {{data:}}\nconfigs: {{site: {{file: ./conf/site.conf}}}}\n"
    );
    assert_eq!(json(&project(&compose).services["web"])[name], expected, "{line}");
}
