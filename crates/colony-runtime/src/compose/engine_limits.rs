//! What an engine cannot do of a file that is otherwise usable.
//!
//! The table is published in `docs/compose.md`. Docker does all that is
//! supported; what Podman cannot do is about the API that it shares with
//! Docker.

use std::collections::BTreeMap;

use colony_core::margo::yaml::{Cursor, Value};

use super::keys::KeySection;
use crate::config::EngineKind;

/// A key that an engine cannot do, or some values of it.
#[derive(Debug, Clone, Copy)]
pub struct EngineLimit {
    pub engine: EngineKind,
    pub place: KeySection,
    pub name: &'static str,
    /// The values, as the table prints them; empty for all.
    pub values: &'static str,
    refuses: fn(&Cursor<'_>) -> bool,
    pub reason: &'static str,
    pub instead: &'static str,
}

macro_rules! limits {
    ($($engine:ident $place:ident $name:literal $values:literal $refuses:expr, $reason:expr, $instead:literal;)*) => {
        /// What engines cannot do, in the order of the published table.
        pub const ENGINE_LIMITS: &[EngineLimit] = &[$(EngineLimit {
            engine: EngineKind::$engine,
            place: KeySection::$place,
            name: $name,
            values: $values,
            refuses: $refuses,
            reason: $reason,
            instead: $instead,
        },)*];
    };
}

limits! {
    Podman Service "domainname" "" any, "its API ignores it", "`hostname`";
    Podman Service "device_cgroup_rules" "" any, "its API ignores it", "`devices`";
    Podman Service "gpus" "" any, "its API ignores it", "`devices`";
    Podman Reservations "devices" "" any, "its API ignores it", "`devices`";
    Podman Service "ipc" "`none`" |it| is(it, "none"), "its API ignores it", "`private`";
    Podman Service "cgroup" "" any, "its API ignores it", "the file without it";
    Podman Service "runtime" "" any, "its API ignores it", "the runtime of Podman's configuration";
    Podman Logging "driver" "other than `json-file`" |it| !is(it, "json-file"), "it has no such driver", "`json-file`";
    Podman BindOptions "create_host_path" "`false`" |it| is(it, "false"), "its API makes the source", "the file without it";
    Podman Attachment "link_local_ips" "" any, "its API ignores it", "the file without it";
    Podman Attachment "driver_opts" "" any, "its API ignores it", "the file without it";
    Podman Ipam "driver" "other than `default`" |it| !is(it, "default"), "its API ignores it", "`default`";
    Podman Ipam "options" "" any, "its API ignores it", "the file without it";
    Podman AddressPool "aux_addresses" "" any, "its API ignores it", "an `ip_range` without them";
    Containerd Service "container_name" "" any, "the node names pods", "the service's name, by which others reach it";
    Containerd Service "pids_limit" "" any, "CRI has no such limit", "the file without it";
    Containerd ResourceLimits "pids" "" any, "CRI has no such limit", "the file without it";
    Containerd Service "mem_reservation" "" any, "CRI has no such limit", "`mem_limit`";
    Containerd Reservations "memory" "" any, "CRI has no such limit", "`limits`";
    Containerd Service "memswap_limit" "" any, "CRI has no such limit", "`mem_limit`";
    Containerd Service "mem_swappiness" "" any, "CRI has no such setting", "`mem_limit`";
    Containerd Service "oom_kill_disable" "" any, "CRI has no such setting", "`oom_score_adj`";
    Containerd Service "cpu_rt_period" "" any, "CRI has no such limit", "`cpus`";
    Containerd Service "cpu_rt_runtime" "" any, "CRI has no such limit", "`cpus`";
    Containerd Service "blkio_config" "" any, "CRI has no such limits", "the file without it";
    Containerd Service "storage_opt" "" any, "CRI has no such options", "the file without it";
    Containerd Service "cgroup_parent" "" any, "containerd places pods itself", "the file without it";
    Containerd Service "ulimits" "" any, "CRI has no such limits", "limits in the configuration of containerd";
    Containerd Service "platform" "" any, "CRI runs images of the machine's own platform", "the file without it";
    Containerd Service "runtime" "" any, "pods run with the runtime of containerd's configuration", "the file without it";
    Containerd Service "logging" "" any, "the node rotates the output itself", "the file without it";
    Containerd Service "device_cgroup_rules" "" any, "CRI has no such rules", "`devices`";
    Containerd Service "gpus" "" any, "CRI has no such requests", "`devices`";
    Containerd Reservations "devices" "" any, "CRI has no such requests", "`devices`";
    Containerd Service "domainname" "" any, "CRI has host names alone", "`hostname`";
    Containerd Service "ipc" "`none`" |it| is(it, "none"), "a pod has an IPC namespace", "`private`";
    Containerd Service "uts" "" any, "a pod has a host name of its own", "`network_mode: host`";
    Containerd Service "cgroup" "" any, "CRI has no such setting", "the file without it";
    Containerd Service "network_mode" "`none`" |it| is(it, "none"), "a pod has a network", "a network without other services";
    Containerd Service "user" "a group by name" has_named_group, "CRI takes groups by number", "`user:1000`";
    Containerd Service "group_add" "a group by name" |it| some(it, is_named), "CRI takes groups by number", "numbers of groups";
    Containerd Service "extra_hosts" "`host-gateway`" |it| some(it, |it| it.ends_with("host-gateway")), "pods have no address of the host", "the address of the host";
    Containerd Service "security_opt" "other than `no-new-privileges`, `seccomp` and `apparmor`" |it| some(it, is_other_option), "CRI has no such option", "the file without it";
    Containerd Attachment "ipv4_address" "" any, NETWORK, "the service's name, by which others reach it";
    Containerd Attachment "ipv6_address" "" any, NETWORK, "the service's name, by which others reach it";
    Containerd Attachment "link_local_ips" "" any, NETWORK, "the file without it";
    Containerd Attachment "driver_opts" "" any, NETWORK, "the file without it";
    Containerd Network "internal" "`true`" |it| is(it, "true"), NETWORK, "the file without it";
    Containerd Network "enable_ipv6" "`true`" |it| is(it, "true"), NETWORK, "the file without it";
    Containerd Network "ipam" "" any, NETWORK, "the file without it";
    Containerd Network "driver" "other than `bridge`" |it| !is(it, "bridge"), NETWORK, "the file without it";
    Containerd Network "driver_opts" "" any, NETWORK, "the file without it";
    Containerd Network "external" "`true`" |it| is(it, "true"), NETWORK, "the file without it";
    Containerd Volume "driver" "other than `local`" |it| !is(it, "local"), "a volume is a folder of the node", "the file without it";
    Containerd Volume "driver_opts" "" any, "a volume is a folder of the node", "a bind mount of a path of the host";
    Containerd Volume "external" "`true`" |it| is(it, "true"), "a volume is a folder of the node", "a bind mount of a path of the host";
}

const NETWORK: &str = "all pods share the network of the machine";

/// How much of a supported key an engine does, as the table prints it: nothing
/// of what stands below a key that it cannot do.
pub fn extent(engine: EngineKind, place: KeySection, name: &str) -> &'static str {
    let path = format!("{place}{name}");
    let below = |it: &EngineLimit| {
        let rest = path.strip_prefix(&format!("{}{}", it.place, it.name));
        rest.is_some_and(|it| it.is_empty() || it.starts_with(['.', '[']))
    };
    let ours = || ENGINE_LIMITS.iter().filter(|it| it.engine == engine);
    if ours().any(|it| it.values.is_empty() && below(it)) {
        return "no";
    }
    if ours().any(|it| it.place == place && it.name == name) { "partly" } else { "yes" }
}

