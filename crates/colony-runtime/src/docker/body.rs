//! Converts a service of a compose file to the engine's format. Pure.

mod logging;
mod mount;
pub(super) mod network;
mod resources;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use bollard::models::{
    ContainerCreateBody, HealthConfig, HostConfig, HostConfigCgroupnsModeEnum, PortBinding,
    RestartPolicy, RestartPolicyNameEnum,
};

use crate::compose::{Cgroup, Namespaces, NetworkMode, Service};
use crate::containers::api::{Endpoint, NewContainer};
use crate::docker::probe;

/// The inputs of a container besides its service.
#[derive(Debug)]
struct Surroundings<'a> {
    /// Variables of every container of the node; the service's own take
    /// precedence.
    pub(crate) environment: &'a BTreeMap<String, String>,
    pub(crate) labels: HashMap<String, String>,
    /// The first is attached at creation.
    pub(crate) networks: &'a [Endpoint],
    /// The engine's names of the volumes.
    pub(crate) volumes: &'a BTreeMap<String, String>,
    /// Files of the host and their paths in the container.
    pub(crate) configs: &'a [(String, String)],
    /// Limits log files, which would otherwise grow without end.
    pub(crate) rotate_logs: bool,
    pub(crate) is_podman: bool,
    /// Fills an empty volume with the content of the image. Off for a staged
    /// container, because the volume belongs to the active one.
    pub(crate) copy_up: bool,
    /// The node runs the check itself; see `ask`.
    pub(crate) healthcheck: HealthConfig,
}

/// `rotates_logs` limits log files, which would otherwise grow without end.
pub(crate) fn body(
    new: &NewContainer<'_>,
    is_podman: bool,
    rotates_logs: bool,
) -> ContainerCreateBody {
    let around = Surroundings {
        environment: new.environment,
        labels: new.labels.clone(),
        networks: new.networks,
        volumes: new.volumes,
        configs: new.configs,
        rotate_logs: rotates_logs,
        is_podman,
        copy_up: new.copy_up,
        healthcheck: probe::config(is_podman, new.check),
    };
    create_body(new.service, around)
}

fn create_body(service: &Service, around: Surroundings<'_>) -> ContainerCreateBody {
    let mut labels: HashMap<String, String> = service.labels.clone().into_iter().collect();
    labels.extend(around.labels.clone());
    ContainerCreateBody {
        image: Some(service.image.clone()),
        cmd: service.command.clone(),
        entrypoint: service.entrypoint.clone().map(or_reset),
        env: Some(environment(service, around.environment)),
        labels: Some(labels),
        exposed_ports: Some(exposed(service)),
        healthcheck: Some(around.healthcheck.clone()),
        user: service.user.clone(),
        working_dir: service.working_dir.clone(),
        hostname: service.hostname.clone(),
        domainname: service.domainname.clone(),
        stop_signal: service.stop_signal.clone(),
        stop_timeout: service.stop_grace_period.map(seconds),
        tty: Some(service.tty),
        open_stdin: Some(service.stdin_open),
        networking_config: around.networks.first().map(network::first),
        host_config: Some(host(service, &around)),
        ..ContainerCreateBody::default()
    }
}

/// For an engine, only a list with one empty word means no entry point at all.
fn or_reset(words: Vec<String>) -> Vec<String> {
    if words.is_empty() { vec![String::new()] } else { words }
}

fn environment(service: &Service, common: &BTreeMap<String, String>) -> Vec<String> {
    let mut all = common.clone();
    all.extend(service.environment.clone());
    all.into_iter().map(|(key, value)| format!("{key}={value}")).collect()
}

fn exposed(service: &Service) -> Vec<String> {
    let published = service.ports.iter().map(|it| (it.container, it.protocol.as_str()));
    let exposed = service.expose.iter().map(|it| (*it, "tcp"));
    let mut ports: Vec<String> =
        published.chain(exposed).map(|(port, protocol)| format!("{port}/{protocol}")).collect();
    ports.sort();
    ports.dedup();
    ports
}

