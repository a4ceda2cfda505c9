//! Which services must not run a second time beside their active container.
//!
//! Pure. Two containers would share what a service uses exclusively on the host
//! (its network, a device, data it writes). Services that depend on such a
//! service must not run either, because they would not find it.

use std::collections::{BTreeMap, BTreeSet};

use crate::compose::{Mount, MountKind, NetworkMode, Service};

/// The services that are made but not started while they are staged.
pub(crate) fn still(services: &BTreeMap<String, Service>) -> BTreeSet<&str> {
    let own = services.iter().filter(|it| is_exclusive(it.1));
    let mut still: BTreeSet<&str> = own.map(|it| it.0.as_str()).collect();
    loop {
        let waits = |it: &Service| it.depends_on.keys().any(|it| still.contains(it.as_str()));
        let more = services.iter().filter(|it| !still.contains(it.0.as_str()) && waits(it.1));
        let more: Vec<&str> = more.map(|it| it.0.as_str()).collect();
        if more.is_empty() {
            return still;
        }
        still.extend(more);
    }
}

fn is_exclusive(service: &Service) -> bool {
    let host = service.network_mode == Some(NetworkMode::Host);
    // A privileged container has all devices.
    let requests = &service.resources.device_requests;
    let devices = !service.devices.is_empty() || !requests.is_empty() || service.privileged;
    host || devices || service.mounts.iter().any(is_shared)
}

/// Another container would see what is written there. A volume without a name
/// belongs to one container.
fn is_shared(mount: &Mount) -> bool {
    match mount.kind {
        MountKind::Bind => !mount.read_only,
        MountKind::Volume => mount.source.is_some() && !mount.read_only,
        MountKind::Tmpfs => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compose::{Condition, DeviceRequest};

    #[test]
    fn what_has_something_of_the_host_to_itself_does_not_run_twice() {
        check("web", "");
        check("web+port", "");
        check("web+host", "web");
        check("web+device", "web");
        check("web+privileged", "web");
        check("web+gpu", "web");
        check("web+bind", "web");
        check("web+bind-ro", "");
        check("web+volume", "web");
        check("web+volume-ro", "");
        check("web+volume-nameless", "");
        check("web+tmpfs", "");
    }

    #[test]
    fn what_depends_on_it_does_not_either() {
        check("db+volume web:db", "db web");
        check("db+volume api:db web:api other", "api db web");
        check("a:b b:a", "");
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let services: BTreeMap<String, Service> = text.split(' ').map(service).collect();
        let found: Vec<&str> = still(&services).into_iter().collect();
        assert_eq!(found.join(" "), expected, "{text}");
    }

    fn service(text: &str) -> (String, Service) {
        let (text, needs) = text.split_once(':').unwrap_or((text, ""));
        let (name, has) = text.split_once('+').unwrap_or((text, ""));
        let mount = |kind, named: bool, read_only| Mount {
            kind,
            source: named.then(|| "/data".to_owned()),
            target: "/data".to_owned(),
            read_only,
            ..Mount::default()
        };
        let mut service = Service::default();
        match has {
            "host" => service.network_mode = Some(NetworkMode::Host),
            "device" => service.devices.push("/dev/a".to_owned()),
            "privileged" => service.privileged = true,
            "gpu" => service.resources.device_requests.push(DeviceRequest::default()),
            "bind" => service.mounts.push(mount(MountKind::Bind, true, false)),
            "bind-ro" => service.mounts.push(mount(MountKind::Bind, true, true)),
            "volume" => service.mounts.push(mount(MountKind::Volume, true, false)),
            "volume-ro" => service.mounts.push(mount(MountKind::Volume, true, true)),
            "volume-nameless" => service.mounts.push(mount(MountKind::Volume, false, false)),
            "tmpfs" => service.mounts.push(mount(MountKind::Tmpfs, false, false)),
            _ => {}
        }
        let needs = needs.split(',').filter(|it| !it.is_empty());
        service.depends_on = needs.map(|it| (it.to_owned(), Condition::Started)).collect();
        (name.to_owned(), service)
    }
}