/// Reports what `engine` cannot do. Mistakes are reported by the readers, so
/// that what has another form than expected is left out here.
pub(super) fn check(engine: EngineKind, root: &Cursor<'_>) {
    let sections = sections(root);
    for limit in ENGINE_LIMITS.iter().filter(|it| it.engine == engine) {
        for entry in sections.get(&limit.place).into_iter().flatten() {
            let Some(field) = entry.field(limit.name) else { continue };
            if (limit.refuses)(&field) {
                let problem = format!("key is not supported on {engine}: {}", limit.reason);
                field.error(problem, limit.instead);
            }
        }
    }
}

/// The mappings of a file that limits are about.
fn sections<'a>(root: &Cursor<'a>) -> BTreeMap<KeySection, Vec<Cursor<'a>>> {
    let below = |all: &[Cursor<'a>], key: &str| -> Vec<Cursor<'a>> {
        all.iter().filter_map(|it| mapping(it, key)).collect()
    };
    let each = |all: &[Cursor<'a>], key: &str| -> Vec<Cursor<'a>> {
        all.iter().flat_map(|it| mappings(it, key)).collect()
    };
    let root = [root.clone()];
    let (services, networks) = (each(&root, "services"), each(&root, "networks"));
    let mounts = each(&services, "volumes");
    let resources = below(&below(&services, "deploy"), "resources");
    let ipam = below(&networks, "ipam");
    BTreeMap::from([
        (KeySection::BindOptions, below(&mounts, "bind")),
        (KeySection::Attachment, each(&services, "networks")),
        (KeySection::Logging, below(&services, "logging")),
        (KeySection::ResourceLimits, below(&resources, "limits")),
        (KeySection::Reservations, below(&resources, "reservations")),
        (KeySection::AddressPool, each(&ipam, "config")),
        (KeySection::Ipam, ipam),
        (KeySection::Service, services),
        (KeySection::Network, networks),
        (KeySection::Volume, each(&root, "volumes")),
    ])
}

fn is_mapping(cursor: &Cursor<'_>) -> bool {
    matches!(cursor.node().value, Value::Map(_))
}

/// The mapping under a key.
fn mapping<'a>(cursor: &Cursor<'a>, key: &str) -> Option<Cursor<'a>> {
    cursor.node().get(key)?;
    cursor.field(key).filter(is_mapping)
}