fn host(service: &Service, around: &Surroundings<'_>) -> HostConfig {
    HostConfig {
        // The node's core restarts containers that have ended, with a growing
        // delay, and reports those that need it too often. A restart by the
        // engine would hide the end from the core, and could start a container
        // after a reboot that is no longer wanted.
        restart_policy: Some(RestartPolicy {
            name: Some(RestartPolicyNameEnum::NO),
            maximum_retry_count: None,
        }),
        network_mode: network_mode(service, around),
        port_bindings: Some(bindings(service)),
        binds: some(mount::binds(service, around.configs)),
        mounts: some(mount::mounts(service, around.volumes, around.copy_up)),
        tmpfs: some_map(service.tmpfs.iter().map(|it| split(it))),
        readonly_rootfs: Some(service.read_only),
        privileged: Some(service.privileged),
        cap_add: some(service.cap_add.iter().map(|it| capability(it)).collect()),
        cap_drop: some(service.cap_drop.iter().map(|it| capability(it)).collect()),
        init: service.init.then_some(true),
        extra_hosts: some(service.extra_hosts.clone()),
        dns: some(service.dns.clone()),
        dns_search: some(service.dns_search.clone()),
        dns_options: some(service.dns_options.clone()),
        sysctls: some_map(service.sysctls.iter().map(|(a, b)| (a.clone(), b.clone()))),
        security_opt: some(service.security_opt.clone()),
        group_add: some(service.group_add.clone()),
        log_config: logging::config(service.logging.as_ref(), around),
        runtime: service.runtime.clone(),
        ..namespaces(&service.namespaces, resources::limits(service))
    }
}

fn namespaces(of: &Namespaces, rest: HostConfig) -> HostConfig {
    let host = |it: bool| it.then(|| "host".to_owned());
    HostConfig {
        ipc_mode: of.ipc.map(|it| it.as_str().to_owned()),
        pid_mode: host(of.host_pid),
        uts_mode: host(of.host_uts),
        userns_mode: host(of.host_users),
        cgroupns_mode: of.cgroup.map(|it| match it {
            Cgroup::Host => HostConfigCgroupnsModeEnum::HOST,
            Cgroup::Private => HostConfigCgroupnsModeEnum::PRIVATE,
        }),
        ..rest
    }
}

fn network_mode(service: &Service, around: &Surroundings<'_>) -> Option<String> {
    match service.network_mode {
        Some(NetworkMode::Host) => Some("host".to_owned()),
        Some(NetworkMode::None) => Some("none".to_owned()),
        None => around.networks.first().map(|it| it.network.clone()),
    }
}

fn bindings(service: &Service) -> HashMap<String, Option<Vec<PortBinding>>> {
    let mut bindings: HashMap<String, Option<Vec<PortBinding>>> = HashMap::new();
    for port in &service.ports {
        let key = format!("{}/{}", port.container, port.protocol.as_str());
        let binding = PortBinding {
            host_ip: Some(port.host_ip.clone().unwrap_or_default()),
            host_port: Some(port.host.map_or_else(String::new, |it| it.to_string())),
        };
        bindings.entry(key).or_default().get_or_insert_default().push(binding);
    }
    bindings
}

/// The node says when it stops a container; this is for others who do.
fn seconds(grace: Duration) -> i64 {
    i64::try_from(grace.as_millis().div_ceil(1000)).unwrap_or(i64::MAX)
}

/// In the kernel's form. Compose takes names with and without the prefix.
fn capability(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    if upper == "ALL" || upper.starts_with("CAP_") { upper } else { format!("CAP_{upper}") }
}

fn split(text: &str) -> (String, String) {
    let (path, options) = text.split_once(':').unwrap_or((text, ""));
    (path.to_owned(), options.to_owned())
}

pub(super) fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

