//! Converts a service of a compose file to a pod with one container. Pure, but
//! for the search for free ports.

pub(super) mod host_ports;
pub(super) mod hosts;
pub(super) mod refusal;
mod security;
mod stop_signal;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use crate::compose::{
    Ipc, Mount as ComposeMount, MountKind, NetworkMode, Port, Propagation, Protocol as Transport,
    Service,
};
use crate::containerd::folder::OUTPUT;
use crate::containerd::pod::security::security;
use crate::containerd::wire::{
    ContainerConfig, ContainerMetadata, Device, DnsConfig, ImageSpec, KeyValue,
    LinuxContainerConfig, LinuxPodConfig, LinuxResources, Mount, MountPropagation, NamespaceMode,
    NamespaceOption, PodConfig, PodMetadata, PodSecurityContext, PortMapping, Protocol,
};
use crate::containers::api::{Answer, Labels, NewContainer};
use crate::containers::engine_error::EngineError;
use crate::containers::label;

/// The namespace of our pods. It is only a part of their names.
const NAMESPACE: &str = "colony";
/// Annotations, which may be long, next to those that are labels of `label`.
pub(super) const NETWORKS: &str = "colony.networks";
pub(super) const EXTRA_HOSTS: &str = "colony.extra-hosts";
pub(super) const HOSTNAME: &str = "colony.hostname";
pub(super) const PORTS: &str = "colony.ports";
pub(super) const STOP_SIGNAL: &str = "colony.stop-signal";
/// The period of the processor's quota, in microseconds.
const PERIOD: i64 = 100_000;
/// Kept as labels, by which pods are selected. Engines limit their length, so
/// everything else is an annotation.
const SELECTED: [&str; 7] = [
    label::NODE,
    label::IDENTITY,
    label::DEPLOYMENT,
    label::COMPONENT,
    label::FINGERPRINT,
    label::SERVICE,
    label::STAGED,
];

/// The files that were made for a pod.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) folder: PathBuf,
    /// Folders of the host by their paths in the container.
    pub(super) mounts: Vec<(PathBuf, String, bool)>,
}

/// `ports` are those of the service, each with a port of the host.
pub(super) fn pod(
    new: &NewContainer<'_>,
    uid: &str,
    folder: &Path,
    ports: &[Port],
) -> Answer<PodConfig> {
    let service = new.service;
    let all: Labels = service.labels.clone().into_iter().chain(new.labels.clone()).collect();
    let (labels, mut annotations): (Labels, Labels) =
        all.into_iter().partition(|it| SELECTED.contains(&it.0.as_str()));
    let networks: BTreeMap<&String, &Vec<String>> =
        new.networks.iter().map(|it| (&it.network, &it.attachment.aliases)).collect();
    annotations.extend([
        (NETWORKS.to_owned(), json(&networks)),
        (EXTRA_HOSTS.to_owned(), json(&service.extra_hosts)),
        (HOSTNAME.to_owned(), hostname(new)),
        (PORTS.to_owned(), json(&ports)),
    ]);
    if let Some(signal) = &service.stop_signal {
        let number = stop_signal::number(signal)?;
        annotations.insert(STOP_SIGNAL.to_owned(), number.to_string());
    }
    let dns = DnsConfig {
        servers: service.dns.clone(),
        searches: service.dns_search.clone(),
        options: service.dns_options.clone(),
    };
    Ok(PodConfig {
        metadata: Some(PodMetadata {
            name: new.names[0].clone(),
            uid: uid.to_owned(),
            namespace: NAMESPACE.to_owned(),
        }),
        hostname: hostname(new),
        log_directory: folder.to_string_lossy().into_owned(),
        dns_config: Some(dns).filter(|it| *it != DnsConfig::default()),
        port_mappings: ports.iter().map(mapping).collect(),
        labels,
        annotations,
        linux: Some(LinuxPodConfig {
            security_context: Some(PodSecurityContext {
                namespace_options: Some(namespaces(service)),
                privileged: service.privileged,
            }),
            sysctls: service.sysctls.clone(),
        }),
    })
}

pub(super) fn container(new: &NewContainer<'_>, files: &Files) -> Answer<ContainerConfig> {
    let service = new.service;
    let (command, args) = words(service)?;
    Ok(ContainerConfig {
        metadata: Some(ContainerMetadata { name: "main".to_owned() }),
        image: Some(ImageSpec { image: service.image.clone() }),
        command,
        args,
        working_dir: service.working_dir.clone().unwrap_or_default(),
        envs: environment(new),
        mounts: mounts(new, files),
        devices: service.devices.iter().map(|it| device(it)).collect(),
        labels: selected(&new.labels),
        log_path: OUTPUT.to_owned(),
        stdin: service.stdin_open,
        tty: service.tty,
        linux: Some(LinuxContainerConfig {
            resources: Some(resources(service)),
            security_context: Some(security(service)?),
        }),
    })
}