/// The mappings in the list or the mapping under a key.
pub(super) fn mappings<'a>(cursor: &Cursor<'a>, key: &str) -> Vec<Cursor<'a>> {
    let Some(field) = cursor.node().get(key).and_then(|_| cursor.field(key)) else {
        return Vec::new();
    };
    let all: Vec<Cursor<'a>> = match &field.node().value {
        Value::Seq(_) => field.items().unwrap_or_default(),
        Value::Map(_) => {
            field.entries().unwrap_or_default().into_iter().map(|it| it.value).collect()
        }
        Value::Null | Value::Scalar { .. } => Vec::new(),
    };
    all.into_iter().filter(is_mapping).collect()
}

fn any(_: &Cursor<'_>) -> bool {
    true
}

pub(super) fn is(field: &Cursor<'_>, text: &str) -> bool {
    matches!(&field.node().value, Value::Scalar { text: it, .. } if it == text)
}

/// Whether a text, an item of a list or a value of a mapping is such.
fn some(field: &Cursor<'_>, such: fn(&str) -> bool) -> bool {
    let text = |it: &Value| matches!(it, Value::Scalar { text, .. } if such(text));
    match &field.node().value {
        Value::Seq(items) => items.iter().any(|it| text(&it.value)),
        Value::Map(entries) => entries.iter().any(|it| text(&it.1.value)),
        value @ (Value::Null | Value::Scalar { .. }) => text(value),
    }
}

fn is_named(text: &str) -> bool {
    text.parse::<u32>().is_err()
}

fn has_named_group(field: &Cursor<'_>) -> bool {
    some(field, |it| it.split_once(':').is_some_and(|it| is_named(it.1)))
}

fn is_other_option(text: &str) -> bool {
    let name = text.split(['=', ':']).next().unwrap_or_default();
    !["no-new-privileges", "seccomp", "apparmor"].contains(&name)
}
