//! Reads one service, with a file for each part of it that has a form of its
//! own.
//!
//! A part that cannot be read has left a finding and keeps its default: the
//! project is refused in the end, and everything else is still looked at.

pub(super) mod depends;
mod device;
mod device_request;
mod env_file;
mod environment;
mod health;
pub(super) mod limits;
mod mount;
pub(super) mod port;
mod resources;
mod surroundings;

use colony_core::margo::yaml::{Cursor, Value};

use super::file::Scope;
use super::keys::{self, KeySection};
use super::project::{NetworkMode, PullPolicy, Service};
use super::{config, network};
use crate::compose::syntax::value::{self, take};

pub(super) fn read(cursor: &Cursor<'_>, scope: &Scope<'_>) -> Option<Service> {
    let Value::Map(_) = &cursor.node().value else { return cursor.mismatch("a mapping") };
    keys::check(cursor, KeySection::Service);
    let mut service = Service::default();
    process(&mut service, cursor, scope);
    files(&mut service, cursor, scope);
    reach(&mut service, cursor, scope);
    rights(&mut service, cursor);
    life(&mut service, cursor, scope);
    limits::read(&mut service, cursor);
    resources::read(&mut service, cursor);
    service.namespaces = surroundings::namespaces(cursor);
    service.logging = take(cursor, "logging", surroundings::logging);
    service.runtime = take(cursor, "runtime", value::text);
    Some(service)
}

fn process(service: &mut Service, cursor: &Cursor<'_>, scope: &Scope<'_>) {
    service.image = cursor.required("image").and_then(|it| image(&it)).unwrap_or_default();
    service.platform = take(cursor, "platform", value::text);
    service.pull_policy = take(cursor, "pull_policy", pull_policy).unwrap_or_default();
    service.command = take(cursor, "command", value::command);
    service.entrypoint = take(cursor, "entrypoint", value::command);
    service.environment = environment::read(cursor, scope);
    service.labels = take(cursor, "labels", value::labels).unwrap_or_default();
    service.working_dir = take(cursor, "working_dir", value::path);
    service.tty = flag(cursor, "tty");
    service.stdin_open = flag(cursor, "stdin_open");
    service.init = flag(cursor, "init");
}

fn files(service: &mut Service, cursor: &Cursor<'_>, scope: &Scope<'_>) {
    let mounts = take(cursor, "volumes", |it| it.each(|it| mount::read(it, scope)));
    service.mounts = mounts.unwrap_or_default();
    let configs = take(cursor, "configs", |it| it.each(|it| config::mount(it, scope)));
    service.configs = configs.unwrap_or_default();
    let secrets = take(cursor, "secrets", |it| it.each(|it| config::secret_mount(it, scope)));
    service.secrets = secrets.unwrap_or_default();
    service.tmpfs = take(cursor, "tmpfs", tmpfs).unwrap_or_default();
    service.read_only = flag(cursor, "read_only");
    service.devices = take(cursor, "devices", device::read).unwrap_or_default();
    targets_differ(service, cursor);
}

fn reach(service: &mut Service, cursor: &Cursor<'_>, scope: &Scope<'_>) {
    service.network_mode = take(cursor, "network_mode", network_mode);
    service.networks = network::attachments(cursor, service.network_mode, scope);
    service.ports = port::located(cursor).into_iter().map(|it| it.1).collect();
    if let (Some(_), Some(ports)) = (service.network_mode, cursor.field("ports")) {
        ports.error("stands beside `network_mode`", "one of the two");
    }
    service.expose = take(cursor, "expose", port::exposed).unwrap_or_default();
    service.hostname = take(cursor, "hostname", hostname);
    service.extra_hosts = take(cursor, "extra_hosts", extra_hosts).unwrap_or_default();
    service.container_name = take(cursor, "container_name", container_name);
    service.domainname = take(cursor, "domainname", hostname);
    service.dns = take(cursor, "dns", dns).unwrap_or_default();
    service.dns_search = take(cursor, "dns_search", value::some_texts).unwrap_or_default();
    service.dns_options = take(cursor, "dns_opt", value::texts).unwrap_or_default();
}

fn rights(service: &mut Service, cursor: &Cursor<'_>) {
    service.user = take(cursor, "user", value::text);
    service.group_add = take(cursor, "group_add", value::texts).unwrap_or_default();
    service.privileged = flag(cursor, "privileged");
    service.cap_add = take(cursor, "cap_add", value::texts).unwrap_or_default();
    service.cap_drop = take(cursor, "cap_drop", value::texts).unwrap_or_default();
    service.security_opt = take(cursor, "security_opt", security).unwrap_or_default();
    service.sysctls = take(cursor, "sysctls", value::texts_by_name).unwrap_or_default();
}