fn selected(labels: &HashMap<String, String>) -> Labels {
    let selected = SELECTED.iter().filter_map(|it| labels.get_key_value(*it));
    selected.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The name of the machine inside of the container.
pub(super) fn hostname(new: &NewContainer<'_>) -> String {
    new.service.hostname.clone().unwrap_or_else(|| new.service_name().to_owned())
}

fn mapping(port: &Port) -> PortMapping {
    let protocol = match port.protocol {
        Transport::Tcp => Protocol::Tcp,
        Transport::Udp => Protocol::Udp,
        Transport::Sctp => Protocol::Sctp,
    };
    PortMapping {
        protocol: protocol.into(),
        container_port: port.container.into(),
        host_port: port.host.unwrap_or_default().into(),
        host_ip: port.host_ip.clone().unwrap_or_default(),
    }
}

/// With `init`, the pod's own first process collects children that have ended.
fn namespaces(service: &Service) -> NamespaceOption {
    let host = service.network_mode == Some(NetworkMode::Host);
    let network = if host { NamespaceMode::Node } else { NamespaceMode::Pod };
    let pid = match (service.namespaces.host_pid, service.init) {
        (true, _) => NamespaceMode::Node,
        (false, true) => NamespaceMode::Pod,
        (false, false) => NamespaceMode::Container,
    };
    let ipc = match service.namespaces.ipc {
        Some(Ipc::Host) => NamespaceMode::Node,
        Some(Ipc::None | Ipc::Private | Ipc::Shareable) | None => NamespaceMode::Pod,
    };
    NamespaceOption { network: network.into(), pid: pid.into(), ipc: ipc.into() }
}

/// CRI's `command` replaces the entry point of the image and its command.
fn words(service: &Service) -> Answer<(Vec<String>, Vec<String>)> {
    let command = service.command.clone().unwrap_or_default();
    match &service.entrypoint {
        None => Ok((Vec::new(), command)),
        Some(entrypoint) if !entrypoint.is_empty() => Ok((entrypoint.clone(), command)),
        Some(_) if !command.is_empty() => Ok((command, Vec::new())),
        Some(_) => Err(refused("an empty `entrypoint` needs a `command` on containerd")),
    }
}

fn environment(new: &NewContainer<'_>) -> Vec<KeyValue> {
    let mut all = new.environment.clone();
    all.extend(new.service.environment.clone());
    all.into_iter().map(|(key, value)| KeyValue { key, value }).collect()
}

fn mounts(new: &NewContainer<'_>, files: &Files) -> Vec<Mount> {
    let mount = |host: String, container: &str, readonly: bool| Mount {
        container_path: container.to_owned(),
        host_path: host,
        readonly,
        selinux_relabel: false,
        propagation: MountPropagation::Private.into(),
    };
    let own = new.service.mounts.iter().filter(|it| it.kind == MountKind::Bind);
    let own = own.filter_map(|it| {
        let usual = mount(it.source.clone()?, &it.target, it.read_only);
        let propagation = propagation(it.options.propagation).into();
        let selinux_relabel = it.options.relabel.is_some();
        Some(Mount { propagation, selinux_relabel, ..usual })
    });
    let text = |it: &Path| it.to_string_lossy().into_owned();
    let made = files.mounts.iter().map(|it| mount(text(&it.0), &it.1, it.2));
    let configs = new
        .configs
        .iter()
        .map(|(file, target)| Mount { selinux_relabel: true, ..mount(file.clone(), target, true) });
    let hosts = mount(text(&files.folder.join("hosts")), "/etc/hosts", false);
    own.chain(made).chain(configs).chain([hosts]).collect()
}

fn propagation(of: Option<Propagation>) -> MountPropagation {
    match of {
        None | Some(Propagation::Private | Propagation::RPrivate) => MountPropagation::Private,
        Some(Propagation::Slave | Propagation::RSlave) => MountPropagation::HostToContainer,
        Some(Propagation::Shared | Propagation::RShared) => MountPropagation::Bidirectional,
    }
}

/// Mounts of memory with their options: those of the service, and its shared
/// memory.
pub(super) fn tmpfs(service: &Service) -> Vec<(String, String)> {
    let split = |it: &String| {
        let (path, options) = it.split_once(':').unwrap_or((it, ""));
        (path.to_owned(), options.to_owned())
    };
    let mut all: Vec<(String, String)> = service.tmpfs.iter().map(split).collect();
    let unnamed = |it: &&ComposeMount| it.kind == MountKind::Tmpfs;
    all.extend(service.mounts.iter().filter(unnamed).map(|it| {
        let size = it.options.size.map(|it| format!("size={it}"));
        let mode = it.options.mode.map(|it| format!("mode={it:o}"));
        let options: Vec<String> = [size, mode].into_iter().flatten().collect();
        (it.target.clone(), options.join(","))
    }));
    all.extend(service.shm_size.map(|it| ("/dev/shm".to_owned(), format!("size={it},mode=1777"))));
    all
}

fn device(text: &str) -> Device {
    let mut parts = text.splitn(3, ':').map(str::to_owned);
    let host_path = parts.next().unwrap_or_default();
    Device {
        container_path: parts.next().unwrap_or_else(|| host_path.clone()),
        host_path,
        permissions: parts.next().unwrap_or_else(|| "rwm".to_owned()),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a float saturates, and cores are few")]
#[expect(clippy::cast_precision_loss, reason = "the period is small")]
fn resources(service: &Service) -> LinuxResources {
    let of = &service.resources;
    let quota = service.cpus.map(|it| (it * PERIOD as f64) as i64);
    let memory = service.memory_limit.map(|it| i64::try_from(it).unwrap_or(i64::MAX));
    LinuxResources {
        cpu_period: of.cpu_period.or(quota.map(|_| PERIOD)).unwrap_or_default(),
        cpu_quota: quota.or(of.cpu_quota).unwrap_or_default(),
        cpu_shares: of.cpu_shares.unwrap_or_default(),
        cpuset_cpus: of.cpuset.clone().unwrap_or_default(),
        memory_limit_in_bytes: memory.unwrap_or_default(),
        oom_score_adj: of.oom_score_adj.unwrap_or_default(),
    }
}

fn refused(message: &str) -> EngineError {
    EngineError::Rejected { status: 400, message: message.to_owned() }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compose::Attachment;
    use crate::containers::api::Endpoint;

    #[test]
    fn the_entry_point_and_the_command_are_told_apart() {
        let list = |it: &[&str]| Some(it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        let run = |entrypoint, command| {
            let service = Service { entrypoint, command, ..Service::default() };
            words(&service).map(|it| format!("{}|{}", it.0.join(" "), it.1.join(" ")))
        };
        assert_eq!(run(None, None).unwrap(), "|");
        assert_eq!(run(None, list(&["a", "b"])).unwrap(), "|a b");
        assert_eq!(run(list(&["e"]), list(&["a"])).unwrap(), "e|a");
        assert_eq!(run(list(&[]), list(&["a", "b"])).unwrap(), "a b|");
        assert!(run(list(&[]), None).is_err());
    }

    #[test]
    fn labels_that_select_stay_labels() {
        let service = Service {
            labels: [("team".to_owned(), "x".to_owned())].into(),
            hostname: Some("h".to_owned()),
            ..Service::default()
        };
        let pod = with(&service, |new| pod(new, "u1", Path::new("/n/pods/u1"), &[])).unwrap();
        assert_eq!(pod.labels.keys().collect::<Vec<_>>(), [label::NODE, label::SERVICE]);
        assert_eq!(pod.annotations["team"], "x");
        assert_eq!(pod.annotations[NETWORKS], "{\"colony-net\":[\"web\"]}");
        assert_eq!((&*pod.hostname, &*pod.log_directory), ("h", "/n/pods/u1"));
    }

    #[test]
    fn limits_are_in_the_units_of_cri() {
        let service =
            Service { cpus: Some(0.5), memory_limit: Some(64 << 20), ..Service::default() };
        let limits = resources(&service);
        assert_eq!((limits.cpu_period, limits.cpu_quota), (100_000, 50_000));
        assert_eq!(limits.memory_limit_in_bytes, 64 << 20);
        assert_eq!(resources(&Service::default()), LinuxResources::default());
    }

    #[test]
    fn mounts_come_from_the_file_and_from_what_was_made() {
        let bind = ComposeMount {
            kind: MountKind::Bind,
            source: Some("/srv".to_owned()),
            target: "/t".to_owned(),
            read_only: true,
            ..ComposeMount::default()
        };
        let service = Service {
            mounts: vec![bind],
            tmpfs: vec!["/run:size=1m".to_owned(), "/tmp".to_owned()],
            shm_size: Some(1024),
            ..Service::default()
        };
        let files = Files {
            folder: PathBuf::from("/n/pods/u1"),
            mounts: vec![(PathBuf::from("/n/v"), "/data".to_owned(), false)],
        };
        let config = with(&service, |new| container(new, &files)).unwrap();
        let mounts: Vec<String> = config
            .mounts
            .iter()
            .map(|it| {
                format!(
                    "{}:{}{}",
                    it.host_path,
                    it.container_path,
                    if it.readonly { ":ro" } else { "" }
                )
            })
            .collect();
        assert_eq!(mounts, ["/srv:/t:ro", "/n/v:/data", "/n/pods/u1/hosts:/etc/hosts"]);
        let memory = tmpfs(&service).into_iter().map(|it| format!("{}:{}", it.0, it.1));
        let memory: Vec<String> = memory.collect();
        assert_eq!(memory, ["/run:size=1m", "/tmp:", "/dev/shm:size=1024,mode=1777"]);
    }

    fn with<T>(service: &Service, run: impl FnOnce(&NewContainer<'_>) -> T) -> T {
        let labels = [(label::NODE, "n1"), (label::SERVICE, "web")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
        run(&NewContainer {
            names: ["a", "b", "c"].map(str::to_owned),
            service,
            environment: &BTreeMap::new(),
            labels: HashMap::from(labels),
            networks: &[Endpoint {
                network: "colony-net".to_owned(),
                attachment: Attachment { aliases: vec!["web".to_owned()], ..Attachment::default() },
            }],
            volumes: &BTreeMap::new(),
            configs: &[],
            copy_up: true,
            check: None,
        })
    }
}
