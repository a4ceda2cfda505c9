//! Shares, limits and devices in the engine's units.

use bollard::models::{
    DeviceMapping, DeviceRequest as EngineDeviceRequest, HostConfig, ResourcesBlkioWeightDevice,
    ResourcesUlimits, ThrottleDevice,
};

use super::{some, some_map};
use crate::compose::{BlockIo, DeviceRequest, Resources, Service};

/// The part of the configuration that is about the machine.
pub(super) fn limits(service: &Service) -> HostConfig {
    let of = &service.resources;
    HostConfig {
        devices: some(service.devices.iter().map(|it| device(it)).collect()),
        device_cgroup_rules: some(of.device_cgroup_rules.clone()),
        device_requests: some(of.device_requests.iter().map(request).collect()),
        memory: service.memory_limit.map(signed),
        memory_reservation: of.memory_reservation.map(signed),
        memory_swap: of.memory_swap,
        memory_swappiness: of.memory_swappiness,
        oom_kill_disable: of.oom_kill_disable.then_some(true),
        oom_score_adj: of.oom_score_adj,
        pids_limit: service.pids_limit,
        ulimits: some(service.ulimits.iter().map(ulimit).collect()),
        shm_size: service.shm_size.map(signed),
        storage_opt: some_map(of.storage_opt.iter().map(|(a, b)| (a.clone(), b.clone()))),
        cgroup_parent: of.cgroup_parent.clone(),
        ..processor(service, of, block_io(&of.block_io))
    }
}

fn processor(service: &Service, of: &Resources, rest: HostConfig) -> HostConfig {
    HostConfig {
        nano_cpus: service.cpus.map(nanos),
        cpu_shares: of.cpu_shares,
        cpu_period: of.cpu_period,
        cpu_quota: of.cpu_quota,
        cpu_realtime_period: of.cpu_rt_period,
        cpu_realtime_runtime: of.cpu_rt_runtime,
        cpuset_cpus: of.cpuset.clone(),
        ..rest
    }
}

fn block_io(of: &BlockIo) -> HostConfig {
    let rates = |list: &[(String, u64)]| {
        let rate = |(path, rate): &(String, u64)| ThrottleDevice {
            path: Some(path.clone()),
            rate: Some(signed(*rate)),
        };
        some(list.iter().map(rate).collect())
    };
    let weight = |(path, weight): &(String, u16)| ResourcesBlkioWeightDevice {
        path: Some(path.clone()),
        weight: Some(usize::from(*weight)),
    };
    HostConfig {
        blkio_weight: of.weight,
        blkio_weight_device: some(of.weight_device.iter().map(weight).collect()),
        blkio_device_read_bps: rates(&of.read_bps),
        blkio_device_write_bps: rates(&of.write_bps),
        blkio_device_read_iops: rates(&of.read_iops),
        blkio_device_write_iops: rates(&of.write_iops),
        ..HostConfig::default()
    }
}

fn request(of: &DeviceRequest) -> EngineDeviceRequest {
    EngineDeviceRequest {
        driver: of.driver.clone(),
        count: of.count,
        device_ids: some(of.ids.clone()),
        capabilities: Some(vec![of.capabilities.clone()]),
        options: some_map(of.options.iter().map(|(a, b)| (a.clone(), b.clone()))),
    }
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

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "a float saturates, and cores are few")]
fn nanos(cores: f64) -> i64 {
    (cores * 1e9) as i64
}
