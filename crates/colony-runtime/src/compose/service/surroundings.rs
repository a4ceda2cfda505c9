//! What a service shares with the machine, and where its output is kept.

use colony_core::margo::yaml::Cursor;

use crate::compose::keys::{self, KeySection};
use crate::compose::project::{Cgroup, Ipc, LogDriver, Logging, Namespaces};
use crate::compose::syntax::value::{self, take};

pub(super) fn namespaces(cursor: &Cursor<'_>) -> Namespaces {
    let is_host = |key| take(cursor, key, |it| it.one_of(&["host"])).is_some();
    Namespaces {
        ipc: take(cursor, "ipc", ipc),
        host_pid: is_host("pid"),
        host_uts: is_host("uts"),
        host_users: is_host("userns_mode"),
        cgroup: take(cursor, "cgroup", cgroup),
    }
}

fn ipc(cursor: &Cursor<'_>) -> Option<Ipc> {
    let all = [Ipc::Host, Ipc::None, Ipc::Private, Ipc::Shareable];
    let name = cursor.one_of(&all.map(Ipc::as_str))?;
    all.into_iter().find(|it| it.as_str() == name)
}

fn cgroup(cursor: &Cursor<'_>) -> Option<Cgroup> {
    match cursor.one_of(&["host", "private"])? {
        "host" => Some(Cgroup::Host),
        _ => Some(Cgroup::Private),
    }
}

pub(super) fn logging(cursor: &Cursor<'_>) -> Option<Logging> {
    keys::check(cursor, KeySection::Logging);
    let driver = take(cursor, "driver", |it| match it.one_of(&["json-file", "local"])? {
        "local" => Some(LogDriver::Local),
        _ => Some(LogDriver::JsonFile),
    });
    let options = cursor.field("options");
    let options = options.inspect(|it| keys::check(it, KeySection::LogOptions));
    let max_size = options.as_ref().and_then(|it| take(it, "max-size", value::size));
    let max_file = options.as_ref().and_then(|it| take(it, "max-file", files));
    Some(Logging { driver: driver.unwrap_or_default(), max_size, max_file })
}

fn files(cursor: &Cursor<'_>) -> Option<u64> {
    let number = cursor.string()?.parse().ok().filter(|it| (1..=1_000).contains(it));
    number.or_else(|| cursor.mismatch("a number from 1 to 1000"))
}