fn life(service: &mut Service, cursor: &Cursor<'_>, scope: &Scope<'_>) {
    let depends_on = take(cursor, "depends_on", |it| depends::read(it, scope));
    service.depends_on = depends_on.unwrap_or_default();
    service.healthcheck = take(cursor, "healthcheck", health::read);
    service.stop_grace_period = take(cursor, "stop_grace_period", |it| it.duration());
    service.stop_signal = take(cursor, "stop_signal", value::text);
    take(cursor, "restart", depends::restart);
}

fn flag(cursor: &Cursor<'_>, key: &str) -> bool {
    take(cursor, key, value::flag).unwrap_or_default()
}

fn image(cursor: &Cursor<'_>) -> Option<String> {
    let text = value::text(cursor)?;
    let part = |c: char| c.is_ascii_alphanumeric() || "._-/:@+[]".contains(c);
    let usable = text.len() <= 512 && text.chars().all(part);
    if usable { Some(text) } else { cursor.mismatch("an image reference such as `nginx:1.27`") }
}

fn pull_policy(cursor: &Cursor<'_>) -> Option<PullPolicy> {
    match cursor.one_of(&["missing", "if_not_present", "always", "never"])? {
        "always" => Some(PullPolicy::Always),
        "never" => Some(PullPolicy::Never),
        _ => Some(PullPolicy::Missing),
    }
}

fn network_mode(cursor: &Cursor<'_>) -> Option<NetworkMode> {
    match cursor.one_of(&["host", "none"])? {
        "host" => Some(NetworkMode::Host),
        _ => Some(NetworkMode::None),
    }
}

fn hostname(cursor: &Cursor<'_>) -> Option<String> {
    let text = value::text(cursor)?;
    let part = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let usable = text.len() <= 63 && text.chars().all(part);
    if usable { Some(text) } else { cursor.mismatch("a host name of at most 63 characters") }
}

/// As engines require it.
fn container_name(cursor: &Cursor<'_>) -> Option<String> {
    let text = value::text(cursor)?;
    let part = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    let usable = begins && (2..=128).contains(&text.len()) && text.chars().all(part);
    let expected =
        "2 to 128 letters, digits, `_`, `.` and `-`, of which the first is a letter or digit";
    if usable { Some(text) } else { cursor.mismatch(expected) }
}

fn tmpfs(cursor: &Cursor<'_>) -> Option<Vec<String>> {
    let texts = value::some_texts(cursor)?;
    let path = |it: &String| value::absolute(it.split(':').next().unwrap_or_default()).is_some();
    let usable = texts.iter().all(path);
    if usable { Some(texts) } else { cursor.mismatch("absolute paths such as `/run:size=64m`") }
}

/// A mapping, or a list of `name:address` or `name=address`.
fn extra_hosts(cursor: &Cursor<'_>) -> Option<Vec<String>> {
    const HOST: &str = "`name:address`, where the address is an IP address or `host-gateway`";
    let one = |name: &str, address: &str| {
        let bare = address.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(address);
        let known = bare == "host-gateway" || bare.parse::<std::net::IpAddr>().is_ok();
        (known && !name.is_empty()).then(|| format!("{name}:{bare}"))
    };
    if let Value::Map(_) = &cursor.node().value {
        let entries = cursor.entries()?;
        let read = |it: &colony_core::margo::yaml::Entry<'_>| {
            one(it.key, &it.value.string()?).or_else(|| it.value.mismatch(HOST))
        };
        return entries.iter().map(read).collect();
    }
    cursor.each(|it| {
        let text = it.string()?;
        let pair = text.split_once('=').or_else(|| text.split_once(':'));
        pair.and_then(|(name, address)| one(name, address)).or_else(|| it.mismatch(HOST))
    })
}

fn dns(cursor: &Cursor<'_>) -> Option<Vec<String>> {
    let texts = value::some_texts(cursor)?;
    let usable = texts.iter().all(|it| it.parse::<std::net::IpAddr>().is_ok());
    if usable { Some(texts) } else { cursor.mismatch("IP addresses") }
}

/// A profile of seccomp would be a file that only a client on the host reads.
fn security(cursor: &Cursor<'_>) -> Option<Vec<String>> {
    cursor.each(|it| {
        let text = value::text(it)?;
        let profile = text.strip_prefix("seccomp").and_then(|it| it.strip_prefix(['=', ':']));
        match profile {
            Some("unconfined") | None => Some(text),
            Some(_) => it.mismatch("`seccomp=unconfined`, or the engine's own profile"),
        }
    })
}

fn targets_differ(service: &Service, cursor: &Cursor<'_>) {
    let mounts = service.mounts.iter().map(|it| it.target.as_str());
    let configs = service.configs.iter().chain(&service.secrets).map(|it| it.target.as_str());
    let tmpfs = service.tmpfs.iter().map(|it| it.split(':').next().unwrap_or_default());
    let mut seen = std::collections::BTreeSet::new();
    for target in mounts.chain(configs).chain(tmpfs).map(|it| it.trim_end_matches('/')) {
        if !seen.insert(target) {
            cursor.error(format!("mounts two things at `{target}`"), "each target once");
        }
    }
}