pub(super) fn some_map(
    pairs: impl Iterator<Item = (String, String)>,
) -> Option<HashMap<String, String>> {
    let map: HashMap<String, String> = pairs.collect();
    (!map.is_empty()).then_some(map)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::compose::{Attachment, Mount, MountKind, Port, Protocol};

    #[test]
    fn engines_neither_restart_nor_check() {
        let expected = json!({ "Name": "no" });
        check(Service::default(), "/HostConfig/RestartPolicy", expected);
    }

    #[test]
    fn the_services_environment_goes_before_the_nodes() {
        let environment = [("A".to_owned(), "own".to_owned()), ("B".to_owned(), "2".to_owned())];
        let service = Service { environment: environment.into(), ..Service::default() };
        check(service, "/Env", json!(["A=own", "B=2", "C=node"]));
    }

    #[test]
    fn ports_are_published_and_exposed() {
        let port = |host, host_ip: Option<&str>, protocol| Port {
            host_ip: host_ip.map(str::to_owned),
            host,
            container: 80,
            protocol,
        };
        let ports = vec![
            port(Some(8080), None, Protocol::Tcp),
            port(Some(8081), Some("127.0.0.1"), Protocol::Tcp),
            port(None, None, Protocol::Udp),
        ];
        let service = Service { ports, expose: vec![80, 9000], ..Service::default() };
        let bindings = json!({
            "80/tcp": [{ "HostIp": "", "HostPort": "8080" }, { "HostIp": "127.0.0.1", "HostPort": "8081" }],
            "80/udp": [{ "HostIp": "", "HostPort": "" }],
        });
        check(service.clone(), "/HostConfig/PortBindings", bindings);
        check(service, "/ExposedPorts", json!({ "80/tcp": {}, "80/udp": {}, "9000/tcp": {} }));
    }

    #[test]
    fn mounts_become_binds_and_volumes() {
        let mount = |kind, source: Option<&str>, read_only| Mount {
            kind,
            source: source.map(str::to_owned),
            target: "/t".to_owned(),
            read_only,
            ..Mount::default()
        };
        let mounts = vec![
            mount(MountKind::Bind, Some("/srv"), true),
            mount(MountKind::Volume, Some("data"), false),
            mount(MountKind::Volume, None, false),
        ];
        let service = Service { mounts, ..Service::default() };
        check(service.clone(), "/HostConfig/Binds", json!(["/srv:/t:ro", "/c/app:/app:ro,z"]));
        let volumes = json!([
            { "Type": "volume", "Source": "colony-data", "Target": "/t", "ReadOnly": false },
            { "Type": "volume", "Target": "/t", "ReadOnly": false },
        ]);
        check(service, "/HostConfig/Mounts", volumes);
    }

    #[test]
    fn the_network_is_ours_unless_the_file_says_otherwise() {
        let endpoints = json!({ "colony-net": { "Aliases": ["web"] } });
        check(Service::default(), "/NetworkingConfig/EndpointsConfig", endpoints);
        check(Service::default(), "/HostConfig/NetworkMode", json!("colony-net"));
        let host = Service { network_mode: Some(NetworkMode::Host), ..Service::default() };
        check(host, "/HostConfig/NetworkMode", json!("host"));
    }

    #[test]
    fn limits_and_devices_are_in_the_engines_units() {
        let service = Service {
            cpus: Some(0.5),
            memory_limit: Some(64 << 20),
            devices: vec!["/dev/a".to_owned(), "/dev/a:/dev/b:r".to_owned()],
            entrypoint: Some(Vec::new()),
            ..Service::default()
        };
        check(service.clone(), "/HostConfig/NanoCpus", json!(500_000_000));
        check(service.clone(), "/HostConfig/Memory", json!(67_108_864));
        check(service.clone(), "/HostConfig/Devices/0/PathInContainer", json!("/dev/a"));
        check(service.clone(), "/HostConfig/Devices/1/CgroupPermissions", json!("r"));
        check(service, "/Entrypoint", json!([""]));
    }

    #[track_caller]
    fn check(service: Service, pointer: &str, expected: Value) {
        let environment =
            [("A".to_owned(), "node".to_owned()), ("C".to_owned(), "node".to_owned())];
        let around = Surroundings {
            environment: &environment.into(),
            labels: HashMap::new(),
            networks: &[Endpoint {
                network: "colony-net".to_owned(),
                attachment: Attachment { aliases: vec!["web".to_owned()], ..Attachment::default() },
            }],
            volumes: &[("data".to_owned(), "colony-data".to_owned())].into(),
            configs: &[("/c/app".to_owned(), "/app".to_owned())],
            rotate_logs: false,
            is_podman: false,
            copy_up: true,
            healthcheck: HealthConfig::default(),
        };
        let body = serde_json::to_value(create_body(&service, around)).unwrap();
        assert_eq!(body.pointer(pointer), Some(&expected), "{pointer} of {body}");
    }
}
