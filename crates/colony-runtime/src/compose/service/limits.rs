//! The resource limits of a service.

use std::collections::BTreeMap;
use std::fmt::Debug;

use colony_core::margo::yaml::{Cursor, Value};

use crate::compose::keys::{self, KeySection};
use crate::compose::project::Service;
use crate::compose::syntax::value::{self, take};

pub(super) fn read(service: &mut Service, cursor: &Cursor<'_>) {
    let deploy = cursor.field("deploy");
    let limits = deploy.as_ref().and_then(resources);
    service.memory_limit = either(cursor, "mem_limit", &limits, "memory", value::size);
    service.cpus = either(cursor, "cpus", &limits, "cpus", value::decimal);
    service.pids_limit = either(cursor, "pids_limit", &limits, "pids", value::integer);
    service.shm_size = take(cursor, "shm_size", value::size);
    service.ulimits = take(cursor, "ulimits", ulimits).unwrap_or_default();
}

fn resources<'a>(deploy: &Cursor<'a>) -> Option<Cursor<'a>> {
    keys::check(deploy, KeySection::Deploy);
    let resources = deploy.field("resources")?;
    keys::check(&resources, KeySection::Resources);
    let limits = resources.field("limits")?;
    keys::check(&limits, KeySection::ResourceLimits);
    Some(limits)
}

/// A limit is set at the service or below `deploy`; if at both, they must be
/// equal.
pub(crate) fn either<T: PartialEq + Debug>(
    service: &Cursor<'_>,
    short: &str,
    limits: &Option<Cursor<'_>>,
    long: &str,
    read: impl Fn(&Cursor<'_>) -> Option<T>,
) -> Option<T> {
    let own = take(service, short, &read);
    let place = limits.as_ref().and_then(|it| it.field(long));
    let deployed = place.as_ref().and_then(&read);
    if let (Some(place), Some(own), Some(deployed)) = (&place, &own, &deployed)
        && own != deployed
    {
        place.error(format!("differs from `{short}` of the service"), "the limit once");
    }
    own.or(deployed)
}

fn ulimits(cursor: &Cursor<'_>) -> Option<BTreeMap<String, (i64, i64)>> {
    let entries = cursor.entries()?;
    entries.iter().map(|it| Some((it.key.to_owned(), ulimit(&it.value)?))).collect()
}

fn ulimit(cursor: &Cursor<'_>) -> Option<(i64, i64)> {
    let Value::Map(_) = &cursor.node().value else {
        return value::integer(cursor).map(|it| (it, it));
    };
    keys::check(cursor, KeySection::Ulimit);
    let soft = cursor.required("soft").and_then(|it| value::integer(&it));
    let hard = cursor.required("hard").and_then(|it| value::integer(&it));
    Some((soft?, hard?))
}
