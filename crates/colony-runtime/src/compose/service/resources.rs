//! Shares and limits of the machine besides the common ones.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use colony_core::margo::yaml::Cursor;

use super::device_request;
use crate::compose::keys::{self, KeySection};
use crate::compose::project::{BlockIo, Resources, Service};
use crate::compose::syntax::value::{self, take};

/// In microseconds.
const HOUR: i64 = 3_600_000_000;

/// Reads them, when the limits of the service are known already.
pub(super) fn read(service: &mut Service, cursor: &Cursor<'_>) {
    let mut resources = Resources {
        cgroup_parent: take(cursor, "cgroup_parent", value::text),
        device_cgroup_rules: take(cursor, "device_cgroup_rules", rules).unwrap_or_default(),
        device_requests: device_request::read(cursor),
        storage_opt: take(cursor, "storage_opt", value::texts_by_name).unwrap_or_default(),
        block_io: take(cursor, "blkio_config", block_io).unwrap_or_default(),
        ..Resources::default()
    };
    processor(&mut resources, cursor, service.cpus.is_some());
    memory(&mut resources, cursor, service.memory_limit);
    service.resources = resources;
}

fn processor(resources: &mut Resources, cursor: &Cursor<'_>, has_cpus: bool) {
    resources.cpu_shares = take(cursor, "cpu_shares", |it| within(it, 2..=262_144));
    let microseconds = |key| take(cursor, key, |it| within(it, 1..=HOUR));
    resources.cpu_period = microseconds("cpu_period");
    resources.cpu_quota = microseconds("cpu_quota");
    resources.cpu_rt_period = microseconds("cpu_rt_period");
    resources.cpu_rt_runtime = microseconds("cpu_rt_runtime");
    resources.cpuset = take(cursor, "cpuset", cpuset);
    for key in ["cpu_period", "cpu_quota"] {
        if let (true, Some(place)) = (has_cpus, cursor.field(key)) {
            place.error("stands beside `cpus`, which sets both", "one of the two");
        }
    }
}

fn memory(resources: &mut Resources, cursor: &Cursor<'_>, limit: Option<u64>) {
    let deploy = cursor.field("deploy").and_then(|it| it.field("resources"));
    let reserved = deploy.and_then(|it| it.field("reservations"));
    if let Some(reserved) = &reserved {
        keys::check(reserved, KeySection::Reservations);
    }
    resources.memory_reservation =
        super::limits::either(cursor, "mem_reservation", &reserved, "memory", value::size);
    resources.memory_swap = take(cursor, "memswap_limit", |it| swap(it, limit));
    resources.memory_swappiness = take(cursor, "mem_swappiness", |it| within(it, 0..=100));
    resources.oom_kill_disable = take(cursor, "oom_kill_disable", value::flag).unwrap_or_default();
    resources.oom_score_adj = take(cursor, "oom_score_adj", |it| within(it, -1_000..=1_000));
}

/// Engines refuse less swap than memory, and swap without a limit of memory.
fn swap(cursor: &Cursor<'_>, limit: Option<u64>) -> Option<i64> {
    if cursor.string()? == "-1" {
        return Some(-1);
    }
    let size = value::size(cursor)?;
    match limit {
        None => cursor.mismatch("a limit of memory with `mem_limit` beside it"),
        Some(limit) if size < limit => cursor.mismatch("at least as much as `mem_limit`"),
        Some(_) => i64::try_from(size).ok(),
    }
}

fn within<T>(cursor: &Cursor<'_>, range: RangeInclusive<T>) -> Option<T>
where
    T: FromStr + PartialOrd + Display,
{
    let number = cursor.string()?.parse().ok().filter(|it| range.contains(it));
    let expected = || format!("a number from {} to {}", range.start(), range.end());
    number.or_else(|| cursor.mismatch(&expected()))
}

fn cpuset(cursor: &Cursor<'_>) -> Option<String> {
    let text = value::text(cursor)?;
    let part = |it: &str| {
        let (first, last) = it.split_once('-').unwrap_or((it, it));
        let numbers = (first.parse::<u16>(), last.parse::<u16>());
        matches!(numbers, (Ok(first), Ok(last)) if first <= last)
    };
    let usable = text.split(',').all(part);
    if usable { Some(text) } else { cursor.mismatch("processors such as `0-2,4`") }
}

fn rules(cursor: &Cursor<'_>) -> Option<Vec<String>> {
    let number = |it: &str| it == "*" || it.parse::<u32>().is_ok();
    cursor.each(|it| {
        let text = value::text(it)?;
        let parts: Vec<&str> = text.split(' ').collect();
        let usable = match parts[..] {
            ["a" | "b" | "c", device, rights] => {
                let device = device.split_once(':').is_some_and(|it| number(it.0) && number(it.1));
                device && !rights.is_empty() && rights.chars().all(|c| "rwm".contains(c))
            }
            _ => false,
        };
        if usable { Some(text) } else { it.mismatch("a rule such as `c 1:3 mr`") }
    })
}

fn block_io(cursor: &Cursor<'_>) -> Option<BlockIo> {
    keys::check(cursor, KeySection::BlockIo);
    let weight = |it: &Cursor<'_>| {
        keys::check(it, KeySection::BlockIoWeight);
        let weight = it.required("weight").and_then(|it| within(&it, 0..=1_000));
        Some((device(it)?, weight?))
    };
    let rates = |key: &str| take(cursor, key, |it| it.each(rate)).unwrap_or_default();
    Some(BlockIo {
        weight: take(cursor, "weight", |it| within(it, 10..=1_000)),
        weight_device: take(cursor, "weight_device", |it| it.each(weight)).unwrap_or_default(),
        read_bps: rates("device_read_bps"),
        write_bps: rates("device_write_bps"),
        read_iops: rates("device_read_iops"),
        write_iops: rates("device_write_iops"),
    })
}

fn rate(cursor: &Cursor<'_>) -> Option<(String, u64)> {
    keys::check(cursor, KeySection::BlockIoRate);
    let rate = cursor.required("rate").and_then(|it| value::size(&it));
    Some((device(cursor)?, rate?))
}

fn device(cursor: &Cursor<'_>) -> Option<String> {
    cursor.required("path").and_then(|it| value::path(&it))
}
