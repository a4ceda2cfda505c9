//! Converts a service of a compose file to the engine's format. Pure.

use std::collections::{BTreeMap, HashMap};

use bollard::models::{
    ContainerCreateBody, DeviceMapping, EndpointSettings, HealthConfig, HostConfig,
    HostConfigLogConfig, Mount as EngineMount, MountType, MountVolumeOptions, NetworkingConfig,
    PortBinding, ResourcesUlimits, RestartPolicy, RestartPolicyNameEnum,
};

use crate::compose::{Mount, MountKind, NetworkMode, Service};

/// The inputs of a container besides its service.
#[derive(Debug)]
pub(crate) struct Surroundings<'a> {
    /// Variables of every container of the node; the service's own take
    /// precedence.
    pub(crate) environment: &'a BTreeMap<String, String>,
    pub(crate) labels: HashMap<String, String>,
    /// The engine's names of the networks, with the aliases of the service
    /// there; the first is attached at creation.
    pub(crate) networks: &'a [(String, Vec<String>)],
    /// The engine's names of the volumes.
    pub(crate) volumes: &'a BTreeMap<String, String>,
    /// Files of the host and their paths in the container.
    pub(crate) configs: &'a [(String, String)],
    /// Limits log files, which would otherwise grow without end.
    pub(crate) rotate_logs: bool,
    /// Fills an empty volume with the content of the image. Off for a staged
    /// container, because the volume belongs to the active one.
    pub(crate) copy_up: bool,
    /// The node runs the check itself; see `ask`.
    pub(crate) healthcheck: HealthConfig,
}

pub(crate) fn body(service: &Service, around: Surroundings<'_>) -> ContainerCreateBody {
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
        stop_signal: service.stop_signal.clone(),
        tty: Some(service.tty),
        open_stdin: Some(service.stdin_open),
        networking_config: endpoints(around.networks.first()),
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
        binds: some(binds(service, around)),
        mounts: some(mounts(service, around)),
        tmpfs: some_map(service.tmpfs.iter().map(|it| split(it))),
        readonly_rootfs: Some(service.read_only),
        privileged: Some(service.privileged),
        cap_add: some(service.cap_add.clone()),
        cap_drop: some(service.cap_drop.clone()),
        devices: some(service.devices.iter().map(|it| device(it)).collect()),
        init: service.init.then_some(true),
        memory: service.memory_limit.map(signed),
        nano_cpus: service.cpus.map(nanos),
        pids_limit: service.pids_limit,
        extra_hosts: some(service.extra_hosts.clone()),
        dns: some(service.dns.clone()),
        ulimits: some(service.ulimits.iter().map(ulimit).collect()),
        sysctls: some_map(service.sysctls.iter().map(|(a, b)| (a.clone(), b.clone()))),
        security_opt: some(service.security_opt.clone()),
        shm_size: service.shm_size.map(signed),
        group_add: some(service.group_add.clone()),
        log_config: around.rotate_logs.then(rotation),
        ..HostConfig::default()
    }
}

fn network_mode(service: &Service, around: &Surroundings<'_>) -> Option<String> {
    match service.network_mode {
        Some(NetworkMode::Host) => Some("host".to_owned()),
        Some(NetworkMode::None) => Some("none".to_owned()),
        None => around.networks.first().map(|it| it.0.clone()),
    }
}

fn endpoints(network: Option<&(String, Vec<String>)>) -> Option<NetworkingConfig> {
    let (name, aliases) = network?;
    let endpoints = HashMap::from([(name.clone(), endpoint(aliases))]);
    Some(NetworkingConfig { endpoints_config: Some(endpoints) })
}

pub(crate) fn endpoint(aliases: &[String]) -> EndpointSettings {
    EndpointSettings { aliases: Some(aliases.to_vec()), ..EndpointSettings::default() }
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

/// Folders of the host, which engines make if they are missing, and
/// configuration files, relabelled where there is SELinux.
fn binds(service: &Service, around: &Surroundings<'_>) -> Vec<String> {
    let own = service.mounts.iter().filter(|it| it.kind == MountKind::Bind);
    let own = own.filter_map(|it| {
        let mode = if it.read_only { ":ro" } else { "" };
        Some(format!("{}:{}{mode}", it.source.as_ref()?, it.target))
    });
    let configs = around.configs.iter().map(|(file, target)| format!("{file}:{target}:ro,z"));
    own.chain(configs).collect()
}

fn mounts(service: &Service, around: &Surroundings<'_>) -> Vec<EngineMount> {
    let mount = |it: &Mount| {
        let typ = match it.kind {
            MountKind::Bind => return None,
            MountKind::Volume => MountType::VOLUME,
            MountKind::Tmpfs => MountType::TMPFS,
        };
        let source = it.source.as_ref().and_then(|it| around.volumes.get(it)).cloned();
        let target = Some(it.target.clone());
        let read_only = Some(it.read_only);
        let named = it.kind == MountKind::Volume && source.is_some();
        let volume_options = (named && !around.copy_up)
            .then(|| MountVolumeOptions { no_copy: Some(true), ..MountVolumeOptions::default() });
        let typ = Some(typ);
        Some(EngineMount {
            typ,
            source,
            target,
            read_only,
            volume_options,
            ..EngineMount::default()
        })
    };
    service.mounts.iter().filter_map(mount).collect()
}

fn device(text: &str) -> DeviceMapping {
    let mut parts = text.splitn(3, ':').map(str::to_owned);
    let path_on_host = parts.next();
    DeviceMapping {
        path_in_container: parts.next().or_else(|| path_on_host.clone()),
        path_on_host,
        cgroup_permissions: Some(parts.next().unwrap_or_else(|| "rwm".to_owned())),
    }
}

fn ulimit((name, (soft, hard)): (&String, &(i64, i64))) -> ResourcesUlimits {
    ResourcesUlimits { name: Some(name.clone()), soft: Some(*soft), hard: Some(*hard) }
}

fn rotation() -> HostConfigLogConfig {
    let options = [("max-size", "10m"), ("max-file", "3")];
    let config = options.map(|(key, value)| (key.to_owned(), value.to_owned()));
    HostConfigLogConfig { typ: Some("json-file".to_owned()), config: Some(config.into()) }
}

fn split(text: &str) -> (String, String) {
    let (path, options) = text.split_once(':').unwrap_or((text, ""));
    (path.to_owned(), options.to_owned())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "a float saturates, and cores are few")]
fn nanos(cores: f64) -> i64 {
    (cores * 1e9) as i64
}

fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

fn some_map(pairs: impl Iterator<Item = (String, String)>) -> Option<HashMap<String, String>> {
    let map: HashMap<String, String> = pairs.collect();
    (!map.is_empty()).then_some(map)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::compose::{Port, Protocol};

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
            networks: &[("colony-net".to_owned(), vec!["web".to_owned()])],
            volumes: &[("data".to_owned(), "colony-data".to_owned())].into(),
            configs: &[("/c/app".to_owned(), "/app".to_owned())],
            rotate_logs: false,
            copy_up: true,
            healthcheck: HealthConfig::default(),
        };
        let body = serde_json::to_value(body(&service, around)).unwrap();
        assert_eq!(body.pointer(pointer), Some(&expected), "{pointer} of {body}");
    }
}
