//! Networks and volumes of a file, and how services take part in networks.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::str::FromStr;

use colony_core::margo::yaml::{Cursor, Value};

use super::file::Scope;
use super::keys::{self, KeySection};
use super::project::{AddressPool, Attachment, Ipam, Network, NetworkMode, Volume};
use crate::compose::syntax::value::{self, take};

/// The network of services that name none.
pub(super) const DEFAULT: &str = "default";

pub(super) fn network(key: &str, cursor: &Cursor<'_>) -> Option<Network> {
    if matches!(cursor.node().value, Value::Null) {
        return Some(Network::default());
    }
    keys::check(cursor, KeySection::Network);
    let network = Network {
        internal: take(cursor, "internal", value::flag).unwrap_or_default(),
        driver: take(cursor, "driver", value::text),
        driver_opts: take(cursor, "driver_opts", options).unwrap_or_default(),
        labels: take(cursor, "labels", value::labels).unwrap_or_default(),
        external: external(key, cursor),
        ipv6: take(cursor, "enable_ipv6", value::flag).unwrap_or_default(),
        ipam: take(cursor, "ipam", ipam),
    };
    let own = Network { external: None, ..network.clone() } != Network::default();
    Some(network).filter(|it| alone(cursor, it.external.is_some(), own))
}

pub(super) fn volume(key: &str, cursor: &Cursor<'_>) -> Option<Volume> {
    if matches!(cursor.node().value, Value::Null) {
        return Some(Volume::default());
    }
    keys::check(cursor, KeySection::Volume);
    let volume = Volume {
        driver: take(cursor, "driver", value::text),
        driver_opts: take(cursor, "driver_opts", options).unwrap_or_default(),
        labels: take(cursor, "labels", value::labels).unwrap_or_default(),
        external: external(key, cursor),
    };
    let own = Volume { external: None, ..volume.clone() } != Volume::default();
    Some(volume).filter(|it| alone(cursor, it.external.is_some(), own))
}

fn ipam(cursor: &Cursor<'_>) -> Option<Ipam> {
    keys::check(cursor, KeySection::Ipam);
    Some(Ipam {
        driver: take(cursor, "driver", value::text),
        options: take(cursor, "options", options).unwrap_or_default(),
        pools: take(cursor, "config", |it| it.each(pool)).unwrap_or_default(),
    })
}

fn pool(cursor: &Cursor<'_>) -> Option<AddressPool> {
    keys::check(cursor, KeySection::AddressPool);
    let named = |it: &Cursor<'_>| {
        let entries = it.entries()?;
        entries.iter().map(|it| Some((it.key.to_owned(), address(&it.value)?))).collect()
    };
    Some(AddressPool {
        subnet: take(cursor, "subnet", subnet),
        ip_range: take(cursor, "ip_range", subnet),
        gateway: take(cursor, "gateway", address),
        aux_addresses: take(cursor, "aux_addresses", named).unwrap_or_default(),
    })
}

fn subnet(cursor: &Cursor<'_>) -> Option<String> {
    let text = value::text(cursor)?;
    let usable = text.split_once('/').is_some_and(|(address, bits)| {
        let most = match address.parse() {
            Ok(IpAddr::V4(_)) => 32,
            Ok(IpAddr::V6(_)) => 128,
            Err(_) => return false,
        };
        bits.parse::<u8>().is_ok_and(|it| it <= most)
    });
    if usable { Some(text) } else { cursor.mismatch("a subnet such as `172.28.0.0/16`") }
}

fn address<T: FromStr>(cursor: &Cursor<'_>) -> Option<T> {
    cursor.string()?.parse().ok().or_else(|| cursor.mismatch("an IP address"))
}

fn options(cursor: &Cursor<'_>) -> Option<BTreeMap<String, String>> {
    let entries = cursor.entries()?;
    entries.iter().map(|it| Some((it.key.to_owned(), it.value.string()?))).collect()
}

/// The engine's name of a network or volume that colony does not own. Those it
/// owns have no such names, because several nodes may share an engine.
fn external(key: &str, cursor: &Cursor<'_>) -> Option<String> {
    let external = take(cursor, "external", value::flag).unwrap_or_default();
    let name = cursor.field("name");
    match (external, name) {
        (true, name) => Some(name.and_then(|it| value::text(&it)).unwrap_or(key.to_owned())),
        (false, Some(name)) => {
            name.error("names something that several nodes may have", "`name` only if external");
            None
        }
        (false, None) => None,
    }
}

fn alone(cursor: &Cursor<'_>, external: bool, own: bool) -> bool {
    if external && own {
        cursor.error("is external and has settings", "only `name` beside `external`");
    }
    !(external && own)
}

/// The networks of a service.
pub(super) fn attachments(
    service: &Cursor<'_>,
    mode: Option<NetworkMode>,
    scope: &Scope<'_>,
) -> BTreeMap<String, Attachment> {
    let Some(cursor) = service.field("networks") else {
        let name = mode.is_none().then(|| (DEFAULT.to_owned(), Attachment::default()));
        return name.into_iter().collect();
    };
    if mode.is_some() {
        cursor.error("stands beside `network_mode`", "one of the two");
    }
    let found = match &cursor.node().value {
        Value::Seq(_) => cursor.each(|it| {
            let name = value::text(it)?;
            expect(it, &name, scope);
            Some((name, Attachment::default()))
        }),
        Value::Map(_) => cursor.entries().map(|entries| {
            let read = |it: &colony_core::margo::yaml::Entry<'_>| {
                expect(&it.value, it.key, scope);
                (it.key.to_owned(), attachment(&it.value))
            };
            entries.iter().map(read).collect()
        }),
        Value::Null | Value::Scalar { .. } => cursor.mismatch("a list of names, or a mapping"),
    };
    found.unwrap_or_default().into_iter().collect()
}

fn expect(cursor: &Cursor<'_>, name: &str, scope: &Scope<'_>) {
    if name != DEFAULT {
        scope.networks.expect(cursor, name);
    }
}

fn attachment(cursor: &Cursor<'_>) -> Attachment {
    if matches!(cursor.node().value, Value::Null) {
        return Attachment::default();
    }
    keys::check(cursor, KeySection::Attachment);
    Attachment {
        aliases: take(cursor, "aliases", value::texts).unwrap_or_default(),
        ipv4_address: take(cursor, "ipv4_address", address),
        ipv6_address: take(cursor, "ipv6_address", address),
        link_local_ips: take(cursor, "link_local_ips", |it| it.each(address)).unwrap_or_default(),
        driver_opts: take(cursor, "driver_opts", options).unwrap_or_default(),
        priority: take(cursor, "priority", priority).unwrap_or_default(),
    }
}

fn priority(cursor: &Cursor<'_>) -> Option<i32> {
    cursor.string()?.parse().ok().or_else(|| cursor.mismatch("an integer"))
}
