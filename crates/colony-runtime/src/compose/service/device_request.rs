//! Devices that a driver of the engine chooses, such as GPUs.

use colony_core::margo::yaml::{Cursor, Value};

use crate::compose::keys::{self, KeySection};
use crate::compose::project::DeviceRequest;
use crate::compose::syntax::value::{self, take};

/// All devices that are there.
const ALL: i64 = -1;
const GPU: &str = "gpu";

/// The requests of a service, under both of their keys.
pub(super) fn read(service: &Cursor<'_>) -> Vec<DeviceRequest> {
    let reserved = service
        .field("deploy")
        .and_then(|it| it.field("resources"))
        .and_then(|it| it.field("reservations"))
        .and_then(|it| it.field("devices"))
        .and_then(|it| it.each(reserved));
    let gpus = take(service, "gpus", gpus);
    reserved.into_iter().chain(gpus).flatten().collect()
}

fn gpus(cursor: &Cursor<'_>) -> Option<Vec<DeviceRequest>> {
    let Value::Scalar { .. } = &cursor.node().value else { return cursor.each(gpu) };
    cursor.one_of(&["all"])?;
    let capabilities = vec![GPU.to_owned()];
    Some(vec![DeviceRequest { count: Some(ALL), capabilities, ..DeviceRequest::default() }])
}

fn gpu(cursor: &Cursor<'_>) -> Option<DeviceRequest> {
    keys::check(cursor, KeySection::Gpu);
    let mut capabilities = take(cursor, "capabilities", value::texts).unwrap_or_default();
    if !capabilities.iter().any(|it| it == GPU) {
        capabilities.push(GPU.to_owned());
    }
    request(cursor, capabilities)
}

fn reserved(cursor: &Cursor<'_>) -> Option<DeviceRequest> {
    keys::check(cursor, KeySection::ReservedDevice);
    let capabilities = cursor.required("capabilities").and_then(|it| it.some_each(value::text));
    request(cursor, capabilities?)
}

fn request(cursor: &Cursor<'_>, capabilities: Vec<String>) -> Option<DeviceRequest> {
    let given = take(cursor, "count", count);
    let ids = take(cursor, "device_ids", value::texts).unwrap_or_default();
    if let (Some(place), true) = (cursor.field("device_ids"), given.is_some()) {
        place.error("stands beside `count`", "one of the two");
    }
    // As Compose, which leaves the number to the ids.
    let count = given.or(ids.is_empty().then_some(ALL));
    let driver = take(cursor, "driver", value::text);
    let options = take(cursor, "options", value::texts_by_name).unwrap_or_default();
    Some(DeviceRequest { driver, count, ids, capabilities, options })
}

fn count(cursor: &Cursor<'_>) -> Option<i64> {
    let text = cursor.string()?;
    let number = match text.as_str() {
        "all" | "-1" => Some(ALL),
        _ => text.parse().ok().filter(|it| (1..=1_000).contains(it)),
    };
    number.or_else(|| cursor.mismatch("a number from 1, or `all`"))
}
